//! The quantities that claims are about, computed from result tables.

use super::costs::{Cost, costs, dimensions, power_law};
use crate::error::{Result, unknown};
use crate::num::statistics::{mean, median};
use crate::table::Table;

/// A measured quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// `None` when nothing in the table decides it.
    pub value: Option<f64>,
    /// The same quantity for every seed on its own.
    pub per_seed: Vec<f64>,
    /// The embedding dimension, the largest of the table.
    pub dimension: i64,
}

/// The measures that `claims.toml` can name.
pub const MEASURES: [&str; 6] = [
    "r_squared_on_rho",
    "r_squared_on_coherence",
    "whitening_gain",
    "rescued_by_whitening",
    "margin_optimal_gain",
    "breaking_kappa",
];

/// β = F/d² of Fig 2a and Fig 6, and of Fig 5.
const QUARTER: f64 = 0.25;
const EIGHTH: f64 = 0.125;

/// Computes a measure from the table of the stage `storage_cost`, for one reading of the keys; `None` when the table has no
/// rows for it.
pub fn measure(name: &str, method: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let all: Vec<Cost> = costs(table)?.into_iter().filter(|cost| cost.keys == keys).collect();
    let Some(&dimension) = dimensions(&all).last() else { return Ok(None) };
    let all: Vec<Cost> = all.into_iter().filter(|cost| cost.dimension == dimension).collect();
    let quantity: fn(&[Cost], &str) -> Option<f64> = match name {
        "r_squared_on_rho" => |costs, method| r_squared(costs, method, |cost| cost.rho),
        "r_squared_on_coherence" => |costs, method| r_squared(costs, method, |cost| cost.coherence),
        "whitening_gain" => whitening_gain,
        "rescued_by_whitening" => rescued_by_whitening,
        "margin_optimal_gain" => |costs, _| margin_optimal_gain(costs),
        "breaking_kappa" => breaking_kappa,
        other => return Err(unknown("measure", other, MEASURES)),
    };
    let mut seeds: Vec<i64> = all.iter().map(|cost| cost.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let per_seed: Vec<f64> = seeds
        .into_iter()
        .filter_map(|seed| {
            let own: Vec<Cost> = all.iter().filter(|cost| cost.seed == seed).cloned().collect();
            quantity(&own, method)
        })
        .collect();
    let value = (!per_seed.is_empty()).then(|| mean(&per_seed));
    Ok(Some(Measured { value, per_seed, dimension }))
}

fn raw<'a>(costs: &'a [Cost], method: &'a str, facts_per_d2: f64) -> impl Iterator<Item = &'a Cost> {
    chosen(costs, method, facts_per_d2, false)
}

fn chosen<'a>(costs: &'a [Cost], method: &'a str, facts_per_d2: f64, white: bool) -> impl Iterator<Item = &'a Cost> {
    costs.iter().filter(move |cost| {
        cost.method == method
            && cost.facts_per_d2 == facts_per_d2
            && (cost.alpha == 1.0) == white
            && (white || cost.alpha == 0.0)
    })
}

fn r_squared(costs: &[Cost], method: &str, x: fn(&Cost) -> f64) -> Option<f64> {
    power_law(raw(costs, method, QUARTER), x).map(|fit| fit.r_squared)
}

/// Ratios of parameters over κ: `numerator` against the row of `denominator` with the same κ, where both found a size.
fn ratios<'a>(numerator: impl Iterator<Item = &'a Cost>, denominator: &[&Cost]) -> Vec<f64> {
    numerator
        .filter_map(|cost| {
            let other = denominator.iter().find(|other| other.kappa == cost.kappa)?;
            Some(cost.parameters? / other.parameters?)
        })
        .collect()
}

fn whitening_gain(costs: &[Cost], method: &str) -> Option<f64> {
    let white: Vec<&Cost> = chosen(costs, method, QUARTER, true).collect();
    ratios(raw(costs, method, QUARTER), &white).into_iter().reduce(f64::max)
}

fn rescued_by_whitening(costs: &[Cost], method: &str) -> Option<f64> {
    let white: Vec<&Cost> = chosen(costs, method, QUARTER, true).collect();
    let failed: Vec<bool> = raw(costs, method, QUARTER)
        .filter(|cost| cost.parameters.is_none())
        .filter_map(|cost| white.iter().find(|other| other.kappa == cost.kappa))
        .map(|other| other.parameters.is_some())
        .collect();
    let rescued = failed.iter().filter(|rescued| **rescued).count();
    (!failed.is_empty()).then(|| rescued as f64 / failed.len() as f64)
}

fn margin_optimal_gain(costs: &[Cost]) -> Option<f64> {
    let optimal: Vec<&Cost> = raw(costs, "ntk_margin_optimal", EIGHTH).collect();
    let ratios = ratios(raw(costs, "ntk", EIGHTH), &optimal);
    (!ratios.is_empty()).then(|| median(&ratios))
}

/// The smallest κ such that the method fails there and at every larger κ; infinite when it does not break down, or when the
/// construction or gradient descent breaks down too.
fn breaking_kappa(costs: &[Cost], method: &str) -> Option<f64> {
    let mut rows: Vec<&Cost> = raw(costs, method, EIGHTH).collect();
    rows.sort_by(|a, b| b.kappa.total_cmp(&a.kappa));
    rows.first()?;
    let broken = rows.iter().take_while(|cost| cost.parameters.is_none()).last().map(|cost| cost.kappa);
    let others = ["constructed", "gradient_descent"];
    let others_hold = others.iter().all(|other| raw(costs, other, QUARTER).all(|cost| cost.parameters.is_some()));
    Some(broken.filter(|_| others_hold).unwrap_or(f64::INFINITY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Record;

    fn row(method: &str, kappa: f64, alpha: f64, beta: f64, parameters: Option<usize>) -> Record {
        Record::new()
            .with("method", method)
            .with("dimension", 32_usize)
            .with("facts_per_d2", beta)
            .with("kappa", kappa)
            .with("alpha", alpha)
            .with("keys", "isotropic")
            .with("seed", 0_usize)
            .with("facts", 256_usize)
            .with("rho", 0.5 / kappa)
            .with("coherence", 0.5)
            .with("parameters", parameters)
    }

    fn value(name: &str, method: &str, rows: &[Record]) -> Option<f64> {
        measure(name, method, "isotropic", &Table::from_records(rows).unwrap()).unwrap().unwrap().value
    }

    #[test]
    fn an_exact_power_law_has_an_r_squared_of_one() {
        let rows: Vec<Record> =
            [1, 2, 4, 8].map(|k| row("constructed", k as f64, 0.0, 0.25, Some(100 * k * k))).into_iter().collect();
        assert!((value("r_squared_on_rho", "constructed", &rows).unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(value("r_squared_on_coherence", "constructed", &rows), None, "coherence does not vary");
    }

    #[test]
    fn gains_and_failures() {
        let rows = [
            row("ntk", 1.0, 0.0, 0.125, Some(900)),
            row("ntk_margin_optimal", 1.0, 0.0, 0.125, Some(300)),
            row("ntk", 10.0, 0.0, 0.125, None),
            row("ntk_margin_optimal", 10.0, 0.0, 0.125, None),
            row("ntk_margin_optimal", 100.0, 0.0, 0.125, None),
            row("ntk", 10.0, 0.0, 0.25, None),
            row("ntk", 10.0, 1.0, 0.25, Some(800)),
            row("ntk", 20.0, 0.0, 0.25, None),
            row("ntk", 20.0, 1.0, 0.25, None),
            row("constructed", 1.0, 0.0, 0.25, Some(100)),
            row("constructed", 1.0, 1.0, 0.25, Some(90)),
            row("constructed", 10.0, 0.0, 0.25, Some(800)),
            row("constructed", 10.0, 1.0, 0.25, Some(100)),
        ];
        assert_eq!(value("margin_optimal_gain", "ntk", &rows), Some(3.0));
        assert_eq!(value("breaking_kappa", "ntk_margin_optimal", &rows), Some(10.0));
        assert_eq!(value("rescued_by_whitening", "ntk", &rows), Some(0.5));
        assert_eq!(value("whitening_gain", "constructed", &rows), Some(8.0));
        let mut broken = rows.to_vec();
        broken.push(row("gradient_descent", 1.0, 0.0, 0.25, None));
        assert_eq!(value("breaking_kappa", "ntk_margin_optimal", &broken), Some(f64::INFINITY));
    }
}
