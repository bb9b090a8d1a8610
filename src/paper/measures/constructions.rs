//! What claims of section 4 are about: how the cost of constructions grows, from the stage `constructions`.

use super::{Measure, Measured, Scale, over_seeds};
use crate::error::{Result, unknown};
use crate::num::statistics::{fit_line, median};
use crate::paper::construction_rows::{Construction, constructions, dimensions};
use crate::table::Table;

const METHODS: &[&str] = &[
    "gradient_descent",
    "gadget_jl",
    "gadget_direct",
    "gadget_trained_decoder",
    "trained_encoder_jl",
    "trained_encoder_trained_decoder",
    "naive_unit_norm",
    "ntk",
    "ntk_margin_optimal",
    "hebbian",
    "hebbian_whitened",
    "hebbian_fitted",
];

/// The construction of 2512.00207, to which others are compared.
const CONSTRUCTED: &str = "gadget_jl";

/// α = F/d² from which on a dimension counts as full.
const MANY: f64 = 0.5;

/// The measures of this stage.
pub const MEASURES: [Measure; 5] = [
    measure_called("cost_over_constructed"),
    measure_called("constructed_cost_over"),
    measure_called("exponent_of_bits"),
    measure_called("exponent_of_facts"),
    measure_called("fails_with_many_facts"),
];

const fn measure_called(name: &'static str) -> Measure {
    Measure { name, stage: "constructions", methods: METHODS, compute: measure }
}

/// Keys are always tied to values here: there is one reading.
fn measure(name: &str, method: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let rows = constructions(table)?;
    if keys != "isotropic" {
        return Ok(None);
    }
    let at_largest = |quantity: &dyn Fn(&[Construction]) -> Option<f64>, scale: Scale| {
        dimensions(&rows).into_iter().rev().find_map(|dimension| {
            let own: Vec<Construction> = rows.iter().filter(|row| row.dimension == dimension).cloned().collect();
            over_seeds(scale, dimension, &own, |row| row.seed, quantity)
        })
    };
    let over_all = |quantity: &dyn Fn(&[Construction]) -> Option<f64>, scale: Scale| {
        let largest = dimensions(&rows).last().copied()?;
        over_seeds(scale, largest, &rows, |row| row.seed, quantity)
    };
    Ok(match name {
        "cost_over_constructed" => at_largest(&|rows| ratio(rows, method, CONSTRUCTED), Scale::Ratio),
        "constructed_cost_over" => at_largest(&|rows| ratio(rows, CONSTRUCTED, method), Scale::Ratio),
        "exponent_of_bits" => over_all(&|rows| exponent(rows, method, |facts| facts * facts.log2()), Scale::Plain),
        "exponent_of_facts" => at_largest(&|rows| exponent(rows, method, |facts| facts), Scale::Plain),
        "fails_with_many_facts" => over_all(&|rows| failing_share(rows, method), Scale::Share),
        other => return Err(unknown("measure", other, MEASURES.map(|measure| measure.name))),
    })
}

/// The median over numbers of facts of the ratio of parameters, where both methods found a size.
fn ratio(rows: &[Construction], numerator: &str, denominator: &str) -> Option<f64> {
    let of = |method: &str, like: &Construction| {
        let same =
            |row: &&Construction| row.method == method && (row.dimension, row.facts) == (like.dimension, like.facts);
        rows.iter().find(same)?.parameters
    };
    let ratios: Vec<f64> = rows
        .iter()
        .filter(|row| row.method == numerator)
        .filter_map(|row| Some(row.parameters? / of(denominator, row)?))
        .collect();
    (!ratios.is_empty()).then(|| median(&ratios))
}

/// The slope of log parameters on the log of a size of the task, over all rows that found a size.
fn exponent(rows: &[Construction], method: &str, size: fn(f64) -> f64) -> Option<f64> {
    let own = rows.iter().filter(|row| row.method == method);
    let points: Vec<(f64, f64)> =
        own.filter_map(|row| Some((size(row.facts as f64).ln(), row.parameters?.ln()))).collect();
    fit_line(&points).map(|line| line.slope)
}

/// The share of searches with many facts for their dimension that found no size.
fn failing_share(rows: &[Construction], method: &str) -> Option<f64> {
    let many: Vec<&Construction> = rows.iter().filter(|row| row.method == method && row.facts_per_d2 >= MANY).collect();
    let failed = many.iter().filter(|row| row.parameters.is_none()).count();
    (!many.is_empty()).then(|| failed as f64 / many.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Record;

    fn row(method: &str, dimension: usize, facts: usize, parameters: Option<usize>) -> Record {
        Record::new()
            .with("method", method)
            .with("dimension", dimension)
            .with("facts", facts)
            .with("facts_per_d2", facts as f64 / (dimension * dimension) as f64)
            .with("seed", 0_usize)
            .with("parameters", parameters)
            .with("build_work", 1.0)
    }

    fn value(name: &str, method: &str, rows: &[Record]) -> Option<f64> {
        let table = Table::from_records(rows).unwrap();
        measure(name, method, "isotropic", &table).unwrap().map(|found| found.value)
    }

    #[test]
    fn ratios_are_taken_at_equal_facts_in_the_largest_dimension() {
        let rows = [
            row("gadget_jl", 16, 64, Some(10)),
            row("ntk", 16, 64, Some(10_000)),
            row("gadget_jl", 32, 64, Some(100)),
            row("gadget_jl", 32, 128, Some(200)),
            row("gadget_jl", 32, 256, Some(400)),
            row("ntk", 32, 64, Some(5_000)),
            row("ntk", 32, 128, Some(20_000)),
            row("ntk", 32, 256, None),
            row("gradient_descent", 32, 256, Some(20)),
        ];
        assert_eq!(value("cost_over_constructed", "ntk", &rows).map(f64::round), Some(75.0));
        assert_eq!(value("constructed_cost_over", "gradient_descent", &rows).map(f64::round), Some(20.0));
        assert_eq!(value("constructed_cost_over", "hebbian", &rows), None);
    }

    #[test]
    fn exponents_are_slopes() {
        let rows: Vec<Record> = [64, 128, 256].map(|facts| row("naive_unit_norm", 32, facts, Some(7 * facts))).into();
        assert!((value("exponent_of_facts", "naive_unit_norm", &rows).unwrap() - 1.0).abs() < 1e-12);
        let bits = |facts: usize| facts * facts.ilog2() as usize;
        let rows: Vec<Record> =
            [(16, 64), (16, 128), (32, 256)].map(|(d, facts)| row("gadget_jl", d, facts, Some(bits(facts)))).into();
        assert!((value("exponent_of_bits", "gadget_jl", &rows).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn only_many_facts_count_as_failing() {
        let rows = [row("ntk", 16, 64, None), row("ntk", 16, 128, None), row("ntk", 16, 256, Some(9))];
        assert_eq!(value("fails_with_many_facts", "ntk", &rows), Some(0.5));
    }
}
