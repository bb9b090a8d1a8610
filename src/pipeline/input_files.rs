//! Files that cells read. A key holds what is in a file and never where it lies: a changed byte makes another cell, a moved
//! file does not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::experiment::{Experiment, Params};
use crate::durable;
use crate::error::{Error, Result};

/// A file that a parameter of a cell names.
#[derive(Debug, Clone, PartialEq)]
pub struct InputFile {
    pub field: &'static str,
    pub path: PathBuf,
    /// BLAKE3 of what was in it when the cell was planned.
    content: String,
}

impl InputFile {
    /// An error when something else is in the file by now: what was computed from it has no key.
    pub fn check_unchanged(&self) -> Result<()> {
        if content_hash(&self.path)? == self.content {
            return Ok(());
        }
        Err(Error::failure(format!("the file '{}' changed while the cell was computed", self.path.display()))
            .fix("run again when nothing writes to the file"))
    }
}

/// Finds the files that cells name, and hashes each once.
pub struct InputFiles<'a> {
    /// Where relative paths count from.
    folder: &'a Path,
    hashes: HashMap<PathBuf, String>,
}

impl<'a> InputFiles<'a> {
    pub fn new(folder: &'a Path) -> Self {
        Self { folder, hashes: HashMap::new() }
    }

    /// Puts the hash of what is in a file in the place of its path, for all files that `params` name.
    pub fn resolve(&mut self, experiment: &dyn Experiment, params: &mut Params) -> Result<Vec<InputFile>> {
        let mut files = Vec::new();
        for field in experiment.file_fields() {
            let Some(written) = params.get(*field).and_then(Value::as_str) else { continue };
            let path = self.folder.join(written);
            let content = self.hash(&path).map_err(|error| {
                Error::input(format!("'{field}' names no file that can be read: {}", error.what()))
                    .fix("write the path as seen from the folder of the manifest")
            })?;
            params.insert((*field).to_owned(), Value::from(content.as_str()));
            files.push(InputFile { field, path, content });
        }
        Ok(files)
    }

    fn hash(&mut self, path: &Path) -> Result<String> {
        if let Some(known) = self.hashes.get(path) {
            return Ok(known.clone());
        }
        let hash = content_hash(path)?;
        self.hashes.insert(path.to_owned(), hash.clone());
        Ok(hash)
    }
}

fn content_hash(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(durable::open_plain(path)?).map_err(|error| Error::io("read", path, &error))?;
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}
