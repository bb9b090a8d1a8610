//! Why cells of a plan are missing, and how the tables stand.

use std::collections::{HashMap, HashSet};

use super::experiment::{Experiment, Params};
use super::garbage::named;
use super::key::Key;
use super::manifest::Manifest;
use super::nearest::{Change, Neighbours, fields};
use super::plan::{Cell, Plan, PlannedStage};
use super::receipt::Receipt;
use super::results::Results;
use super::store::{Store, StoredCell};
use crate::error::Result;

/// Why a cell is missing.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The table was made from just these cells, so this one was there: its file was damaged or deleted.
    Lost,
    /// It is stored as computed by another version of the experiment.
    OtherVersion { stored: u32, current: u32 },
    /// A stored cell that no grid asks for any more differs only in these.
    Changed(Vec<Change>),
    /// The nearest stored cell, which a grid still asks for, differs only in these.
    NewPoint(Vec<Change>),
    /// No stored cell is like it.
    NeverComputed,
}

impl Reason {
    /// The words for people and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::OtherVersion { .. } => "other version",
            Self::Changed(_) => "parameter changed",
            Self::NewPoint(_) => "new point",
            Self::NeverComputed => "never computed",
        }
    }

    /// The fields that differ from those of a stored cell.
    pub fn changes(&self) -> &[Change] {
        match self {
            Self::Changed(changes) | Self::NewPoint(changes) => changes,
            _ => &[],
        }
    }
}

/// How the table of a stage stands, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableReason {
    Current,
    NoCells,
    Absent,
    /// The receipt does not know it.
    Foreign,
    /// It is not the file that the receipt knows.
    Damaged,
    /// It has the complete seeds only: a run with a budget made it.
    Partial,
    OtherCells,
}

impl TableReason {
    /// What to say of a table.
    pub fn text(self) -> &'static str {
        match self {
            Self::Current => "its table is current",
            Self::NoCells => "it has no cells in this profile",
            Self::Absent => "it has no table yet",
            Self::Foreign => "nothing says what its table was made from",
            Self::Damaged => "its table is damaged, or was changed by something else",
            Self::Partial => "its table has the complete seeds only",
            Self::OtherCells => "its table was made from other cells",
        }
    }
}

/// Why a stage would run.
pub struct Explanation<'p, 'a> {
    pub stage: &'p PlannedStage<'a>,
    pub table: TableReason,
    /// The missing cells in plan order.
    pub cells: Vec<(&'p Cell, Reason)>,
}

/// Explains all stages of a plan.
pub fn explain<'p, 'a>(
    manifest: &Manifest,
    experiments: &[&dyn Experiment],
    plan: &'p Plan<'a>,
    store: &Store,
    results: &Results,
) -> Result<Vec<Explanation<'p, 'a>>> {
    let wanted = named(manifest, experiments)?;
    let receipt = Receipt::read(&results.receipt_path());
    let mut stored: HashMap<&str, Stored> = HashMap::new();
    let mut explanations = Vec::new();
    for stage in &plan.stages {
        let was_complete = receipt.stages.get(&stage.name).is_some_and(|entry| entry.cells_hash == stage.cells_hash());
        let missing = stage.cells.iter().filter(|cell| !cell.cached);
        let reason = |cell: &'p Cell| {
            if was_complete {
                return (cell, Reason::Lost);
            }
            let experiment = stage.experiment;
            let stored = stored.entry(experiment.name()).or_insert_with(|| Stored::new(experiment, store, &wanted));
            (cell, stored.reason(cell))
        };
        let cells = missing.map(reason).collect();
        explanations.push(Explanation { stage, table: table_reason(stage, results, &receipt), cells });
    }
    Ok(explanations)
}

fn table_reason(stage: &PlannedStage, results: &Results, receipt: &Receipt) -> TableReason {
    if stage.cells.is_empty() {
        return TableReason::NoCells;
    }
    match (results.file_hash(&stage.name), receipt.stages.get(&stage.name)) {
        (None, _) => TableReason::Absent,
        (Some(_), None) => TableReason::Foreign,
        (Some(hash), Some(entry)) if hash != entry.file_hash => TableReason::Damaged,
        (_, Some(entry)) if entry.cells_hash == stage.cells_hash() => TableReason::Current,
        (_, Some(entry)) if entry.cells_hash == stage.complete_cells_hash() => TableReason::Partial,
        _ => TableReason::OtherCells,
    }
}

/// The stored cells of one experiment, arranged for looking up.
struct Stored {
    current: u32,
    /// The newest other version in which a cell is stored.
    versions: HashMap<(String, u64), u32>,
    /// Cells that no grid asks for any more.
    abandoned: Neighbours,
    wanted: Neighbours,
}

impl Stored {
    fn new(experiment: &dyn Experiment, store: &Store, wanted: &HashSet<Key>) -> Self {
        let current = experiment.version();
        let (mut versions, mut kept, mut abandoned) = (HashMap::new(), Vec::new(), Vec::new());
        for cell in store.cells_of(experiment.name()) {
            if cell.version != current {
                versions.insert((cell.params.to_owned(), cell.seed), cell.version);
            } else if let Some(fields) = stored_fields(&cell) {
                if wanted.contains(&cell.key) { kept.push(fields) } else { abandoned.push(fields) }
            }
        }
        Self { current, versions, abandoned: Neighbours::new(abandoned), wanted: Neighbours::new(kept) }
    }

    fn reason(&self, cell: &Cell) -> Reason {
        if let Some(stored) = self.versions.get(&(cell.point.json.clone(), cell.seed)) {
            return Reason::OtherVersion { stored: *stored, current: self.current };
        }
        let own = fields(&cell.point.params, cell.seed);
        match (self.abandoned.changes(&own), self.wanted.changes(&own)) {
            (Some(changes), Some(other)) if changes.len() > other.len() => Reason::NewPoint(other),
            (Some(changes), _) => Reason::Changed(changes),
            (None, Some(changes)) => Reason::NewPoint(changes),
            (None, None) => Reason::NeverComputed,
        }
    }
}

fn stored_fields(cell: &StoredCell) -> Option<Params> {
    let params: Params = serde_json::from_str(cell.params).ok()?;
    Some(fields(&params, cell.seed))
}
