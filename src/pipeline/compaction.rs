//! Many small segments become one.
//!
//! The new segment is durable before the old ones are removed. A run that is killed between leaves cells twice, in
//! equal copies; the next one removes the segments whose cells are all in a larger one.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::key::Key;
use super::segment;
use super::store::{SegmentFile, Store};
use crate::durable;
use crate::error::Result;

/// So many small segments of one experiment become one. Every run adds one, so a cell is rewritten once in so many runs.
const MANY: usize = 16;

/// Cells of a segment that is no longer small. Bounds what a run rewrites, whatever the store holds.
const SMALL: usize = 4096;

/// Merges the small segments of each experiment that has many. Only for whoever has the lock alone.
pub fn compact(store: &mut Store) -> Result<()> {
    let mut small: BTreeMap<PathBuf, Vec<SegmentFile>> = BTreeMap::new();
    for file in store.segments().iter().filter(|file| file.live > 0 && file.cells < SMALL) {
        small.entry(file.path.parent().map(Path::to_owned).unwrap_or_default()).or_default().push(file.clone());
    }
    for files in small.into_values().filter(|files| files.len() >= MANY) {
        let paths: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
        let keys = store.keys_in(&paths);
        rewrite(store, &paths, &keys)?;
    }
    Ok(())
}

/// Puts the cells `keys` of some segments into new ones, then removes the old segments with whatever else is in them.
pub fn rewrite(store: &mut Store, old: &[PathBuf], keys: &HashSet<Key>) -> Result<()> {
    let new = segment::write(&store.root().join("cells"), &store.finished_cells(keys)?)?;
    for path in old.iter().filter(|path| new.iter().all(|segment| segment.path != **path)) {
        durable::remove(path)?;
    }
    store.replace_segments(old, new);
    Ok(())
}
