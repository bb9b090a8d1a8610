//! From a grid as written to its points in canonical form.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::experiment::{Experiment, Params};
use super::input_files::{InputFile, InputFiles};
use super::key::{Key, canonical_json};
use super::manifest::{Axis, Grid, Manifest, Stage};
use crate::error::{Error, Result, unknown};

/// Checked parameters, shared by the seeds of a grid point.
#[derive(Debug, PartialEq)]
pub struct Point {
    pub params: Params,
    /// The same as canonical text.
    pub json: String,
    /// The files that parameters name; `params` have what is in them, as a hash.
    pub files: Vec<InputFile>,
}

impl Point {
    /// A point from its canonical parameters.
    pub fn new(params: Params, files: Vec<InputFile>) -> Self {
        let json = canonical_json(&params);
        Self { params, json, files }
    }

    /// The parameters as the experiment runs on them: with paths.
    pub fn with_paths(&self) -> Cow<'_, Params> {
        let mut params = Cow::Borrowed(&self.params);
        for file in &self.files {
            params.to_mut().insert(file.field.to_owned(), Value::from(file.path.to_string_lossy()));
        }
        params
    }

    /// The path of the file that a parameter names.
    pub fn file(&self, field: &str) -> Option<&Path> {
        self.files.iter().find(|file| file.field == field).map(|file| file.path.as_path())
    }
}

/// A stage with more cells than this is a slip of the hand.
const MOST_CELLS: u64 = 5_000_000;

/// The cells of some grids of one stage in written order, each once: point, seed and key.
pub fn cells(
    manifest: &Manifest,
    stage: &Stage,
    grids: &[Grid],
    experiment: &dyn Experiment,
) -> Result<Vec<(Arc<Point>, u64, Key)>> {
    refuse_too_many(manifest, grids)?;
    let mut inputs = InputFiles::new(manifest.folder());
    let mut seen = HashSet::new();
    let mut cells = Vec::new();
    for grid in grids {
        let mut written = toml::Table::new();
        for number in 0..grid.axes.iter().map(|axis| axis.values.len()).product() {
            write_point(&mut written, &grid.axes, number);
            let point = Arc::new(point(manifest, stage, grid, &written, experiment, &mut inputs)?);
            for seed in 0..grid.seeds {
                let key = Key::new(experiment.name(), experiment.version(), &point.json, seed);
                if seen.insert(key) {
                    cells.push((Arc::clone(&point), seed, key));
                }
            }
        }
    }
    Ok(cells)
}

/// An error when a grid gives a parameter that the experiment does not have.
pub fn check_names(manifest: &Manifest, grid: &Grid, experiment: &dyn Experiment) -> Result<()> {
    let fields = experiment.fields();
    match grid.axes.iter().find(|axis| !fields.contains(&axis.name.as_str())) {
        Some(axis) => Err(unknown("parameter", &axis.name, fields.iter().copied()).at(manifest.place(axis.line))),
        None => Ok(()),
    }
}

fn refuse_too_many(manifest: &Manifest, grids: &[Grid]) -> Result<()> {
    let mut total = 0_u64;
    for grid in grids {
        let cells = grid.axes.iter().fold(grid.seeds, |cells, axis| cells.saturating_mul(axis.values.len() as u64));
        total = total.saturating_add(cells);
        if total > MOST_CELLS {
            return Err(Error::input(format!("the grids of this stage have more than {MOST_CELLS} cells"))
                .at(manifest.place(grid.line))
                .fix("give fewer values, or split the stage"));
        }
    }
    Ok(())
}

/// Puts combination `number` of the values into `point`, the last axis varying fastest.
fn write_point(point: &mut toml::Table, axes: &[Axis], number: usize) {
    let mut rest = number;
    for axis in axes.iter().rev() {
        let value = axis.values[rest % axis.values.len()].clone();
        match point.get_mut(&axis.name) {
            Some(old) => *old = value,
            None => drop(point.insert(axis.name.clone(), value)),
        }
        rest /= axis.values.len();
    }
}

fn point(
    manifest: &Manifest,
    stage: &Stage,
    grid: &Grid,
    written: &toml::Table,
    experiment: &dyn Experiment,
    inputs: &mut InputFiles,
) -> Result<Point> {
    let resolved = experiment.canonical(written).and_then(|mut params| {
        let files = inputs.resolve(experiment, &mut params)?;
        Ok(Point::new(params, files))
    });
    resolved.map_err(|error| {
        // An error about a parameter names it; then its own line helps more than that of the grid.
        let is_in_name = |letter: char| letter.is_alphanumeric() || letter == '_';
        let words = error.what().split(|letter: char| !is_in_name(letter));
        let named = words.flat_map(|word| grid.axes.iter().find(|axis| axis.name == word)).next();
        error
            .at(manifest.place(named.map_or(grid.line, |axis| axis.line)))
            .fix(format!("mend this value of stage '{}'", stage.name))
    })
}
