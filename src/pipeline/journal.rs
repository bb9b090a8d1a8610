//! Finished cells of a run, one line each.
//!
//! A run that is killed loses at most the lines it was writing; a line that is damaged is noticed by its checksum.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::checked_line;
use super::experiment::Params;
use super::key::{Key, canonical_json};
use super::store::FORMAT;
use crate::durable;
use crate::error::{Error, Result};
use crate::table::Record;

/// A finished cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinishedCell {
    pub key: Key,
    pub experiment: String,
    pub version: u32,
    pub params: Params,
    pub seed: u64,
    pub wall_s: f64,
    pub records: Vec<Record>,
}

#[derive(Serialize)]
struct WrittenLine<'a> {
    format: u32,
    #[serde(flatten)]
    cell: &'a FinishedCell,
}

#[derive(Deserialize)]
struct ReadLine {
    format: u32,
    #[serde(flatten)]
    cell: FinishedCell,
}

/// What a journal holds.
#[derive(Debug, Default)]
pub struct Content {
    pub cells: Vec<FinishedCell>,
    /// Whole lines that are not what was written.
    pub damaged: usize,
    /// Whether the last line has no end: its run was killed while writing it, or is writing it now.
    pub unfinished: bool,
}

/// Appends cells to a journal of its own.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Arc<File>,
    length: u64,
}

impl Journal {
    /// Starts a new journal in `folder`.
    pub fn create(folder: &Path) -> Result<Self> {
        durable::create_folder(folder)?;
        for number in 0_u32.. {
            let path = folder.join(format!("{}-{number}.jsonl", std::process::id()));
            match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(file) => {
                    durable::sync_folder(folder)?;
                    return Ok(Self { path, file: Arc::new(file), length: 0 });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create the journal", &path, &error)),
            }
        }
        Err(Error::failure("no name is left for a journal"))
    }

    /// Appends the line of a cell; it survives the death of this process once this returns.
    pub fn append(&mut self, line: &str) -> Result<()> {
        if let Err(error) = self.file.as_ref().write_all(line.as_bytes()) {
            // Half a line (a full disk) must not be glued to the next one; when even this fails, reading reports it.
            let _ = self.file.set_len(self.length);
            return Err(Error::io("write the journal", &self.path, &error));
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// What makes the lines appended so far survive anything. It needs no journal, so that lines can be appended
    /// meanwhile.
    pub fn syncer(&self) -> impl FnOnce() -> Result<()> + use<> {
        let (file, path) = (Arc::clone(&self.file), self.path.clone());
        move || file.sync_data().map_err(|error| Error::io("write the journal", &path, &error))
    }
}

/// The line of a cell.
pub fn line(cell: &FinishedCell) -> Result<String> {
    checked_line::write(&WrittenLine { format: FORMAT, cell })
}

/// Reads the journal at `path`, leaving out what is damaged.
pub fn read(path: &Path) -> std::io::Result<Content> {
    let bytes = std::fs::read(path)?;
    let mut content = Content::default();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n") {
            None => content.unfinished = true,
            Some(line) => match parse(line) {
                Some(cell) => content.cells.push(cell),
                None => content.damaged += 1,
            },
        }
    }
    Ok(content)
}

fn parse(line: &[u8]) -> Option<FinishedCell> {
    let ReadLine { format, cell } = checked_line::read(line)?;
    let key = Key::new(&cell.experiment, cell.version, &canonical_json(&cell.params), cell.seed);
    (format == FORMAT && key == cell.key).then_some(cell)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn cell(seed: u64, records: Vec<Record>) -> FinishedCell {
        let params: Params = serde_json::from_str(r#"{"d":32,"kappa":0.1}"#).unwrap();
        let key = Key::new("toy", 1, &canonical_json(&params), seed);
        FinishedCell { key, experiment: "toy".to_owned(), version: 1, params, seed, wall_s: 0.25, records }
    }

    fn rows(seed: u64) -> Vec<Record> {
        vec![Record::new().with("x", 0.1 * seed as f64).with("word", "ä\n\"").with("none", None::<f64>)]
    }

    fn sample(folder: &Path) -> (PathBuf, Vec<FinishedCell>) {
        let mut journal = Journal::create(folder).unwrap();
        let cells: Vec<FinishedCell> = (0..3).map(|seed| cell(seed, rows(seed))).collect();
        for cell in &cells {
            journal.append(&line(cell).unwrap()).unwrap();
        }
        (journal.path, cells)
    }

    #[test]
    fn a_journal_gives_back_what_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let (path, cells) = sample(folder.path());
        let content = read(&path).unwrap();
        assert_eq!(content.cells, cells);
        assert_eq!((content.damaged, content.unfinished), (0, false));
    }

    #[test]
    fn a_journal_cut_anywhere_gives_its_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let (path, cells) = sample(folder.path());
        let bytes = std::fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let content = read(&path).unwrap();
            let whole = bytes[..length].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(content.cells, cells[..whole]);
            assert_eq!(content.damaged, 0);
            assert_eq!(content.unfinished, length > 0 && bytes[length - 1] != b'\n');
        }
    }

    #[test]
    fn a_flipped_bit_never_gives_another_cell() {
        let folder = tempfile::tempdir().unwrap();
        let (path, cells) = sample(folder.path());
        let bytes = std::fs::read(&path).unwrap();
        for position in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[position] ^= 1 << (position % 8);
            std::fs::write(&path, &flipped).unwrap();
            let content = read(&path).unwrap();
            assert!(content.cells.len() < cells.len());
            assert!(content.cells.iter().all(|cell| cells.contains(cell)));
            assert!(content.damaged > 0 || content.unfinished);
        }
    }

    /// Not a test of its own: the part that runs where files cannot grow beyond a kilobyte.
    #[test]
    fn half_a_line_child() {
        let Some(folder) = std::env::var_os("FACTSMITH_TEST_JOURNAL") else { return };
        let mut journal = Journal::create(Path::new(&folder)).unwrap();
        journal.append(&line(&cell(0, rows(0))).unwrap()).unwrap();
        let long = vec![Record::new().with("word", "x".repeat(2000))];
        assert_eq!(journal.append(&line(&cell(1, long)).unwrap()).unwrap_err().exit_code(), 1);
        journal.append(&line(&cell(2, rows(2))).unwrap()).unwrap();
    }

    #[test]
    fn a_line_after_half_a_line_is_not_joined_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let status = std::process::Command::new("bash")
            .args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "pipeline::journal::tests::half_a_line_child"])
            .env("FACTSMITH_TEST_JOURNAL", folder.path())
            .output()
            .unwrap();
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
        let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let content = read(&path).unwrap();
        assert_eq!(content.cells, [cell(0, rows(0)), cell(2, rows(2))]);
        assert_eq!((content.damaged, content.unfinished), (0, false));
    }
}
