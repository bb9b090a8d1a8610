//! What claims of section 5 are about: which MLPs a transformer can use, from the stage `ssfr`.

use super::{Measure, Measured, Scale, over_seeds};
use crate::error::{Result, unknown};
use crate::num::statistics::{fit_line, mean, median, rank_correlation};
use crate::paper::ssfr_rows::{Use, best_over_rates, dimensions, searched, uses};
use crate::table::Table;

const METHODS: &[&str] = &[
    "gradient_descent",
    "gradient_descent_relu",
    "gadget_jl_wide",
    "ntk",
    "hebbian_fitted",
    "residuals",
    "trained_values",
    "trained_norm",
    "untied_embeddings",
    "no_positions",
];

/// The MLP to which others are compared.
const GATED: &str = "gradient_descent";

/// The measures of this stage.
pub const MEASURES: [Measure; 7] = [
    measure_called("worst_usable_accuracy"),
    measure_called("accuracy_lost_with"),
    measure_called("usable_exponent_of_bits"),
    measure_called("usable_cost_over_gated"),
    measure_called("usability_by_whitening"),
    measure_called("capacity_by_whitening"),
    measure_called("usability_by_lipschitz"),
];

const fn measure_called(name: &'static str) -> Measure {
    Measure { name, stage: "ssfr", methods: METHODS, compute: measure }
}

/// Keys are always tied to values here: there is one reading.
fn measure(name: &str, method: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let rows = uses(table)?;
    let Some(dimension) = dimensions(&rows).last().copied().filter(|_| keys == "isotropic") else { return Ok(None) };
    let whole = |value: Option<f64>| value.map(|value| Measured { value, interval: None, dimension });
    let by_seed = |rows: &[Use], quantity: &dyn Fn(&[Use]) -> Option<f64>| {
        over_seeds(Scale::Signed, dimension, rows, |row| row.seed, quantity)
    };
    let whitened = best_over_rates(&rows, method);
    Ok(match name {
        "worst_usable_accuracy" => whole(worst_accuracy(&rows, method, dimension)),
        "accuracy_lost_with" => by_seed(&rows, &|rows| accuracy_lost(rows, method)),
        "usable_exponent_of_bits" => whole(exponent(&rows, method, dimension)),
        "usable_cost_over_gated" => whole(cost_over_gated(&rows, method, dimension)),
        "usability_by_whitening" => by_seed(&whitened, &|rows| within_kappa(rows, |row| row.usability)),
        "capacity_by_whitening" => by_seed(&whitened, &|rows| within_kappa(rows, |row| row.capacity)),
        "usability_by_lipschitz" => by_seed(&whitened, &|rows| {
            let points = rows.iter().filter_map(|row| Some((row.lipschitz?, row.usability?)));
            rank_correlation(&points.collect::<Vec<_>>())
        }),
        other => return Err(unknown("measure", other, MEASURES.map(|measure| measure.name))),
    })
}

/// The least over numbers of facts of the best fact-adaptive accuracy of any seed.
fn worst_accuracy(rows: &[Use], method: &str, dimension: i64) -> Option<f64> {
    searched(rows, method, dimension).iter().map(|point| point.fact_adaptive_accuracy).reduce(f64::min)
}

/// Fact-adaptive accuracy without the change minus that with it, for the same MLP.
fn accuracy_lost(rows: &[Use], change: &str) -> Option<f64> {
    let with = rows.iter().find(|row| row.change == change)?;
    let same = |row: &&Use| {
        let of = |row: &Use| (row.method.clone(), row.dimension, row.facts, row.size, row.kappa);
        row.change == "none" && of(row) == of(with)
    };
    Some(rows.iter().find(same)?.fact_adaptive_accuracy? - with.fact_adaptive_accuracy?)
}

/// The slope of log parameters on log(F·log F).
fn exponent(rows: &[Use], method: &str, dimension: i64) -> Option<f64> {
    let points = searched(rows, method, dimension).into_iter();
    let points = points.filter_map(|point| Some(((point.facts * point.facts.log2()).ln(), point.parameters?.ln())));
    fit_line(&points.collect::<Vec<_>>()).map(|line| line.slope)
}

/// The median over numbers of facts of the ratio of parameters to those of the gated MLP, where both are usable.
fn cost_over_gated(rows: &[Use], method: &str, dimension: i64) -> Option<f64> {
    let gated = searched(rows, GATED, dimension);
    let ratio = |facts: f64, parameters: Option<f64>| {
        Some(parameters? / gated.iter().find(|point| point.facts == facts)?.parameters?)
    };
    let points = searched(rows, method, dimension);
    let ratios: Vec<f64> = points.iter().filter_map(|point| ratio(point.facts, point.parameters)).collect();
    (!ratios.is_empty()).then(|| median(&ratios))
}

/// The mean of the rank correlation of a quantity with the whitening strength, over the condition numbers at which it varies.
fn within_kappa(rows: &[Use], quantity: fn(&Use) -> Option<f64>) -> Option<f64> {
    let mut kappas: Vec<f64> = rows.iter().map(|row| row.kappa).collect();
    kappas.sort_by(f64::total_cmp);
    kappas.dedup();
    let of = |kappa: f64| {
        let own = rows.iter().filter(|row| row.kappa == kappa);
        rank_correlation(&own.filter_map(|row| Some((row.alpha, quantity(row)?))).collect::<Vec<_>>())
    };
    let correlations: Vec<f64> = kappas.into_iter().filter_map(of).collect();
    (!correlations.is_empty()).then(|| mean(&correlations))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::ssfr_rows::tests::row;

    #[test]
    fn searches_are_compared_at_equal_numbers_of_facts() {
        let cost = |facts: i64, factor: f64| Some(factor * facts as f64 * (facts as f64).log2());
        let mut rows: Vec<Use> = [64, 128, 256].map(|facts| row(GATED, facts, 0, cost(facts, 1.0))).to_vec();
        rows.extend([128, 256].map(|facts| row("ntk", facts, 0, cost(facts, 3.0))));
        rows.push(row("ntk", 64, 0, None));
        assert!((exponent(&rows, GATED, 64).unwrap() - 1.0).abs() < 1e-9);
        assert!((cost_over_gated(&rows, "ntk", 64).unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(worst_accuracy(&rows, "ntk", 64), Some(0.9));
    }

    #[test]
    fn what_a_change_costs_is_measured_on_the_same_mlp() {
        let of = |change: &str, size: i64, accuracy: f64| Use {
            change: change.to_owned(),
            size,
            fact_adaptive_accuracy: Some(accuracy),
            ..row(GATED, 64, 0, None)
        };
        let rows = [of("none", 9, 0.2), of("none", 24, 0.99), of("residuals", 24, 0.4)];
        assert!((accuracy_lost(&rows, "residuals").unwrap() - 0.59).abs() < 1e-12);
        assert_eq!(accuracy_lost(&rows, "trained_norm"), None);
    }

    #[test]
    fn whitening_is_correlated_within_one_condition_number() {
        let of = |kappa: f64, alpha: f64, usability: f64| Use {
            kappa,
            alpha,
            usability: Some(usability),
            ..row(GATED, 64, 0, None)
        };
        let low = [of(10.0, 0.0, 0.9), of(10.0, 0.5, 0.7), of(10.0, 1.0, 0.6)];
        let high = [of(100.0, 0.0, 0.4), of(100.0, 0.5, 0.3), of(100.0, 1.0, 0.2)];
        let rows = [low, high].concat();
        assert!((within_kappa(&rows, |row| row.usability).unwrap() + 1.0).abs() < 1e-12);
        assert_eq!(within_kappa(&rows, |row| row.capacity), None, "a constant capacity is correlated with nothing");
    }
}
