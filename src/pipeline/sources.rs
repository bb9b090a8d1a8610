//! Where a table is read from: the results of a run, or else the results that were published with the project.

use std::path::{Path, PathBuf};

use super::profile::Profile;
use super::receipt::{Receipt, StageReceipt};
use super::results::Results;
use crate::error::Result;
use crate::table::Table;

/// The folder of published results, beside `pipeline.toml`.
pub const PUBLISHED: &str = "published";

/// The tables of one profile.
#[derive(Debug, Clone)]
pub struct Sources {
    own: Results,
    published: Results,
}

impl Sources {
    /// Own results in the folder `results`, published ones beside the manifest.
    pub fn new(results: &Path, manifest: &Path, profile: Profile) -> Self {
        let published = manifest.parent().unwrap_or(Path::new("")).join(PUBLISHED);
        Self { own: Results::new(results, profile), published: Results::new(&published, profile) }
    }

    /// The file that [`Sources::table`] reads: the own table if there is one, else the published one.
    pub fn path(&self, stage: &str) -> PathBuf {
        let (own, published) = (self.own.table_path(stage), self.published.table_path(stage));
        if !own.exists() && published.exists() { published } else { own }
    }

    /// The table of a stage.
    pub fn table(&self, stage: &str) -> Result<Table> {
        self.results_of(stage).read_table(stage)
    }

    /// The receipt of the table of a stage; `None` when there is none, or one of another file.
    pub fn receipt(&self, stage: &str) -> Option<StageReceipt> {
        let results = self.results_of(stage);
        let entry = Receipt::read(&results.receipt_path()).stages.remove(stage)?;
        (Some(&entry.file_hash) == results.file_hash(stage).as_ref()).then_some(entry)
    }

    fn results_of(&self, stage: &str) -> &Results {
        if self.path(stage) == self.own.table_path(stage) { &self.own } else { &self.published }
    }
}
