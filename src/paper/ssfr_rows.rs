//! The rows of the stage `ssfr`, as figures and claims read them.

use crate::error::Result;
use crate::num::statistics::distinct;
use crate::table::{Row, Table};

/// One transformer, or one search.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    pub method: String,
    pub dimension: i64,
    pub facts: i64,
    /// 0: the smallest usable size was searched.
    pub size: i64,
    pub kappa: f64,
    pub alpha: f64,
    pub change: String,
    pub seed: i64,
    pub usable: bool,
    /// Of the smallest usable MLP, or of the one used best.
    pub parameters: Option<f64>,
    pub capacity: Option<f64>,
    pub fact_adaptive_accuracy: Option<f64>,
    pub usability: Option<f64>,
    pub lipschitz: Option<f64>,
}

/// Reads the rows of the stage `ssfr`.
pub fn uses(table: &Table) -> Result<Vec<Use>> {
    table.rows().map(|row| one(row)).collect()
}

fn one(row: Row) -> Result<Use> {
    Ok(Use {
        method: row.text("method")?.unwrap_or_default(),
        dimension: row.int("dimension")?.unwrap_or_default(),
        facts: row.int("facts")?.unwrap_or_default(),
        size: row.int("size")?.unwrap_or_default(),
        kappa: row.float("kappa")?.unwrap_or(f64::NAN),
        alpha: row.float("alpha")?.unwrap_or(f64::NAN),
        change: row.text("change")?.unwrap_or_default(),
        seed: row.int("seed")?.unwrap_or_default(),
        usable: row.truth("usable")?.unwrap_or_default(),
        parameters: row.int("parameters")?.map(|parameters| parameters as f64),
        capacity: row.float("capacity")?,
        fact_adaptive_accuracy: row.float("fact_adaptive_accuracy")?,
        usability: row.float("usability")?,
        lipschitz: row.float("lipschitz")?,
    })
}

/// Searches of one method and number of facts, put together as the paper does: an MLP is usable when one seed can use it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Searched {
    pub facts: f64,
    /// Parameters of the smallest usable MLP; `None` when no seed found one.
    pub parameters: Option<f64>,
    /// The best of the seeds.
    pub fact_adaptive_accuracy: f64,
}

/// The searches of a method in one dimension, by number of facts.
pub fn searched(rows: &[Use], method: &str, dimension: i64) -> Vec<Searched> {
    let own = || rows.iter().filter(|row| row.size == 0 && row.method == method && row.dimension == dimension);
    let facts = distinct(own().map(|row| row.facts));
    let together = |facts: i64| {
        let seeds = || own().filter(|row| row.facts == facts);
        Searched {
            facts: facts as f64,
            parameters: seeds().filter(|row| row.usable).filter_map(|row| row.parameters).reduce(f64::min),
            fact_adaptive_accuracy: seeds().filter_map(|row| row.fact_adaptive_accuracy).fold(0.0, f64::max),
        }
    };
    facts.into_iter().map(together).collect()
}

/// The dimensions of all searches, ascending.
pub fn dimensions(rows: &[Use]) -> Vec<i64> {
    distinct(rows.iter().filter(|row| row.size == 0).map(|row| row.dimension))
}

/// Of the learning rates of a conditioned and whitened setting, the transformer with the largest fact-adaptive accuracy
/// (A.2.4), for every seed.
pub fn best_over_rates(rows: &[Use], method: &str) -> Vec<Use> {
    let own = rows.iter().filter(|row| row.method == method && row.size > 0 && row.kappa > 1.0);
    best_of_each(own, |row| (row.kappa.to_bits(), row.alpha.to_bits(), row.seed, row.facts))
}

/// The best seed of every condition number and whitening strength.
pub fn best_over_seeds(rows: &[Use]) -> Vec<Use> {
    best_of_each(rows.iter(), |row| (row.kappa.to_bits(), row.alpha.to_bits()))
}

/// Of the rows with one setting the first with the largest fact-adaptive accuracy, settings in order of appearance.
fn best_of_each<'a, S: PartialEq>(rows: impl Iterator<Item = &'a Use>, setting: impl Fn(&Use) -> S) -> Vec<Use> {
    let mut best: Vec<Use> = Vec::new();
    for row in rows {
        match best.iter_mut().find(|other| setting(other) == setting(row)) {
            Some(other) if row.fact_adaptive_accuracy > other.fact_adaptive_accuracy => *other = row.clone(),
            Some(_) => {}
            None => best.push(row.clone()),
        }
    }
    best
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn row(method: &str, facts: i64, seed: i64, parameters: Option<f64>) -> Use {
        Use {
            method: method.to_owned(),
            dimension: 64,
            facts,
            size: 0,
            kappa: 1.0,
            alpha: 0.0,
            change: "none".to_owned(),
            seed,
            usable: parameters.is_some(),
            parameters: parameters.or(Some(9e9)),
            capacity: Some(1.0),
            fact_adaptive_accuracy: Some(if parameters.is_some() { 0.995 } else { 0.9 }),
            usability: Some(0.995),
            lipschitz: Some(10.0),
        }
    }

    #[test]
    fn one_seed_that_can_use_an_mlp_is_enough() {
        let rows =
            [row("a", 64, 0, None), row("a", 64, 1, Some(300.0)), row("a", 64, 2, Some(200.0)), row("a", 128, 0, None)];
        let found = searched(&rows, "a", 64);
        assert_eq!((found[0].parameters, found[0].fact_adaptive_accuracy), (Some(200.0), 0.995));
        assert_eq!((found[1].facts, found[1].parameters), (128.0, None));
    }

    #[test]
    fn the_best_learning_rate_counts() {
        let conditioned = |accuracy: f64, alpha: f64, seed: i64| Use {
            size: 8,
            kappa: 10.0,
            alpha,
            fact_adaptive_accuracy: Some(accuracy),
            ..row("a", 64, seed, Some(1.0))
        };
        let rows =
            [conditioned(0.5, 0.0, 0), conditioned(0.9, 0.0, 0), conditioned(0.2, 1.0, 0), conditioned(0.3, 0.0, 1)];
        let best: Vec<Option<f64>> = best_over_rates(&rows, "a").iter().map(|row| row.fact_adaptive_accuracy).collect();
        assert_eq!(best, [Some(0.9), Some(0.2), Some(0.3)]);
    }
}
