//! What claims of section 3 are about: fact-storage cost against decodability, from the stage `storage_cost`.

use super::{Measure, Measured, Scale, over_seeds};
use crate::error::{Result, unknown};
use crate::num::statistics::median;
use crate::paper::costs::{Cost, costs, dimensions, power_law};
use crate::table::Table;

const METHODS: &[&str] = &["gradient_descent", "constructed", "direct", "ntk", "ntk_margin_optimal"];

/// The measures of this stage.
pub const MEASURES: [Measure; 6] = [
    measure_called("r_squared_on_rho"),
    measure_called("r_squared_on_coherence"),
    measure_called("whitening_gain"),
    measure_called("rescued_by_whitening"),
    measure_called("margin_optimal_gain"),
    measure_called("breaking_kappa"),
];

const fn measure_called(name: &'static str) -> Measure {
    Measure { name, stage: "storage_cost", methods: METHODS, compute: measure }
}

/// β = F/d² of Fig 2a and Fig 6, and of Fig 5.
const QUARTER: f64 = 0.25;
const EIGHTH: f64 = 0.125;

/// Computes a measure from the table of the stage `storage_cost`, for one reading of the keys; `None` when no row of
/// the table decides it.
fn measure(name: &str, method: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let all: Vec<Cost> = costs(table)?.into_iter().filter(|cost| cost.keys == keys).collect();
    let (quantity, scale): (Quantity, Scale) = match name {
        "r_squared_on_rho" => (|costs, method| r_squared(costs, method, |cost| cost.rho), Scale::Share),
        "r_squared_on_coherence" => (|costs, method| r_squared(costs, method, |cost| cost.coherence), Scale::Share),
        "whitening_gain" => (whitening_gain, Scale::Ratio),
        "rescued_by_whitening" => (rescued_by_whitening, Scale::Share),
        "margin_optimal_gain" => (|costs, _| margin_optimal_gain(costs), Scale::Ratio),
        "breaking_kappa" => (breaking_kappa, Scale::Ratio),
        other => return Err(unknown("measure", other, MEASURES.map(|measure| measure.name))),
    };
    let measured = dimensions(&all).into_iter().rev().find_map(|dimension| {
        let own: Vec<Cost> = all.iter().filter(|cost| cost.dimension == dimension).cloned().collect();
        over_seeds(scale, dimension, &own, |cost| cost.seed, |costs| quantity(costs, method))
    });
    Ok(measured)
}

type Quantity = fn(&[Cost], &str) -> Option<f64>;

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
    let others = others.map(|other| raw(costs, other, QUARTER).collect::<Vec<&Cost>>());
    if others.iter().any(Vec::is_empty) {
        return None;
    }
    let others_hold = others.iter().flatten().all(|cost| cost.parameters.is_some());
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
        measure(name, method, "isotropic", &Table::from_records(rows).unwrap()).unwrap().map(|found| found.value)
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
            row("gradient_descent", 1.0, 0.0, 0.25, Some(9)),
            row("constructed", 1.0, 0.0, 0.25, Some(100)),
            row("constructed", 1.0, 1.0, 0.25, Some(90)),
            row("constructed", 10.0, 0.0, 0.25, Some(800)),
            row("constructed", 10.0, 1.0, 0.25, Some(100)),
        ];
        for (name, method, wanted) in [
            ("margin_optimal_gain", "ntk", 3.0),
            ("breaking_kappa", "ntk_margin_optimal", 10.0),
            ("rescued_by_whitening", "ntk", 0.5),
            ("whitening_gain", "constructed", 8.0),
        ] {
            let found = value(name, method, &rows).unwrap();
            assert!((found - wanted).abs() < 1e-9, "{name}: {found}");
        }
        let without: Vec<Record> =
            rows.iter().filter(|row| row.values()[0].1 != "gradient_descent".into()).cloned().collect();
        let found =
            measure("breaking_kappa", "ntk_margin_optimal", "isotropic", &Table::from_records(&without).unwrap());
        assert_eq!(found.unwrap(), None, "nothing is known of gradient descent");
        let mut broken = rows.to_vec();
        broken.push(row("gradient_descent", 10.0, 0.0, 0.25, None));
        assert_eq!(value("breaking_kappa", "ntk_margin_optimal", &broken), Some(f64::INFINITY));
    }
}
