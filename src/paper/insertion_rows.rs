//! The rows of the stage `insertion`, as figures and claims read them.

use crate::error::Result;
use crate::num::statistics::distinct;
use crate::table::{Row, Table};

/// One search.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    pub schedule: String,
    pub method: String,
    pub dimension: i64,
    pub facts: i64,
    pub seed: i64,
    /// When a size was usable.
    pub parameters: Option<f64>,
    pub usable_from: f64,
}

/// Reads the searches of the stage `insertion`.
pub fn searches(table: &Table) -> Result<Vec<Search>> {
    let mut searches = Vec::new();
    for row in table.rows() {
        if row.int("size")? == Some(0) {
            searches.push(one(row)?);
        }
    }
    Ok(searches)
}

fn one(row: Row) -> Result<Search> {
    let is_usable = row.truth("usable")?.unwrap_or_default();
    Ok(Search {
        schedule: row.text("schedule")?.unwrap_or_default(),
        method: row.text("method")?.unwrap_or_default(),
        dimension: row.int("dimension")?.unwrap_or_default(),
        facts: row.int("facts")?.unwrap_or_default(),
        seed: row.int("seed")?.unwrap_or_default(),
        parameters: row.int("parameters")?.filter(|_| is_usable).map(|parameters| parameters as f64),
        usable_from: row.float("usable_from")?.unwrap_or(f64::NAN),
    })
}

/// The smallest usable size over the seeds by number of facts; `None` when no seed found one.
pub fn usable(rows: &[Search], schedule: &str, method: &str) -> Vec<(f64, Option<f64>)> {
    let own: Vec<&Search> = rows.iter().filter(|row| row.schedule == schedule && row.method == method).collect();
    let of = |facts: i64| {
        let seeds = own.iter().filter(|row| row.facts == facts);
        (facts as f64, seeds.filter_map(|row| row.parameters).reduce(f64::min))
    };
    distinct(own.iter().map(|row| row.facts)).into_iter().map(of).collect()
}
