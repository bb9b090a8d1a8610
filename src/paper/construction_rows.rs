//! The rows of the stage `constructions`, as figures and claims read them.

use crate::error::Result;
use crate::num::statistics::{distinct, median};
use crate::table::{Row, Table};

/// One search.
#[derive(Debug, Clone, PartialEq)]
pub struct Construction {
    pub method: String,
    pub dimension: i64,
    pub facts: i64,
    pub facts_per_d2: f64,
    pub seed: i64,
    /// `None` where no searched size stores every fact.
    pub parameters: Option<f64>,
    pub build_work: Option<f64>,
}

/// Reads the rows of the stage `constructions`.
pub fn constructions(table: &Table) -> Result<Vec<Construction>> {
    table.rows().map(|row| construction(row)).collect()
}

fn construction(row: Row) -> Result<Construction> {
    Ok(Construction {
        method: row.text("method")?.unwrap_or_default(),
        dimension: row.int("dimension")?.unwrap_or_default(),
        facts: row.int("facts")?.unwrap_or_default(),
        facts_per_d2: row.float("facts_per_d2")?.unwrap_or(f64::NAN),
        seed: row.int("seed")?.unwrap_or_default(),
        parameters: row.int("parameters")?.map(|parameters| parameters as f64),
        build_work: row.float("build_work")?,
    })
}

/// One point of a curve: a number of facts in a dimension, over the seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverSeeds {
    pub facts: f64,
    /// The median over the seeds; `None` unless every seed found a size.
    pub parameters: Option<f64>,
    pub build_work: Option<f64>,
}

/// The curve of one method in one dimension, by number of facts.
pub fn curve(rows: &[Construction], method: &str, dimension: i64) -> Vec<OverSeeds> {
    let own = || rows.iter().filter(|row| row.method == method && row.dimension == dimension);
    let facts = distinct(own().map(|row| row.facts));
    let over = |facts: i64, of: fn(&Construction) -> Option<f64>| {
        let values: Option<Vec<f64>> = own().filter(|row| row.facts == facts).map(of).collect();
        values.map(|values| median(&values))
    };
    facts
        .into_iter()
        .map(|facts| OverSeeds {
            facts: facts as f64,
            parameters: over(facts, |row| row.parameters),
            build_work: over(facts, |row| row.build_work),
        })
        .collect()
}

/// The dimensions that occur, ascending.
pub fn dimensions(rows: &[Construction]) -> Vec<i64> {
    distinct(rows.iter().map(|row| row.dimension))
}
