//! The results folder: one table per stage and profile, and the receipt beside them.

use std::path::{Path, PathBuf};

use super::plan::PlannedStage;
use super::profile::Profile;
use super::receipt::Receipt;
use crate::error::{Error, Result};
use crate::table::Table;

/// The tables of one profile.
#[derive(Debug, Clone)]
pub struct Results {
    folder: PathBuf,
}

/// How the table of a stage stands to the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableState {
    /// Made from exactly the cells of the plan.
    Current,
    /// Made from the complete seeds of the plan, as a run with a budget does; other seeds lack cells.
    Partial,
    /// Made from other cells, or changed since.
    Stale,
    Absent,
}

impl TableState {
    /// The word for people and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Partial => "partial",
            Self::Stale => "stale",
            Self::Absent => "absent",
        }
    }
}

impl Results {
    /// The results of `profile` in the folder `root`.
    pub fn new(root: &Path, profile: Profile) -> Self {
        Self { folder: root.join(profile.name()) }
    }

    /// The file with the table of a stage.
    pub fn table_path(&self, stage: &str) -> PathBuf {
        self.folder.join(format!("{stage}.parquet"))
    }

    /// The file with the receipt.
    pub fn receipt_path(&self) -> PathBuf {
        self.folder.join("receipt.json")
    }

    /// Reads the table of a stage; when it is not there, says which command makes it.
    pub fn read_table(&self, stage: &str) -> Result<Table> {
        let path = self.table_path(stage);
        if !path.exists() {
            let profile = self.folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            return Err(Error::input(format!("stage '{stage}' has no results in '{}'", path.display()))
                .fix(format!("factsmith run --stage {stage} --profile {profile}")));
        }
        Table::read_parquet(&path)
    }

    /// Compares the table of a stage with the plan, by content and never by time.
    pub fn state(&self, stage: &PlannedStage, receipt: &Receipt) -> TableState {
        let Some(file_hash) = self.file_hash(&stage.name) else { return TableState::Absent };
        match receipt.stages.get(&stage.name).filter(|entry| entry.file_hash == file_hash) {
            Some(entry) if entry.cells_hash == stage.cells_hash() => TableState::Current,
            Some(entry) if entry.cells_hash == stage.complete_cells_hash() => TableState::Partial,
            _ => TableState::Stale,
        }
    }

    /// BLAKE3 of the file of a stage's table.
    pub fn file_hash(&self, stage: &str) -> Option<String> {
        std::fs::read(self.table_path(stage)).ok().map(|bytes| blake3::hash(&bytes).to_hex().to_string())
    }

    /// Writes a table unless its file is there already, byte for byte, so that its time only changes with its content and a
    /// damaged file is replaced. Returns whether it was written.
    pub fn write_table(&self, stage: &str, table: &Table) -> Result<bool> {
        let path = self.table_path(stage);
        let bytes = table.to_parquet_bytes()?;
        let is_there = std::fs::read(&path).is_ok_and(|old| old == bytes);
        if !is_there {
            crate::durable::replace(&path, |file| std::io::Write::write_all(file, &bytes))?;
        }
        Ok(!is_there)
    }
}
