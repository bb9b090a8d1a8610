//! What a run would do: every cell of every stage, and whether it is there already.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::cost::{Prediction, Predictor};
use super::experiment::Experiment;
use super::grid::{self, Point};
use super::key::Key;
use super::manifest::{Manifest, Stage};
use super::profile::Profile;
use super::store::Store;
use crate::error::{Error, Result, unknown};

/// Bytes of memory of a run of the smallest cells, measured.
const PROGRAM: f64 = 42e6;

/// What a run of one profile would do. `plan`, `run` and `status` are views of it.
pub struct Plan<'a> {
    pub profile: Profile,
    /// In the order of `pipeline.toml`.
    pub stages: Vec<PlannedStage<'a>>,
}

/// The cells of one stage, in the order of its table.
pub struct PlannedStage<'a> {
    pub name: String,
    pub title: String,
    pub experiment: &'a dyn Experiment,
    /// Empty when the stage has no grid in this profile.
    pub cells: Vec<Cell>,
}

/// One grid point and seed.
#[derive(Debug, Clone)]
pub struct Cell {
    pub point: Arc<Point>,
    pub seed: u64,
    pub key: Key,
    /// Whether its result is in the store.
    pub cached: bool,
    /// Whether a run leaves it out, because it does not fit into the time that was given.
    pub left_out: bool,
    /// As recorded when cached, as predicted when missing.
    pub time: Prediction,
}

impl Cell {
    /// Whether a run would compute it.
    pub fn is_missing(&self) -> bool {
        !self.cached && !self.left_out
    }
}

impl<'a> Plan<'a> {
    /// Plans the stages called `only`, or all when it is empty.
    pub fn new(
        manifest: &Manifest,
        profile: Profile,
        experiments: &[&'a dyn Experiment],
        store: &Store,
        only: &[String],
    ) -> Result<Self> {
        for name in only {
            manifest.stage(name)?;
        }
        let mut stages = Vec::new();
        let mut predictors = HashMap::new();
        for stage in &manifest.stages {
            let experiment = find_experiment(manifest, stage, experiments)?;
            for grid in stage.grids.values().flatten() {
                grid::check_names(manifest, grid, experiment)?;
            }
            if only.is_empty() || only.contains(&stage.name) {
                stages.push(plan_stage(manifest, stage, profile, experiment, store, &mut predictors)?);
            }
        }
        Ok(Self { profile, stages })
    }

    /// The missing cells, each once even when two stages share it, in plan order.
    pub fn missing(&self) -> Vec<(&PlannedStage<'a>, &Cell)> {
        let mut seen = HashSet::new();
        self.stages
            .iter()
            .flat_map(|stage| stage.cells.iter().map(move |cell| (stage, cell)))
            .filter(|(_, cell)| cell.is_missing() && seen.insert(cell.key))
            .collect()
    }

    /// Predicted time of one core for all missing cells.
    pub fn missing_time(&self) -> Prediction {
        self.missing().iter().map(|(_, cell)| cell.time).sum()
    }

    /// Predicted seconds of a whole run: the work shared evenly, but no less than the longest cell.
    pub fn wall_seconds(&self, threads: usize) -> f64 {
        let longest = self.missing().iter().map(|(_, cell)| cell.time.seconds).fold(0.0, f64::max);
        (self.missing_time().seconds / threads as f64).max(longest)
    }

    /// Predicted bytes of memory of a run: the program and its largest cells at the same time.
    pub fn memory(&self, threads: usize) -> f64 {
        let bytes = |(stage, cell): &(&PlannedStage, &Cell)| stage.experiment.memory(&cell.point.params);
        let mut cells: Vec<f64> = self.missing().iter().map(bytes).collect();
        cells.sort_by(|a, b| b.total_cmp(a));
        PROGRAM + cells.iter().take(threads).sum::<f64>()
    }
}

impl PlannedStage<'_> {
    /// How many cells are in the store.
    pub fn cached(&self) -> usize {
        self.cells.iter().filter(|cell| cell.cached).count()
    }

    /// How many cells are to be computed.
    pub fn missing(&self) -> usize {
        self.cells.iter().filter(|cell| cell.is_missing()).count()
    }

    /// How many cells are neither in the store nor to be computed.
    pub fn left_out(&self) -> usize {
        self.cells.iter().filter(|cell| cell.left_out).count()
    }

    /// Predicted time of one core for the missing cells.
    pub fn missing_time(&self) -> Prediction {
        self.cells.iter().filter(|cell| cell.is_missing()).map(|cell| cell.time).sum()
    }

    /// The cells of the table, in its order: all, or when some are left out those of the seeds of which none is.
    pub fn table_cells(&self) -> Vec<&Cell> {
        self.cells_of_whole_seeds(|cell| cell.left_out)
    }

    /// Tells whether a table was made from these cells in this order.
    pub fn cells_hash(&self) -> String {
        hash(&self.table_cells())
    }

    /// The same for a table of the seeds of which all cells are in the store, which a run with a budget makes.
    pub fn complete_cells_hash(&self) -> String {
        hash(&self.cells_of_whole_seeds(|cell| !cell.cached))
    }

    /// The cells of the seeds that lack none.
    fn cells_of_whole_seeds(&self, lacks: impl Fn(&Cell) -> bool) -> Vec<&Cell> {
        let broken: HashSet<u64> = self.cells.iter().filter(|cell| lacks(cell)).map(|cell| cell.seed).collect();
        self.cells.iter().filter(|cell| !broken.contains(&cell.seed)).collect()
    }
}

fn hash(cells: &[&Cell]) -> String {
    let mut hasher = blake3::Hasher::new();
    for cell in cells {
        hasher.update(cell.key.to_string().as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

fn find_experiment<'a>(
    manifest: &Manifest,
    stage: &Stage,
    experiments: &[&'a dyn Experiment],
) -> Result<&'a dyn Experiment> {
    let found = experiments.iter().find(|experiment| experiment.name() == stage.experiment).copied();
    let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name()).collect();
    let at = manifest.place(stage.experiment_line);
    let experiment = found.ok_or_else(|| unknown("experiment", &stage.experiment, names).at(at))?;
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if !experiment.name().chars().all(is_plain) {
        return Err(Error::failure(format!("experiment '{}' has a name that is no folder name", experiment.name())));
    }
    Ok(experiment)
}

fn plan_stage<'a>(
    manifest: &Manifest,
    stage: &Stage,
    profile: Profile,
    experiment: &'a dyn Experiment,
    store: &Store,
    predictors: &mut HashMap<&'static str, Predictor<'a>>,
) -> Result<PlannedStage<'a>> {
    let grids = stage.grids.get(&profile).map_or(&[][..], Vec::as_slice);
    let mut cells = Vec::new();
    for (point, seed, key) in grid::cells(manifest, stage, grids, experiment)? {
        let recorded = store.wall_seconds(&key);
        let time = recorded.map(Prediction::exactly).unwrap_or_else(|| {
            let predictor = predictors.entry(experiment.name()).or_insert_with(|| Predictor::new(experiment, store));
            predictor.predict(&point.params)
        });
        cells.push(Cell { point, seed, key, cached: recorded.is_some(), left_out: false, time });
    }
    Ok(PlannedStage { name: stage.name.clone(), title: stage.title.clone(), experiment, cells })
}
