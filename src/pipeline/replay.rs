//! One cell computed again, named by the first digits of its key.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use super::attempt::attempt;
use super::experiment::{Experiment, Params};
use super::failures;
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
    pub params: Params,
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
    if found.is_empty() {
        found = planned(&prefix, &manifest()?, experiments)?;
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
        let (key, params, seed) = (cell.key, cell.params.clone(), cell.seed);
        let experiment = experiment(&cell.experiment, cell.version, experiments)?;
        Ok((key, Inputs { key, experiment, params, seed, failed: true }))
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
                let (key, experiment, params) = (cell.key, stage.experiment, cell.point.params.clone());
                found.insert(key, Inputs { key, experiment, params, seed: cell.seed, failed: false });
            }
        }
    }
    Ok(found)
}

impl Inputs<'_> {
    /// Computes the cell. One that had failed and succeeds now is stored, and its failure forgotten.
    pub fn replay(&self, root: &Path, say: &dyn Fn(&str)) -> Result<Vec<Record>> {
        let started = Instant::now();
        let records = attempt(self.experiment, &self.params, self.seed)?;
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
            params: self.params.clone(),
            seed: self.seed,
            wall_s,
            records,
        })?)?;
        writable.sync()?;
        failures::remove(root, &self.key)
    }
}
