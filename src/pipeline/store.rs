//! The cells that were computed, in a folder. Reading needs no lock and writes nothing.
//!
//! ```text
//! format                          version of this layout
//! lock                            held by the run that writes
//! journal/<process>-<n>.jsonl     cells of a run that has not ended, one line each
//! cells/<experiment>/<hash>.parquet   cells of runs that ended, many per file
//! quarantine/                     files that were not what was written
//! ```

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::journal::{self, FinishedCell};
use super::key::Key;
use super::segment::{self, Fault, Head};
use crate::error::{Error, Result};
use crate::table::Record;

/// The version of the store's layout that this program writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// What a store holds.
#[derive(Debug, Default)]
pub struct Store {
    root: PathBuf,
    cells: HashMap<Key, Entry>,
    segments: Vec<PathBuf>,
    journaled: HashMap<Key, Arc<FinishedCell>>,
    journals: Vec<PathBuf>,
    unfinished: Vec<PathBuf>,
    damage: Vec<Damage>,
    format_is_damaged: bool,
}

/// A file that is not what was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Damage {
    pub path: PathBuf,
    pub reason: String,
}

/// What went into a stored cell.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCell<'a> {
    pub key: Key,
    pub version: u32,
    /// Canonical parameters as JSON.
    pub params: &'a str,
    pub seed: u64,
}

#[derive(Debug)]
struct Entry {
    experiment: Arc<str>,
    version: u32,
    params: String,
    seed: u64,
    wall_s: f64,
    /// Position in `segments`; `None` for a cell in a journal.
    segment: Option<usize>,
}

impl Store {
    /// Reads what is in the folder `root`; a folder that is not there is an empty store.
    pub fn read(root: &Path) -> Result<Self> {
        let mut store = Self { root: root.to_owned(), format_is_damaged: check_format(root)?, ..Self::default() };
        // Journals first: a run that ends meanwhile turns its journal into segments before it removes it.
        for path in files(&root.join("journal"), "jsonl")? {
            store.read_journal(path)?;
        }
        for path in segment_files(&root.join("cells"))? {
            store.read_segment(path)?;
        }
        Ok(store)
    }

    /// The folder of the store.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The seconds that a stored cell took; `None` when the cell is not there.
    pub fn wall_seconds(&self, key: &Key) -> Option<f64> {
        self.cells.get(key).map(|entry| entry.wall_s)
    }

    /// Canonical parameters and seconds of all stored cells of an experiment, sorted by parameters.
    pub fn timings(&self, experiment: &str, version: u32) -> Vec<(&str, f64)> {
        let mut timings: Vec<(&str, f64)> = self
            .cells
            .values()
            .filter(|entry| &*entry.experiment == experiment && entry.version == version)
            .map(|entry| (entry.params.as_str(), entry.wall_s))
            .collect();
        timings.sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)));
        timings
    }

    /// What went into each stored cell of an experiment, of all versions, sorted.
    pub fn cells_of(&self, experiment: &str) -> Vec<StoredCell<'_>> {
        let own = self.cells.iter().filter(|(_, entry)| &*entry.experiment == experiment);
        let mut cells: Vec<StoredCell> = own
            .map(|(key, entry)| StoredCell {
                key: *key,
                version: entry.version,
                params: &entry.params,
                seed: entry.seed,
            })
            .collect();
        cells.sort_by(|a, b| (a.params, a.seed, a.version).cmp(&(b.params, b.seed, b.version)));
        cells
    }

    /// Bytes per cell in the files of an experiment: of the tightest file and of the loosest.
    pub fn bytes_per_cell(&self, experiment: &str) -> Option<(f64, f64)> {
        let mut cells_in: HashMap<usize, usize> = HashMap::new();
        let own = self.cells.values().filter(|entry| &*entry.experiment == experiment);
        own.filter_map(|entry| entry.segment).for_each(|segment| *cells_in.entry(segment).or_default() += 1);
        let bytes = cells_in.into_iter().filter_map(|(segment, cells)| {
            let length = self.segments[segment].metadata().ok()?.len();
            Some(length as f64 / cells as f64)
        });
        bytes.fold(None, |range, bytes| range.map_or(Some((bytes, bytes)), |(a, b)| Some((bytes.min(a), bytes.max(b)))))
    }

    /// Files that are not what was written. Their cells count as missing.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// One line per damaged file, for people.
    pub fn warnings(&self) -> Vec<String> {
        let line = |damage: &Damage| {
            format!(
                "'{}' is damaged ({}); the cells that were in it count as missing",
                damage.path.display(),
                damage.reason
            )
        };
        self.damage.iter().map(line).collect()
    }

    pub(super) fn format_is_damaged(&self) -> bool {
        self.format_is_damaged
    }

    /// Journals that runs left, or are writing now.
    pub(super) fn journals(&self) -> &[PathBuf] {
        &self.journals
    }

    /// Journals that end in the middle of a line.
    pub(super) fn unfinished(&self) -> &[PathBuf] {
        &self.unfinished
    }

    /// Cells that are only in a journal.
    pub(super) fn unsealed(&self) -> Vec<FinishedCell> {
        let in_journal = |key: &Key| self.cells.get(key).is_some_and(|entry| entry.segment.is_none());
        self.journaled.iter().filter(|(key, _)| in_journal(key)).map(|(_, cell)| FinishedCell::clone(cell)).collect()
    }

    /// The rows of the cells `keys`.
    pub fn records(&self, keys: &HashSet<Key>) -> Result<HashMap<Key, Vec<Record>>> {
        let mut records = HashMap::with_capacity(keys.len());
        let mut wanted_segments = HashSet::new();
        for key in keys {
            let entry = self.cells.get(key).ok_or_else(|| Error::failure(format!("cell {key} is not in the store")))?;
            match entry.segment {
                Some(segment) => drop(wanted_segments.insert(segment)),
                None => drop(records.insert(*key, self.journaled[key].records.clone())),
            }
        }
        for segment in wanted_segments {
            let path = &self.segments[segment];
            let cells = segment::read_records(path).map_err(|fault| unreadable(path, fault))?;
            records.extend(cells.into_iter().filter(|(key, _)| keys.contains(key)));
        }
        Ok(records)
    }

    fn read_journal(&mut self, path: PathBuf) -> Result<()> {
        let content = match journal::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::io("read the journal", &path, &error)),
        };
        // A last line without an end is no damage: its run was killed, or is still writing.
        if content.unfinished {
            self.unfinished.push(path.clone());
        }
        if content.damaged > 0 {
            let reason = format!("{} of its lines are not what was written", content.damaged);
            self.damage.push(Damage { path: path.clone(), reason });
        }
        for cell in content.cells {
            self.cells.insert(cell.key, Entry::of_cell(&cell));
            self.journaled.insert(cell.key, Arc::new(cell));
        }
        self.journals.push(path);
        Ok(())
    }

    fn read_segment(&mut self, path: PathBuf) -> Result<()> {
        match segment::read_heads(&path) {
            Ok(heads) => {
                let segment = self.segments.len();
                self.segments.push(path);
                let mut experiment: Arc<str> = Arc::from("");
                for head in heads {
                    if *experiment != *head.experiment {
                        experiment = Arc::from(head.experiment.as_str());
                    }
                    self.cells.insert(head.key, Entry::of_head(head, Arc::clone(&experiment), segment));
                }
                Ok(())
            }
            Err(Fault::Damaged(reason)) => {
                self.damage.push(Damage { path, reason });
                Ok(())
            }
            Err(Fault::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(Fault::Io(error)) => Err(Error::io("read the cells", &path, &error)),
        }
    }
}

impl Entry {
    fn of_cell(cell: &FinishedCell) -> Self {
        Self {
            experiment: Arc::from(cell.experiment.as_str()),
            version: cell.version,
            params: super::key::canonical_json(&cell.params),
            seed: cell.seed,
            wall_s: cell.wall_s,
            segment: None,
        }
    }

    fn of_head(head: Head, experiment: Arc<str>, segment: usize) -> Self {
        let Head { version, params, seed, wall_s, .. } = head;
        Self { experiment, version, params, seed, wall_s, segment: Some(segment) }
    }
}

fn unreadable(path: &Path, fault: Fault) -> Error {
    match fault {
        Fault::Io(error) => Error::io("read the cells", path, &error),
        Fault::Damaged(reason) => {
            Error::failure(format!("'{}' was damaged while it was in use: {reason}", path.display()))
                .fix("run again: the cells that were in it are computed anew")
        }
    }
}

/// Refuses a store of a newer program; returns whether the file that says the version is damaged.
fn check_format(root: &Path) -> Result<bool> {
    let path = root.join("format");
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(Error::io("read the store", &path, &error)),
    };
    let Ok(format) = serde_json::from_slice::<serde_json::Value>(&bytes) else { return Ok(true) };
    match format["store_format"].as_u64() {
        Some(version) if version > u64::from(FORMAT) => Err(Error::input(format!(
            "the store was written by a newer factsmith (store format {version}; this one knows format {FORMAT})"
        ))
        .at(root.display())
        .fix("use the newer factsmith, or another store with --store DIR; nothing was changed")),
        Some(_) => Ok(false),
        None => Ok(true),
    }
}

/// The text of the file that says the version.
pub(super) fn format_text() -> String {
    format!("{{\"store_format\":{FORMAT}}}\n")
}

/// The files in `folder` with an extension, sorted by name.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = entries(folder)?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|own| own == extension) && !is_unfinished(path))
        .collect();
    files.sort();
    Ok(files)
}

fn segment_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    let mut experiments = entries(folder)?;
    experiments.sort();
    for experiment in experiments.iter().filter(|path| path.is_dir()) {
        all.extend(files(experiment, "parquet")?);
    }
    Ok(all)
}

/// What `durable::replace` was writing when its process was killed.
fn is_unfinished(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".unfinished-"))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error: std::io::Error| Error::io("read the folder", folder, &error);
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
    }
}

/// Files below the store that a killed run left half written; only a run that holds the lock may remove them.
pub(super) fn unfinished_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![root.to_owned()];
    folders.extend(entries(&root.join("cells"))?.into_iter().filter(|path| path.is_dir()));
    let mut unfinished = Vec::new();
    for folder in folders {
        unfinished.extend(entries(&folder)?.into_iter().filter(|path| is_unfinished(path)));
    }
    Ok(unfinished)
}
