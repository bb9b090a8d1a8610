//! One cell computed again, named by the first digits of its key.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::attempt::attempt;
use super::experiment::Experiment;
use super::failures;
use super::grid::Point;
use super::journal::{self, FinishedCell};
use super::key::Key;
use super::manifest::Manifest;
use super::plan::Plan;
use super::profile::Profile;
use super::stop::Stop;
use super::store::Store;
use super::writable::WritableStore;
use crate::error::{Error, Result, unknown};
use crate::table::Record;

/// All that goes into a cell.
pub struct Inputs<'a> {
    pub key: Key,
    pub experiment: &'a dyn Experiment,
    pub point: Arc<Point>,
    pub seed: u64,
    /// Whether the store says that it failed.
    pub failed: bool,
}

/// The cell whose key begins with `prefix`: one that failed, else one that a profile of the manifest names.
pub fn find<'a>(
    prefix: &str,
    store: &Store,
    manifest: impl FnOnce() -> Result<Manifest>,
    experiments: &[&'a dyn Experiment],
) -> Result<Inputs<'a>> {
    let prefix = prefix.to_ascii_lowercase();
    if prefix.is_empty() || prefix.len() > 64 || !prefix.chars().all(|letter| letter.is_ascii_hexdigit()) {
        return Err(Error::input(format!("'{prefix}' is not the beginning of a cell key"))
            .fix("give hexadecimal digits, as a failed run tells them"));
    }
    let mut found = failed(&prefix, store, experiments)?;
    if found.is_empty() || found.values().any(Inputs::lacks_files) {
        let mut planned = planned(&prefix, &manifest()?, experiments)?;
        if found.is_empty() {
            found = planned;
        } else {
            found.values_mut().filter(|cell| cell.lacks_files()).try_for_each(|cell| cell.take_files(&mut planned))?;
        }
    }
    if found.len() > 1 {
        let keys: Vec<String> = found.keys().take(3).map(ToString::to_string).collect();
        return Err(Error::input(format!("{} cells have keys that begin with '{prefix}'", found.len()))
            .fix(format!("give more digits: {}", keys.join(", "))));
    }
    let none = || {
        Error::input(format!("no cell that failed or that the manifest names has a key that begins with '{prefix}'"))
            .fix("a run that fails tells the keys of failed cells; give the same --store and --manifest")
    };
    found.into_values().next().ok_or_else(none)
}

fn failed<'a>(prefix: &str, store: &Store, experiments: &[&'a dyn Experiment]) -> Result<BTreeMap<Key, Inputs<'a>>> {
    let matching = store.failures().filter(|cell| cell.key.to_string().starts_with(prefix));
    let inputs = matching.map(|cell| {
        let (key, seed) = (cell.key, cell.seed);
        let point = Arc::new(Point::new(cell.params.clone(), Vec::new()));
        let experiment = experiment(&cell.experiment, cell.version, experiments)?;
        Ok((key, Inputs { key, experiment, point, seed, failed: true }))
    });
    inputs.collect()
}

fn experiment<'a>(name: &str, version: u32, experiments: &[&'a dyn Experiment]) -> Result<&'a dyn Experiment> {
    let names: Vec<&str> = experiments.iter().map(|experiment| experiment.name()).collect();
    let found = experiments.iter().find(|experiment| experiment.name() == name).copied();
    let experiment = found.ok_or_else(|| unknown("experiment", name, names))?;
    if experiment.version() != version {
        let own = experiment.version();
        return Err(Error::input(format!(
            "the cell is of version {version} of experiment '{name}'; this program has version {own}"
        ))
        .fix("run again: the cell is another one in the new version"));
    }
    Ok(experiment)
}

fn planned<'a>(
    prefix: &str,
    manifest: &Manifest,
    experiments: &[&'a dyn Experiment],
) -> Result<BTreeMap<Key, Inputs<'a>>> {
    let mut found = BTreeMap::new();
    for profile in Profile::ALL {
        for stage in Plan::new(manifest, profile, experiments, &Store::default(), &[])?.stages {
            for cell in stage.cells.iter().filter(|cell| cell.key.to_string().starts_with(prefix)) {
                let (key, experiment, point) = (cell.key, stage.experiment, Arc::clone(&cell.point));
                found.insert(key, Inputs { key, experiment, point, seed: cell.seed, failed: false });
            }
        }
    }
    Ok(found)
}

impl<'a> Inputs<'a> {
    /// Whether it reads files of which the store knows what was in them, but not where they are.
    fn lacks_files(&self) -> bool {
        let names = |field: &&str| self.point.params.contains_key(*field);
        self.point.files.is_empty() && self.experiment.file_fields().iter().any(names)
    }

    /// Learns from the manifest where they are.
    fn take_files(&mut self, planned: &mut BTreeMap<Key, Inputs<'a>>) -> Result<()> {
        let gone = || {
            Error::input(format!(
                "no grid names cell {} any more, or a file that it reads has changed",
                self.key.short()
            ))
            .fix("put the file back, or run again: with another content it is another cell")
        };
        self.point = planned.remove(&self.key).ok_or_else(gone)?.point;
        Ok(())
    }

    /// Computes the cell. One that had failed and succeeds now is stored, and its failure forgotten.
    pub fn replay(&self, root: &Path, say: &dyn Fn(&str)) -> Result<Vec<Record>> {
        let started = Instant::now();
        let records = attempt(self.experiment, &self.point, self.seed)?;
        if self.failed {
            self.store(root, records.clone(), started.elapsed().as_secs_f64(), say)?;
        }
        Ok(records)
    }

    fn store(&self, root: &Path, records: Vec<Record>, wall_s: f64, say: &dyn Fn(&str)) -> Result<()> {
        let (writable, _) = WritableStore::share(root, &Stop::default(), say)?;
        writable.append(&journal::line(&FinishedCell {
            key: self.key,
            experiment: self.experiment.name().to_owned(),
            version: self.experiment.version(),
            params: self.point.params.clone(),
            seed: self.seed,
            wall_s,
            records,
        })?)?;
        writable.sync()?;
        failures::remove(root, &self.key)
    }
}
