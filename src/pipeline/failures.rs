//! Cells that failed, one file each: the error, and all that is needed to try again. A cell that succeeds loses its file.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::checked_line;
use super::experiment::Params;
use super::key::{Key, canonical_json};
use super::store::FORMAT;
use crate::durable;
use crate::error::{Error, Result};

/// A cell that failed, with its inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedCell {
    format: u32,
    pub key: Key,
    pub experiment: String,
    pub version: u32,
    pub params: Params,
    pub seed: u64,
    /// What went wrong, as it was told.
    pub error: String,
}

impl FailedCell {
    pub fn new(key: Key, (experiment, version): (&str, u32), params: Params, seed: u64, error: &Error) -> Self {
        let experiment = experiment.to_owned();
        Self { format: FORMAT, key, experiment, version, params, seed, error: error.to_string() }
    }
}

/// The folder of failures below the folder of a store.
pub fn folder(root: &Path) -> PathBuf {
    root.join("failed")
}

/// Keeps a failure, in place of an earlier one of the same cell.
pub fn write(root: &Path, cell: &FailedCell) -> Result<()> {
    let line = checked_line::write(cell)?;
    durable::replace(&path(root, &cell.key), |file| file.write_all(line.as_bytes()))
}

/// Forgets the failure of a cell, if there was one.
pub fn remove(root: &Path, key: &Key) -> Result<()> {
    durable::remove(&path(root, key))
}

/// The failure in the file at `path`; `None` when it is not what was written.
pub fn read(path: &Path) -> std::io::Result<Option<FailedCell>> {
    let bytes = std::fs::read(path)?;
    let cell: Option<FailedCell> = bytes.strip_suffix(b"\n").and_then(checked_line::read);
    Ok(cell.filter(|cell| {
        let key = Key::new(&cell.experiment, cell.version, &canonical_json(&cell.params), cell.seed);
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        cell.format == FORMAT && key == cell.key && stem == Some(key.to_string())
    }))
}

fn path(root: &Path, key: &Key) -> PathBuf {
    folder(root).join(format!("{key}.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_cut_or_with_a_flipped_bit_anywhere_is_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let params: Params = serde_json::from_str(r#"{"d":32}"#).unwrap();
        let key = Key::new("toy", 1, &canonical_json(&params), 7);
        let cell = FailedCell::new(key, ("toy", 1), params, 7, &Error::failure("it broke").at("here"));
        write(folder.path(), &cell).unwrap();
        let path = path(folder.path(), &key);
        assert_eq!(read(&path).unwrap(), Some(cell));
        let bytes = std::fs::read(&path).unwrap();
        for position in 0..bytes.len() {
            std::fs::write(&path, &bytes[..position]).unwrap();
            assert_eq!(read(&path).unwrap(), None);
            let mut flipped = bytes.clone();
            flipped[position] ^= 1 << (position % 8);
            std::fs::write(&path, &flipped).unwrap();
            assert_eq!(read(&path).unwrap(), None);
        }
    }
}
