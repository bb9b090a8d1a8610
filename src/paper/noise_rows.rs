//! The rows of the stage `noise_floor`, as figures and claims read them.

use crate::error::Result;
use crate::num::statistics::distinct;
use crate::table::{Row, Table};

/// One transformer at one moment of its training.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    pub dimension: i64,
    pub facts: i64,
    pub junk_length: i64,
    /// `stopping rule` or `last step`.
    pub moment: String,
    pub seed: i64,
    /// Over keys and draws of junk.
    pub mean: f64,
    /// What 5 % of them exceed.
    pub high: f64,
    /// The largest.
    pub floor: f64,
}

/// Reads the rows of the stage `noise_floor`.
pub fn noises(table: &Table) -> Result<Vec<Noise>> {
    table.rows().map(|row| one(row)).collect()
}

fn one(row: Row) -> Result<Noise> {
    Ok(Noise {
        dimension: row.int("dimension")?.unwrap_or_default(),
        facts: row.int("facts")?.unwrap_or_default(),
        junk_length: row.int("junk_length")?.unwrap_or_default(),
        moment: row.text("moment")?.unwrap_or_default(),
        seed: row.int("seed")?.unwrap_or_default(),
        mean: row.float("mean_noise")?.unwrap_or(f64::NAN),
        high: row.float("high_noise")?.unwrap_or(f64::NAN),
        floor: row.float("noise_floor")?.unwrap_or(f64::NAN),
    })
}

/// The pairs of dimension and number of facts, ascending.
pub fn models(rows: &[Noise]) -> Vec<(i64, i64)> {
    let dimensions = distinct(rows.iter().map(|row| row.dimension));
    let of = |dimension: i64| distinct(rows.iter().filter(|row| row.dimension == dimension).map(|row| row.facts));
    dimensions
        .into_iter()
        .flat_map(|dimension| of(dimension).into_iter().map(move |facts| (dimension, facts)))
        .collect()
}
