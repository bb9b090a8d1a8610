//! The rows of the stages `language` and `editing`, as figures and claims read them.

use crate::error::Result;
use crate::num::statistics::distinct;
use crate::table::{Row, Table};

/// One language model.
#[derive(Debug, Clone, PartialEq)]
pub struct Recall {
    pub dimension: i64,
    pub facts: i64,
    pub seed: i64,
    pub parameters: f64,
    pub recall: f64,
    pub fact_adaptive_recall: f64,
    pub cross_entropy_before: f64,
    pub cross_entropy_after: f64,
}

/// The fact-adaptive recall from which on a model counts as using its MLP (A.3.3).
pub const USABLE: f64 = 0.99;

/// Reads the rows of the stage `language`.
pub fn recalls(table: &Table) -> Result<Vec<Recall>> {
    let float = |row: &Row, name: &str| Ok(row.float(name)?.unwrap_or(f64::NAN));
    let one = |row: Row| -> Result<Recall> {
        Ok(Recall {
            dimension: row.int("dimension")?.unwrap_or_default(),
            facts: row.int("facts")?.unwrap_or_default(),
            seed: row.int("seed")?.unwrap_or_default(),
            parameters: row.int("parameters")?.unwrap_or_default() as f64,
            recall: float(&row, "recall")?,
            fact_adaptive_recall: float(&row, "fact_adaptive_recall")?,
            cross_entropy_before: float(&row, "cross_entropy_before")?,
            cross_entropy_after: float(&row, "cross_entropy_after")?,
        })
    };
    table.rows().map(one).collect()
}

impl Recall {
    /// Whether the model recalls 99 % of other facts with their MLP in the place of its own. The recall of the facts it was trained
    /// with says less: a model around an MLP that stores a third of 64 facts learns the others itself.
    pub fn is_usable(&self) -> bool {
        self.fact_adaptive_recall >= USABLE
    }
}

/// The numbers of facts, ascending.
pub fn fact_numbers(rows: &[Recall]) -> Vec<i64> {
    distinct(rows.iter().map(|row| row.facts))
}

/// The usable model with the fewest parameters at a number of facts.
pub fn smallest(rows: &[Recall], facts: i64) -> Option<&Recall> {
    let usable = rows.iter().filter(|row| row.facts == facts && row.is_usable());
    usable.min_by(|a, b| a.parameters.total_cmp(&b.parameters))
}

/// One edit.
#[derive(Debug, Clone, PartialEq)]
pub struct EditRow {
    pub dimension: i64,
    pub kind: String,
    pub percent: f64,
    pub seed: i64,
    pub harmonic: f64,
    pub geometric: f64,
    /// The harmonic score over the facts that did not choose hyper-parameters.
    pub reporting: f64,
    pub best_harmonic: bool,
    pub best_geometric: bool,
    pub chosen: bool,
    /// Only of edits that are the best by one of the three.
    pub perplexity_ratio: Option<f64>,
}

/// Reads the rows of the stage `editing`.
pub fn edits(table: &Table) -> Result<Vec<EditRow>> {
    let float = |row: &Row, name: &str| Ok(row.float(name)?.unwrap_or(f64::NAN));
    let truth = |row: &Row, name: &str| Ok(row.truth(name)?.unwrap_or_default());
    let one = |row: Row| -> Result<EditRow> {
        Ok(EditRow {
            dimension: row.int("dimension")?.unwrap_or_default(),
            kind: row.text("kind")?.unwrap_or_default(),
            percent: float(&row, "percent")?,
            seed: row.int("seed")?.unwrap_or_default(),
            harmonic: float(&row, "harmonic")?,
            geometric: float(&row, "geometric")?,
            reporting: float(&row, "harmonic_reporting")?,
            best_harmonic: truth(&row, "best_harmonic")?,
            best_geometric: truth(&row, "best_geometric")?,
            chosen: truth(&row, "chosen")?,
            perplexity_ratio: row.float("perplexity_ratio")?,
        })
    };
    table.rows().map(one).collect()
}

/// How the hyper-parameters of an edit are chosen, and which score counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// The best harmonic score on the facts that report it, as the paper does.
    Oracle,
    /// The same with the geometric score.
    OracleGeometric,
    /// The best harmonic score on half of the facts; the other half reports.
    HeldOut,
}

impl Choice {
    /// The score of an edit that this choice makes; `None` for edits that it does not.
    pub fn score(self, row: &EditRow) -> Option<f64> {
        match self {
            Self::Oracle => row.best_harmonic.then_some(row.harmonic),
            Self::OracleGeometric => row.best_geometric.then_some(row.geometric),
            Self::HeldOut => row.chosen.then_some(row.reporting),
        }
    }
}

/// The score of a kind of edit for one share and seed.
pub fn score(rows: &[EditRow], kind: &str, percent: f64, seed: i64, choice: Choice) -> Option<f64> {
    let own = rows.iter().filter(|row| row.kind == kind && row.percent == percent && row.seed == seed);
    own.filter_map(|row| choice.score(row)).next()
}

/// The shares of facts edited, in percent, ascending.
pub fn percents(rows: &[EditRow]) -> Vec<f64> {
    let mut percents: Vec<f64> = rows.iter().map(|row| row.percent).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    percents
}

/// The seeds of a share, ascending.
pub fn seeds(rows: &[EditRow], percent: f64) -> Vec<i64> {
    distinct(rows.iter().filter(|row| row.percent == percent).map(|row| row.seed))
}
