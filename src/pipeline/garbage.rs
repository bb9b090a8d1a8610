//! What a store keeps although nobody names it any more. Nothing of it is removed unless asked for.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::compaction;
use super::experiment::Experiment;
use super::key::Key;
use super::manifest::Manifest;
use super::plan::Plan;
use super::profile::Profile;
use super::stop::Stop;
use super::store::{self, Store};
use super::writable::WritableStore;
use super::{failures, segment};
use crate::durable;
use crate::error::{Error, Result};

/// What can go.
#[derive(Debug, Default)]
pub struct Garbage {
    /// Cells that no profile of the manifest names, and what their removal frees.
    pub cells: usize,
    pub cell_bytes: u64,
    /// Failures of such cells.
    pub failures: usize,
    /// Damaged files that were put aside and files that a killed run left half written, with their sizes.
    pub files: BTreeMap<PathBuf, u64>,
    /// Segments with such cells, each with the cells that stay.
    segments: Vec<(PathBuf, HashSet<Key>)>,
    failed: Vec<Key>,
}

/// The cells that any profile of the manifest names.
pub fn named(manifest: &Manifest, experiments: &[&dyn Experiment]) -> Result<HashSet<Key>> {
    if manifest.stages.is_empty() {
        return Err(Error::input("the manifest has no stages, so every cell would be removed")
            .at(manifest.path.display())
            .fix("to remove everything, delete the folder of the store"));
    }
    let mut keys = HashSet::new();
    for profile in Profile::ALL {
        let plan = Plan::new(manifest, profile, experiments, &Store::default(), &[])?;
        keys.extend(plan.stages.iter().flat_map(|stage| &stage.cells).map(|cell| cell.key));
    }
    Ok(keys)
}

/// Says what can go, and leaves it.
pub fn find(root: &Path, results: &Path, named: &HashSet<Key>) -> Result<Garbage> {
    look(&Store::read(root)?, results, named)
}

/// Removes what can go; waits for runs that use the store.
pub fn collect(root: &Path, results: &Path, named: &HashSet<Key>, say: &dyn Fn(&str)) -> Result<Garbage> {
    // Opening puts the store in order, so what killed runs left is listed first.
    let left = find(root, results, named)?;
    if left.is_empty() {
        return Ok(left);
    }
    let (_writable, mut store) = WritableStore::open(Store::read(root)?, &Stop::default(), say)?;
    let mut garbage = look(&store, results, named)?;
    for (path, keys) in &garbage.segments {
        compaction::rewrite(&mut store, std::slice::from_ref(path), keys)?;
    }
    for key in &garbage.failed {
        failures::remove(root, key)?;
    }
    for path in garbage.files.keys() {
        durable::remove(path)?;
    }
    garbage.files.extend(left.files);
    Ok(garbage)
}

impl Garbage {
    fn is_empty(&self) -> bool {
        self.cells == 0 && self.failures == 0 && self.files.is_empty()
    }
}

fn look(store: &Store, results: &Path, named: &HashSet<Key>) -> Result<Garbage> {
    let mut garbage = Garbage::default();
    for file in store.segments().iter().filter(|file| file.live > 0) {
        let (stay, go): (HashSet<Key>, HashSet<Key>) =
            store.keys_in(std::slice::from_ref(&file.path)).into_iter().partition(|key| named.contains(key));
        if !go.is_empty() {
            let bytes = size(&file.path)?.unwrap_or_default();
            garbage.cells += go.len();
            garbage.cell_bytes += bytes.saturating_sub(segment::size(&store.finished_cells(&stay)?)?);
            garbage.segments.push((file.path.clone(), stay));
        }
    }
    let journaled: Vec<_> = store.unsealed().filter(|cell| !named.contains(&cell.key)).cloned().collect();
    garbage.cells += journaled.len();
    garbage.cell_bytes += segment::size(&journaled)?;
    garbage.failed = store.failures().map(|cell| cell.key).filter(|key| !named.contains(key)).collect();
    garbage.failures = garbage.failed.len();
    let mut files = store::quarantined_files(store.root())?;
    files.extend(store::unfinished_files(store.root())?);
    for profile in Profile::ALL {
        files.extend(store::unfinished_in(&results.join(profile.name()))?);
    }
    for path in files {
        if let Some(bytes) = size(&path)? {
            garbage.files.insert(path, bytes);
        }
    }
    Ok(garbage)
}

/// The bytes of a file; `None` when another process has removed it meanwhile.
fn size(path: &Path) -> Result<Option<u64>> {
    match std::fs::symlink_metadata(path) {
        Ok(data) => Ok(Some(data.len())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path, &error)),
    }
}
