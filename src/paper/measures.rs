//! The quantities that claims are about, computed from result tables.

use super::costs::{Cost, costs, dimensions, power_law};
use crate::error::{Result, unknown};
use crate::num::statistics::{mean, median, prediction_interval};
use crate::table::Table;

/// A measured quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub value: f64,
    /// 95 % prediction interval over seeds, computed on the scale on which the quantity varies freely.
    pub interval: Option<(f64, f64)>,
    /// The embedding dimension: the largest of the table at which the quantity exists.
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

/// The stage whose table they read, and the methods in it.
pub const STAGE: &str = "storage_cost";
pub const METHODS: [&str; 5] = ["gradient_descent", "constructed", "direct", "ntk", "ntk_margin_optimal"];

/// β = F/d² of Fig 2a and Fig 6, and of Fig 5.
const QUARTER: f64 = 0.25;
const EIGHTH: f64 = 0.125;

/// Computes a measure from the table of the stage `storage_cost`, for one reading of the keys; `None` when no row of
/// the table decides it.
pub fn measure(name: &str, method: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let all: Vec<Cost> = costs(table)?.into_iter().filter(|cost| cost.keys == keys).collect();
    let (quantity, scale): (Quantity, Scale) = match name {
        "r_squared_on_rho" => (|costs, method| r_squared(costs, method, |cost| cost.rho), Scale::Share),
        "r_squared_on_coherence" => (|costs, method| r_squared(costs, method, |cost| cost.coherence), Scale::Share),
        "whitening_gain" => (whitening_gain, Scale::Ratio),
        "rescued_by_whitening" => (rescued_by_whitening, Scale::Share),
        "margin_optimal_gain" => (|costs, _| margin_optimal_gain(costs), Scale::Ratio),
        "breaking_kappa" => (breaking_kappa, Scale::Ratio),
        other => return Err(unknown("measure", other, MEASURES)),
    };
    let measured = dimensions(&all).into_iter().rev().find_map(|dimension| {
        let own: Vec<Cost> = all.iter().filter(|cost| cost.dimension == dimension).cloned().collect();
        let per_seed = per_seed(&own, method, quantity);
        let value = scale.centre(&per_seed)?;
        Some(Measured { value, interval: scale.interval(&per_seed), dimension })
    });
    Ok(measured)
}

type Quantity = fn(&[Cost], &str) -> Option<f64>;

/// The quantity for every seed on its own.
fn per_seed(costs: &[Cost], method: &str, quantity: Quantity) -> Vec<f64> {
    let mut seeds: Vec<i64> = costs.iter().map(|cost| cost.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let of = |seed: i64| -> Vec<Cost> { costs.iter().filter(|cost| cost.seed == seed).cloned().collect() };
    seeds.into_iter().filter_map(|seed| quantity(&of(seed), method)).collect()
}

/// The scale on which a quantity varies freely from seed to seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Above 0: the logarithm.
    Ratio,
    /// Between 0 and 1: as it is; an interval ends there.
    Share,
}

impl Scale {
    fn forward(self, value: f64) -> f64 {
        match self {
            Self::Ratio => value.ln(),
            Self::Share => value,
        }
    }

    fn back(self, value: f64) -> f64 {
        match self {
            Self::Ratio => value.exp(),
            Self::Share => value.clamp(0.0, 1.0),
        }
    }

    fn on_scale(self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| self.forward(*value)).collect()
    }

    /// The mean on the scale; `None` without values.
    fn centre(self, values: &[f64]) -> Option<f64> {
        (!values.is_empty()).then(|| self.back(mean(&self.on_scale(values))))
    }

    /// `None` with fewer than two values, or when one is at the end of the scale.
    fn interval(self, values: &[f64]) -> Option<(f64, f64)> {
        let (a, b) = prediction_interval(&self.on_scale(values))?;
        let (a, b) = (self.back(a), self.back(b));
        (a.is_finite() && b.is_finite()).then_some((a, b))
    }
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
    fn intervals_stay_within_the_scale() {
        let (low, high) = Scale::Share.interval(&[0.99, 0.95, 0.97]).unwrap();
        assert!(low < 0.95 && high == 1.0, "{low} {high}");
        let (low, high) = Scale::Ratio.interval(&[10.0, 30.0, 90.0]).unwrap();
        assert!(low > 0.0 && high > 90.0, "{low} {high}");
        assert!((Scale::Ratio.centre(&[10.0, 30.0, 90.0]).unwrap() - 30.0).abs() < 1e-9);
        assert_eq!(Scale::Ratio.interval(&[10.0, f64::INFINITY]), None);
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
