//! The rows of the stage `storage_cost`, as figures and claims read them.

use crate::error::Result;
use crate::num::statistics::{Line, distinct, fit_line};
use crate::table::{Row, Table};

/// One search: what the figures and the claims need of a row of the stage `storage_cost`.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub method: String,
    pub dimension: i64,
    pub facts: i64,
    pub facts_per_d2: f64,
    pub kappa: f64,
    pub alpha: f64,
    pub keys: String,
    pub seed: i64,
    pub rho: f64,
    pub coherence: f64,
    /// `None` where the range held no size that stores every fact.
    pub parameters: Option<f64>,
}

/// Reads the rows of the stage `storage_cost`.
pub fn costs(table: &Table) -> Result<Vec<Cost>> {
    table.rows().map(|row| cost(row)).collect()
}

fn cost(row: Row) -> Result<Cost> {
    Ok(Cost {
        method: row.text("method")?.unwrap_or_default(),
        dimension: row.int("dimension")?.unwrap_or_default(),
        facts: row.int("facts")?.unwrap_or_default(),
        facts_per_d2: row.float("facts_per_d2")?.unwrap_or(f64::NAN),
        kappa: row.float("kappa")?.unwrap_or(f64::NAN),
        alpha: row.float("alpha")?.unwrap_or(f64::NAN),
        keys: row.text("keys")?.unwrap_or_default(),
        seed: row.int("seed")?.unwrap_or_default(),
        rho: row.float("rho")?.unwrap_or(f64::NAN),
        coherence: row.float("coherence")?.unwrap_or(f64::NAN),
        parameters: row.int("parameters")?.map(|parameters| parameters as f64),
    })
}

/// The embedding dimensions that occur, ascending.
pub fn dimensions(costs: &[Cost]) -> Vec<i64> {
    distinct(costs.iter().map(|cost| cost.dimension))
}

/// `log y = slope·log x + intercept` over the rows that found a size, for the quantity `x`.
pub fn power_law<'a>(costs: impl Iterator<Item = &'a Cost>, x: fn(&Cost) -> f64) -> Option<Line> {
    let points: Vec<(f64, f64)> = costs.filter_map(|cost| Some((x(cost).ln(), cost.parameters?.ln()))).collect();
    fit_line(&points)
}
