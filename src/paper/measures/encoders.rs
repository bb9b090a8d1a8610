//! What claims about encoders and random decoders are about, from the stages `encoders` and `random_decoders`.

use super::{Measure, Measured, Scale, over_seeds};
use crate::error::{Result, unknown};
use crate::num::statistics::fit_line;
use crate::table::{Row, Table};

const ENCODERS: &[&str] = &["gadget", "staircase", "silu_pairs", "relu_pairs", "two_hot_gated", "two_hot_plain"];

/// Residual above which an encoder counts as inexact.
const EXACT: f64 = 1e-6;
/// c in `m = c·ln(n)/ρ²` at which random decoders have to work.
const MULTIPLE: f64 = 4.0;

/// The measures of these stages.
pub const MEASURES: [Measure; 5] = [
    of_encoders("largest_residual"),
    of_encoders("parameters_per_number"),
    of_encoders("order_in_epsilon"),
    of_encoders("hidden_over_bubeck"),
    Measure { name: "success_share", stage: "random_decoders", methods: &["random_decoder"], compute: success_share },
];

const fn of_encoders(name: &'static str) -> Measure {
    Measure { name, stage: "encoders", methods: ENCODERS, compute: measure }
}

#[derive(Debug, Clone)]
struct Encoder {
    dimension: i64,
    outputs: f64,
    slack: f64,
    epsilon: f64,
    seed: i64,
    residual: f64,
    parameters_per_number: f64,
    hidden_per_output: f64,
    bubeck_hidden: f64,
}

fn encoder(row: Row) -> Result<Encoder> {
    let float = |name: &str| Ok::<f64, crate::error::Error>(row.float(name)?.unwrap_or(f64::NAN));
    let int = |name: &str| Ok::<i64, crate::error::Error>(row.int(name)?.unwrap_or_default());
    Ok(Encoder {
        dimension: int("dimension")?,
        outputs: int("outputs")? as f64,
        slack: float("slack")?,
        epsilon: float("epsilon")?,
        seed: int("seed")?,
        residual: float("relative_residual")?,
        parameters_per_number: float("parameters_per_number")?,
        hidden_per_output: float("hidden_per_output")?,
        bubeck_hidden: int("bubeck_hidden")? as f64,
    })
}

fn measure(name: &str, kind: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let mut rows = Vec::new();
    for row in table.rows() {
        if row.text("encoder")?.as_deref() == Some(kind) {
            rows.push(encoder(row)?);
        }
    }
    let Some(dimension) = rows.iter().map(|row| row.dimension).max().filter(|_| keys == "isotropic") else {
        return Ok(None);
    };
    // The largest is a bound over all fits: it has no spread.
    let largest = |of: &dyn Fn(&Encoder) -> f64| {
        Some(Measured { value: rows.iter().map(of).fold(0.0, f64::max), interval: None, dimension })
    };
    Ok(match name {
        "largest_residual" => largest(&|row| row.residual),
        "hidden_over_bubeck" => largest(&|row| match row.residual <= EXACT {
            true => row.hidden_per_output / row.bubeck_hidden,
            false => f64::INFINITY,
        }),
        "parameters_per_number" => {
            let own: Vec<Encoder> = rows.iter().filter(|row| row.slack == 0.0 && row.outputs > 1.0).cloned().collect();
            let mean = |rows: &[Encoder]| {
                let sum: f64 = rows.iter().map(|row| row.parameters_per_number).sum();
                (!rows.is_empty()).then(|| sum / rows.len() as f64)
            };
            over_seeds(Scale::Ratio, dimension, &own, |row| row.seed, mean)
        }
        "order_in_epsilon" => {
            let own: Vec<Encoder> = rows.iter().filter(|row| row.dimension == dimension).cloned().collect();
            over_seeds(Scale::Plain, dimension, &own, |row| row.seed, order)
        }
        other => return Err(unknown("measure", other, MEASURES.map(|measure| measure.name))),
    })
}

/// The slope of log residual on log ε, where the residual is neither of order 1 nor near rounding.
fn order(rows: &[Encoder]) -> Option<f64> {
    let inside = rows.iter().filter(|row| row.residual < 0.1 && row.residual > 1e-9);
    let points: Vec<(f64, f64)> = inside.map(|row| (row.epsilon.ln(), row.residual.ln())).collect();
    fit_line(&points).map(|line| line.slope)
}

/// The smallest share over dimensions, numbers of values and κ of the draws that work at c = 4, all seeds together.
fn success_share(_: &str, _: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let mut counts: std::collections::BTreeMap<(i64, u64, u64), (i64, i64)> = std::collections::BTreeMap::new();
    for row in table.rows() {
        let float = |name: &str| Ok::<f64, crate::error::Error>(row.float(name)?.unwrap_or(f64::NAN));
        if keys != "isotropic" || float("multiple")? != MULTIPLE {
            continue;
        }
        let place =
            (row.int("dimension")?.unwrap_or_default(), float("facts_per_d2")?.to_bits(), float("kappa")?.to_bits());
        let count = counts.entry(place).or_default();
        count.0 += row.int("successes")?.unwrap_or_default();
        count.1 += row.int("draws")?.unwrap_or_default();
    }
    let smallest = counts.values().map(|(successes, draws)| *successes as f64 / *draws as f64).reduce(f64::min);
    let dimension = counts.keys().map(|(dimension, ..)| *dimension).max().unwrap_or_default();
    Ok(smallest.map(|value| Measured { value, interval: None, dimension }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Record;

    fn row(kind: &str, epsilon: f64, residual: f64, seed: usize) -> Record {
        Record::new()
            .with("encoder", kind)
            .with("dimension", 16_usize)
            .with("outputs", 4_usize)
            .with("slack", 0.0)
            .with("epsilon", epsilon)
            .with("seed", seed)
            .with("relative_residual", residual)
            .with("parameters_per_number", 2.0)
            .with("hidden_per_output", 6.0)
            .with("bubeck_hidden", 16_usize)
    }

    fn value(name: &str, kind: &str, rows: &[Record]) -> Option<f64> {
        measure(name, kind, "isotropic", &Table::from_records(rows).unwrap()).unwrap().map(|found| found.value)
    }

    #[test]
    fn measures_of_encoders() {
        let rows = [
            row("gadget", 0.0, 1e-12, 0),
            row("gadget", 0.0, 3e-12, 1),
            row("relu_pairs", 0.0, 1e-9, 0),
            row("silu_pairs", 0.1, 0.02, 0),
            row("silu_pairs", 0.01, 0.0002, 0),
            row("silu_pairs", 0.001, 0.000_002, 0),
        ];
        assert_eq!(value("largest_residual", "gadget", &rows), Some(3e-12));
        assert_eq!(value("hidden_over_bubeck", "relu_pairs", &rows), Some(0.375));
        assert!((value("order_in_epsilon", "silu_pairs", &rows).unwrap() - 2.0).abs() < 1e-9);
        assert!((value("parameters_per_number", "gadget", &rows).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(value("largest_residual", "two_hot_gated", &rows), None);
        let inexact = [row("relu_pairs", 0.0, 1e-3, 0)];
        assert_eq!(value("hidden_over_bubeck", "relu_pairs", &inexact), Some(f64::INFINITY));
    }

    #[test]
    fn the_success_share_is_that_of_the_worst_table() {
        let row = |kappa: f64, multiple: f64, successes: usize| {
            Record::new()
                .with("dimension", 16_usize)
                .with("facts_per_d2", 0.25)
                .with("kappa", kappa)
                .with("multiple", multiple)
                .with("draws", 10_usize)
                .with("successes", successes)
        };
        let rows = [row(1.0, 4.0, 10), row(1.0, 4.0, 8), row(10.0, 4.0, 7), row(10.0, 4.0, 9), row(10.0, 1.0, 0)];
        let table = Table::from_records(&rows).unwrap();
        assert_eq!(success_share("", "", "isotropic", &table).unwrap().unwrap().value, 0.8);
    }
}
