//! The cells that were computed, in a folder. Reading needs no lock and writes nothing.
//!
//! ```text
//! format                          version of this layout
//! lock                            held by the run that writes, or by shards beside each other
//! journal/<process>-<n>.jsonl     cells of a run that has not ended, one line each
//! cells/<experiment>/<hash>.parquet   cells of runs that ended, many per file
//! failed/<key>.json               cells that failed, with their inputs
//! quarantine/                     files that were not what was written
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::checked_line;
use super::failures::{self, FailedCell};
use super::journal::{self, FinishedCell};
use super::key::{Key, canonical_json};
use super::segment::{self, Fault, Segment};
use crate::error::{Error, Result};
use crate::table::Record;

/// The version of the store's layout that this program writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// The folder of files that were not what was written.
pub(super) const QUARANTINE: &str = "quarantine";

/// A store is read again after 1, 2, 4 … ms, up to this wait (4 s in all), before a file that is listed and not there is an error.
const LONGEST_WAIT: Duration = Duration::from_millis(2048);

/// What a store holds.
#[derive(Debug, Default)]
pub struct Store {
    root: PathBuf,
    cells: HashMap<Key, Entry>,
    segments: Vec<SegmentFile>,
    journaled: HashMap<Key, FinishedCell>,
    journals: Vec<PathBuf>,
    unfinished: Vec<PathBuf>,
    failures: BTreeMap<Key, FailedCell>,
    damage: Vec<Damage>,
    format_is_damaged: bool,
}

/// A file that was listed and is not there when it is opened.
struct Gone(PathBuf);

/// A file of cells.
#[derive(Debug, Clone)]
pub(super) struct SegmentFile {
    pub path: PathBuf,
    /// How many cells are in it, and how many of these count: of a cell that is in two files only one copy counts.
    pub cells: usize,
    pub live: usize,
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
        patiently(LONGEST_WAIT, || Self::try_read(root))
    }

    /// Whether the files of the store are still those that were read. Files of cells have names that say what is in them.
    pub(super) fn is_current(&self) -> Result<bool> {
        let mut read: Vec<&Path> = self.segments.iter().map(|file| file.path.as_path()).collect();
        let mut there = segment_files(&self.root.join("cells"))?;
        read.sort();
        there.sort();
        Ok(there == read && self.journals.is_empty() && files(&self.root.join("journal"), "jsonl")?.is_empty())
    }

    fn try_read(root: &Path) -> Result<std::result::Result<Self, Gone>> {
        let mut store = Self { root: root.to_owned(), format_is_damaged: check_format(root)?, ..Self::default() };
        // Journals first: a run that ends meanwhile turns its journal into segments before it removes it.
        store.read_journals()?;
        let mut segments = Vec::new();
        for path in store.readable(segment_files(&root.join("cells"))?) {
            match segment::read_heads(&path) {
                Ok(segment) => segments.push(segment),
                Err(Fault::Damaged(reason)) => store.damage.push(Damage { path, reason }),
                Err(fault) if fault.is_gone() => return Ok(Err(Gone(path))),
                Err(Fault::Io(error)) => return Err(Error::io("read the cells", &path, &error)),
            }
        }
        // The file with more cells was made of the others, by a run that was killed before it removed them.
        segments.sort_by_key(|segment| std::cmp::Reverse(segment.heads.len()));
        segments.into_iter().for_each(|segment| store.add(segment));
        store.read_failures()?;
        Ok(Ok(store))
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
        let cell = |(key, entry)| {
            let (key, Entry { version, params, seed, .. }): (&Key, &Entry) = (key, entry);
            StoredCell { key: *key, version: *version, params, seed: *seed }
        };
        let mut cells: Vec<StoredCell> = own.map(cell).collect();
        cells.sort_by(|a, b| (a.params, a.seed, a.version).cmp(&(b.params, b.seed, b.version)));
        cells
    }

    /// Bytes per cell in the files of an experiment: of the tightest file and of the loosest.
    pub fn bytes_per_cell(&self, experiment: &str) -> Option<(f64, f64)> {
        let folder = self.root.join("cells").join(experiment);
        let own = self.segments.iter().filter(|file| file.cells > 0 && file.path.parent() == Some(&folder));
        let bytes = own.filter_map(|file| Some(file.path.metadata().ok()?.len() as f64 / file.cells as f64));
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

    /// Cells that failed when they were last tried.
    pub fn failures(&self) -> impl Iterator<Item = &FailedCell> {
        self.failures.values()
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

    /// Its files of cells.
    pub(super) fn segments(&self) -> &[SegmentFile] {
        &self.segments
    }

    /// Cells that are only in a journal.
    pub(super) fn unsealed(&self) -> impl Iterator<Item = &FinishedCell> {
        self.journaled.keys().filter_map(|key| self.in_journal(key))
    }

    /// Forgets journals and damage that were put away.
    pub(super) fn forget_put_away(&mut self) {
        self.journals.clear();
        self.unfinished.clear();
        self.damage.clear();
        self.format_is_damaged = false;
    }

    /// Adds a segment that was read or written. Its cells count unless another segment has them.
    pub(super) fn add(&mut self, segment: Segment) {
        let position = self.segments.len();
        let mut file = SegmentFile { path: segment.path, cells: segment.heads.len(), live: 0 };
        for head in segment.heads {
            if self.cells.get(&head.key).is_some_and(|entry| entry.segment.is_some()) {
                continue;
            }
            let segment::Head { key, experiment, version, params, seed, wall_s } = head;
            self.cells.insert(key, Entry { experiment, version, params, seed, wall_s, segment: Some(position) });
            file.live += 1;
        }
        self.segments.push(file);
    }

    /// The cells that count of some segments.
    pub(super) fn keys_in(&self, paths: &[PathBuf]) -> HashSet<Key> {
        let wanted: Vec<bool> = self.segments.iter().map(|file| paths.contains(&file.path)).collect();
        let counts = |entry: &Entry| entry.segment.is_some_and(|segment| wanted[segment]);
        self.cells.iter().filter(|(_, entry)| counts(entry)).map(|(key, _)| *key).collect()
    }

    /// Puts new segments in the place of old ones whose files are gone.
    pub(super) fn replace_segments(&mut self, old: &[PathBuf], new: Vec<Segment>) {
        for key in self.keys_in(old) {
            self.cells.remove(&key);
        }
        // Their numbers stay, since other entries have theirs.
        for file in self.segments.iter_mut().filter(|file| old.contains(&file.path)) {
            (file.cells, file.live) = (0, 0);
        }
        new.into_iter().for_each(|segment| self.add(segment));
    }

    /// The stored cells among `keys`, whole.
    pub(super) fn finished_cells(&self, keys: &HashSet<Key>) -> Result<Vec<FinishedCell>> {
        let mut cells = Vec::new();
        for segment in self.segments_of(keys)? {
            match segment::read_cells(segment) {
                Ok(all) => cells.extend(all.into_iter().filter(|cell| keys.contains(&cell.key))),
                Err(fault) if fault.is_gone() => return Self::read(&self.root)?.finished_cells(keys),
                Err(fault) => return Err(unreadable(segment, fault)),
            }
        }
        cells.extend(keys.iter().filter_map(|key| self.in_journal(key)).cloned());
        Ok(cells)
    }

    /// The rows of the cells `keys`. Files that another process has merged since the store was read are looked for again.
    pub fn records(&self, keys: &HashSet<Key>) -> Result<HashMap<Key, Vec<Record>>> {
        let mut records = HashMap::with_capacity(keys.len());
        for segment in self.segments_of(keys)? {
            match segment::read_records(segment, |key| keys.contains(key)) {
                Ok(cells) => records.extend(cells),
                Err(fault) if fault.is_gone() => return Self::read(&self.root)?.records(keys),
                Err(fault) => return Err(unreadable(segment, fault)),
            }
        }
        let journaled = keys.iter().filter_map(|key| self.in_journal(key));
        records.extend(journaled.map(|cell| (cell.key, cell.records.clone())));
        Ok(records)
    }

    /// The files that hold the cells `keys`, each once, as far as these are not in a journal.
    fn segments_of(&self, keys: &HashSet<Key>) -> Result<Vec<&Path>> {
        let mut positions = HashSet::new();
        for key in keys {
            let missing = || {
                Error::failure(format!("cell {key} is not in the store any more"))
                    .fix("run again: cells that are gone are computed anew")
            };
            let entry = self.cells.get(key).ok_or_else(missing)?;
            positions.extend(entry.segment);
        }
        Ok(positions.into_iter().map(|position| self.segments[position].path.as_path()).collect())
    }

    fn in_journal(&self, key: &Key) -> Option<&FinishedCell> {
        let entry = self.cells.get(key).filter(|entry| entry.segment.is_none());
        entry.and_then(|_| self.journaled.get(key))
    }

    /// Reads the journals that are there.
    pub(super) fn read_journals(&mut self) -> Result<()> {
        for path in self.readable(files(&self.root.join("journal"), "jsonl")?) {
            match journal::read(&path) {
                Ok(content) => self.add_journal(path, content),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("read the journal", &path, &error)),
            }
        }
        Ok(())
    }

    /// The paths without those that nothing can be read from, which are damage.
    fn readable(&mut self, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        let (readable, odd): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|path| oddity(path).is_none());
        let damage = odd.into_iter().filter_map(|path| Some(Damage { reason: oddity(&path)?.to_owned(), path }));
        self.damage.extend(damage);
        readable
    }

    fn add_journal(&mut self, path: PathBuf, content: journal::Content) {
        // A last line without an end is no damage: its run was killed, or is still writing.
        if content.unfinished {
            self.unfinished.push(path.clone());
        }
        if content.damaged > 0 {
            let reason = format!("{} of its lines are not what was written", content.damaged);
            self.damage.push(Damage { path: path.clone(), reason });
        }
        for cell in content.cells {
            self.cells.entry(cell.key).or_insert_with(|| Entry::of_cell(&cell));
            self.journaled.insert(cell.key, cell);
        }
        self.journals.push(path);
    }

    fn read_failures(&mut self) -> Result<()> {
        for path in self.readable(files(&failures::folder(&self.root), "json")?) {
            match failures::read(&path) {
                Ok(Some(cell)) => drop(self.failures.insert(cell.key, cell)),
                Ok(None) => {
                    let reason = "it is not what was written".to_owned();
                    self.damage.push(Damage { path, reason });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io("read the failure", &path, &error)),
            }
        }
        Ok(())
    }
}

impl Entry {
    fn of_cell(cell: &FinishedCell) -> Self {
        Self {
            experiment: Arc::from(cell.experiment.as_str()),
            version: cell.version,
            params: canonical_json(&cell.params),
            seed: cell.seed,
            wall_s: cell.wall_s,
            segment: None,
        }
    }
}

/// Reads until no file is gone that was listed: its cells are in a new one by then.
fn patiently<T>(longest_wait: Duration, read: impl Fn() -> Result<std::result::Result<T, Gone>>) -> Result<T> {
    let mut wait = Duration::from_millis(1);
    loop {
        match read()? {
            Ok(found) => return Ok(found),
            Err(Gone(path)) if wait > longest_wait => {
                return Err(Error::failure(format!("'{}' is listed, but cannot be found", path.display()))
                    .fix("try again when nothing else changes the store"));
            }
            Err(Gone(_)) => std::thread::sleep(wait),
        }
        wait *= 2;
    }
}

/// What makes a path unfit for reading; `None` for a plain file, and for one that is gone.
fn oddity(path: &Path) -> Option<&'static str> {
    match std::fs::metadata(path) {
        Ok(data) if data.is_file() => None,
        Ok(_) => Some("it is no plain file"),
        Err(error) if path.is_symlink() && leads_nowhere(&error) => Some("it is a link that leads nowhere"),
        Err(_) => None,
    }
}

/// Whether that is what a link to nothing, or to itself, is answered with.
fn leads_nowhere(error: &std::io::Error) -> bool {
    let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    error.kind() == std::io::ErrorKind::NotFound || is_loop
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
pub(super) fn check_format(root: &Path) -> Result<bool> {
    let path = root.join("format");
    if oddity(&path).is_some() {
        return Ok(true);
    }
    match std::fs::read(&path) {
        Ok(bytes) => match read_format(&bytes) {
            Some(version) if version > FORMAT => Err(Error::input(format!(
                "the store was written by a newer factsmith (store format {version}; this one knows format {FORMAT})"
            ))
            .at(root.display())
            .fix("use the newer factsmith, or another store with --store DIR; nothing was changed")),
            version => Ok(version.is_none()),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io("read the store", &path, &error)),
    }
}

#[derive(Serialize, Deserialize)]
struct Format {
    store_format: u32,
}

/// The first stores had this text without a checksum.
const FIRST_FORMAT: &[u8] = b"{\"store_format\":1}\n";

fn read_format(bytes: &[u8]) -> Option<u32> {
    let format: Option<Format> = bytes.strip_suffix(b"\n").and_then(checked_line::read);
    format.map(|format| format.store_format).or((bytes == FIRST_FORMAT).then_some(1))
}

/// The text of the file that says the version.
pub(super) fn format_text() -> Result<String> {
    checked_line::write(&Format { store_format: FORMAT })
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
    let failed = |error: std::io::Error| {
        let found = Error::io("read the folder", folder, &error);
        if error.kind() == std::io::ErrorKind::NotADirectory {
            return found.fix("a file stands where a folder belongs: move the file away");
        }
        found
    };
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed(error)),
    }
}

/// Files below the store that a killed run left half written; only a run that holds the lock alone may remove them.
pub(super) fn unfinished_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut folders = vec![root.to_owned(), failures::folder(root)];
    folders.extend(entries(&root.join("cells"))?.into_iter().filter(|path| path.is_dir()));
    let mut unfinished = Vec::new();
    for folder in folders {
        unfinished.extend(unfinished_in(&folder)?);
    }
    Ok(unfinished)
}

/// Files in a folder that a killed process left half written.
pub(super) fn unfinished_in(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|path| is_unfinished(path)).collect())
}

/// Damaged files that were put aside.
pub(super) fn quarantined_files(root: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(&root.join(QUARANTINE))?.into_iter().filter(|path| path.is_symlink() || !path.is_dir()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::garbage;
    use super::super::stop::Stop;
    use super::super::writable::WritableStore;
    use super::*;

    #[test]
    fn a_file_that_is_listed_and_gone_is_waited_for() {
        let reads = std::cell::Cell::new(0);
        let gone_until = |enough: usize| {
            reads.set(0);
            patiently(Duration::from_millis(4), || {
                reads.set(reads.get() + 1);
                Ok(if reads.get() < enough { Err(Gone("merged".into())) } else { Ok(reads.get()) })
            })
        };
        assert_eq!(gone_until(4).unwrap(), 4, "three waits: 1, 2 and 4 ms");
        assert!(gone_until(5).unwrap_err().to_string().contains("'merged' is listed"));
        assert_eq!(reads.get(), 4);
    }

    #[test]
    fn a_format_that_is_no_plain_file_is_damaged_and_is_put_aside() {
        let link = |path: &Path| std::os::unix::fs::symlink("nowhere", path).unwrap();
        let pipe = |path: &Path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        let folder = |path: &Path| std::fs::create_dir(path).unwrap();
        let own_link = |path: &Path| std::os::unix::fs::symlink("format", path).unwrap();
        for make in [&link as &dyn Fn(&Path), &own_link, &pipe, &folder] {
            let root = tempfile::tempdir().unwrap();
            let format = root.path().join("format");
            make(&format);
            assert!(Store::read(root.path()).unwrap().format_is_damaged());
            drop(WritableStore::open(Store::read(root.path()).unwrap(), &Stop::default(), &|_| {}).unwrap());
            assert!(!Store::read(root.path()).unwrap().format_is_damaged());
            assert_eq!(std::fs::read_to_string(&format).unwrap(), format_text().unwrap());
            assert!(root.path().join(QUARANTINE).join("format").symlink_metadata().is_ok());
        }
    }

    #[test]
    fn what_is_no_plain_file_is_damage_and_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        for inside in ["cells/toy", "journal", "failed"] {
            crate::durable::create_folder(&folder.path().join(inside)).unwrap();
        }
        std::os::unix::fs::symlink("nowhere", folder.path().join("cells/toy/link.parquet")).unwrap();
        std::fs::create_dir(folder.path().join("failed/folder.json")).unwrap();
        for pipe in ["cells/toy/pipe.parquet", "journal/pipe.jsonl"] {
            let made = std::process::Command::new("mkfifo").arg(folder.path().join(pipe)).status().unwrap();
            assert!(made.success());
        }
        let store = Store::read(folder.path()).unwrap();
        let reasons: Vec<&str> = store.damage().iter().map(|damage| damage.reason.as_str()).collect();
        let (link, other) = ("it is a link that leads nowhere", "it is no plain file");
        assert_eq!(reasons, [other, link, other, other]);

        // A run puts them aside, and a later link of the same name beside them.
        let in_order =
            || drop(WritableStore::open(Store::read(folder.path()).unwrap(), &Stop::default(), &|_| {}).unwrap());
        in_order();
        assert!(Store::read(folder.path()).unwrap().damage().is_empty());
        std::os::unix::fs::symlink("nowhere", folder.path().join("cells/toy/link.parquet")).unwrap();
        in_order();
        assert_eq!(entries(&folder.path().join(QUARANTINE)).unwrap().len(), 5);
        let left = garbage::find(folder.path(), &folder.path().join("results"), &HashSet::new()).unwrap();
        assert_eq!(left.files.len(), 4, "two links, two pipes: {:?}", left.files);
    }

    #[test]
    fn rows_are_found_after_another_process_has_merged_their_files() {
        let folder = tempfile::tempdir().unwrap();
        let cells_in = folder.path().join("cells");
        let cells: Vec<FinishedCell> =
            (0..2).map(|seed| journal::tests::cell(seed, vec![Record::new().with("x", seed as i64)])).collect();
        let apart: Vec<Segment> =
            cells.iter().flat_map(|cell| segment::write(&cells_in, std::slice::from_ref(cell)).unwrap()).collect();
        let store = Store::read(folder.path()).unwrap();
        segment::write(&cells_in, &cells).unwrap();
        apart.iter().for_each(|segment| std::fs::remove_file(&segment.path).unwrap());
        let keys = cells.iter().map(|cell| cell.key).collect();
        let expected = cells.into_iter().map(|cell| (cell.key, cell.records)).collect();
        assert_eq!(store.records(&keys).unwrap(), expected);
        assert_eq!(store.finished_cells(&keys).unwrap().len(), 2);
    }

    #[test]
    fn a_format_cut_or_with_a_flipped_bit_anywhere_is_damaged_and_never_another_version() {
        let text = format_text().unwrap();
        assert_eq!(read_format(text.as_bytes()), Some(FORMAT));
        assert_eq!(read_format(FIRST_FORMAT), Some(1));
        for text in [text.as_bytes(), FIRST_FORMAT] {
            for position in 0..text.len() {
                assert_eq!(read_format(&text[..position]), None);
                for bit in 0..8 {
                    let mut flipped = text.to_vec();
                    flipped[position] ^= 1 << bit;
                    assert_eq!(read_format(&flipped), None);
                }
            }
        }
    }
}
