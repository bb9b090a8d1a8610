//! What claims of section 5.4 are about: facts in a language model, and edits of them.

use super::{Measure, Measured, Scale, over_seeds};
use crate::error::{Result, unknown};
use crate::num::statistics::{fit_line, mean};
use crate::paper::language_rows::{Choice, EditRow, Recall, edits, fact_numbers, recalls, score, seeds, smallest};
use crate::table::Table;

/// The measures of these stages.
pub const MEASURES: [Measure; 8] = [
    of_models("worst_usable_recall"),
    of_models("recall_exponent_of_bits"),
    of_models("worst_fact_adaptive_recall"),
    of_models("swap_cross_entropy_ratio"),
    of_edits("swap_score_over_best_edit"),
    of_edits("swap_lead_at_few_edits"),
    of_edits("swap_loss_with_many_edits"),
    of_edits("swap_perplexity_ratio"),
];

const fn of_models(name: &'static str) -> Measure {
    Measure { name, stage: "language", methods: &["regression"], compute: models }
}

const fn of_edits(name: &'static str) -> Measure {
    Measure { name, stage: "editing", methods: &["oracle", "oracle_geometric", "held_out"], compute: edited }
}

fn models(name: &str, _method: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let rows = recalls(table)?;
    let Some(dimension) = rows.iter().map(|row| row.dimension).max().filter(|_| keys == "isotropic") else {
        return Ok(None);
    };
    let whole = |value: Option<f64>| value.map(|value| Measured { value, interval: None, dimension });
    let best: Option<Vec<&Recall>> = fact_numbers(&rows).into_iter().map(|facts| smallest(&rows, facts)).collect();
    Ok(whole(match name {
        "worst_usable_recall" => worst_best(&rows, |row| if row.is_usable() { row.recall } else { 0.0 }),
        "recall_exponent_of_bits" => best.and_then(|best| exponent(&best)),
        "worst_fact_adaptive_recall" => worst_best(&rows, |row| row.fact_adaptive_recall),
        "swap_cross_entropy_ratio" => best.map(|best| cross_entropy_ratio(&rows, &best)),
        other => return Err(unknown("measure", other, MEASURES.map(|measure| measure.name))),
    }))
}

/// The mean over numbers of facts of the ratio of the smallest usable models: at each, the mean of its usable seeds.
fn cross_entropy_ratio(rows: &[Recall], best: &[&Recall]) -> f64 {
    let at = |smallest: &&Recall| {
        let own = rows.iter().filter(|row| (row.facts, row.parameters) == (smallest.facts, smallest.parameters));
        let ratios = own.filter(|row| row.is_usable()).map(|row| row.cross_entropy_after / row.cross_entropy_before);
        mean(&ratios.collect::<Vec<_>>())
    };
    mean(&best.iter().map(at).collect::<Vec<_>>())
}

/// The least over numbers of facts of the best of any size and seed.
fn worst_best(rows: &[Recall], recall: fn(&Recall) -> f64) -> Option<f64> {
    let best = |facts: i64| rows.iter().filter(|row| row.facts == facts).map(recall).fold(0.0, f64::max);
    fact_numbers(rows).into_iter().map(best).reduce(f64::min)
}

/// The slope of log parameters on log(F·log F).
fn exponent(best: &[&Recall]) -> Option<f64> {
    let point = |row: &&Recall| ((row.facts as f64 * (row.facts as f64).log2()).ln(), row.parameters.ln());
    fit_line(&best.iter().map(point).collect::<Vec<_>>()).map(|line| line.slope)
}

fn edited(name: &str, method: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let rows = edits(table)?;
    let Some(dimension) = rows.iter().map(|row| row.dimension).max().filter(|_| keys == "isotropic") else {
        return Ok(None);
    };
    let choice = match method {
        "oracle" => Choice::Oracle,
        "oracle_geometric" => Choice::OracleGeometric,
        _ => Choice::HeldOut,
    };
    let by_seed = |scale, quantity: &dyn Fn(&[EditRow]) -> Option<f64>| {
        over_seeds(scale, dimension, &rows, |row| row.seed, quantity)
    };
    Ok(match name {
        "swap_score_over_best_edit" => by_seed(Scale::Ratio, &|rows| {
            let (swap, best) = (at(rows, 10.0, choice, true)?, at(rows, 10.0, choice, false)?);
            (best > 0.0).then(|| swap / best)
        }),
        "swap_lead_at_few_edits" => by_seed(Scale::Plain, &|rows| least_lead(rows, choice)),
        "swap_loss_with_many_edits" => by_seed(Scale::Plain, &|rows| spread(rows, choice)),
        "swap_perplexity_ratio" => by_seed(Scale::Ratio, &largest_perplexity_ratio),
        other => return Err(unknown("measure", other, MEASURES.map(|measure| measure.name))),
    })
}

/// The shares of facts altered that both papers try, in percent.
const FEW: [f64; 3] = [2.0, 5.0, 10.0];

/// The least lead of the swap over the best weight update at few edits; `None` where a share is missing.
fn least_lead(rows: &[EditRow], choice: Choice) -> Option<f64> {
    let lead = |percent| Some(at(rows, percent, choice, true)? - at(rows, percent, choice, false)?);
    FEW.into_iter().map(lead).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::min)
}

/// The largest score of the swap at few edits minus the smallest.
fn spread(rows: &[EditRow], choice: Choice) -> Option<f64> {
    let scores: Vec<f64> = FEW.into_iter().map(|percent| at(rows, percent, choice, true)).collect::<Option<_>>()?;
    Some(scores.iter().copied().reduce(f64::max)? - scores.into_iter().reduce(f64::min)?)
}

/// The largest perplexity ratio of the swap at few edits.
fn largest_perplexity_ratio(rows: &[EditRow]) -> Option<f64> {
    let of = |percent: f64| {
        let own = rows.iter().filter(|row| row.kind == "swap" && row.percent == percent);
        own.filter_map(|row| row.perplexity_ratio).next()
    };
    FEW.into_iter().map(of).collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// The weight updates of the paper.
const WEIGHT_UPDATES: [&str; 3] = ["memit", "alpha_edit", "rome"];

/// The score of the swap, or the best of the weight updates, of the one seed in the rows.
fn at(rows: &[EditRow], percent: f64, choice: Choice, swap: bool) -> Option<f64> {
    let seed = *seeds(rows, percent).first()?;
    let of = |kind: &str| score(rows, kind, percent, seed, choice);
    if swap { of("swap") } else { WEIGHT_UPDATES.into_iter().filter_map(of).reduce(f64::max) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(facts: i64, parameters: f64, recall: f64) -> Recall {
        Recall {
            dimension: 64,
            facts,
            seed: 0,
            parameters,
            recall,
            fact_adaptive_recall: recall,
            cross_entropy_before: 2.0,
            cross_entropy_after: 2.2,
        }
    }

    #[test]
    fn the_smallest_usable_models_are_fitted() {
        let cost = |facts: i64| facts as f64 * (facts as f64).log2();
        let rows = [
            model(64, cost(64), 0.995),
            model(64, 2.0 * cost(64), 1.0),
            model(64, 0.5 * cost(64), 0.8),
            model(128, cost(128), 0.999),
            model(256, cost(256), 0.992),
        ];
        let best: Vec<&Recall> = [64, 128, 256].iter().filter_map(|facts| smallest(&rows, *facts)).collect();
        assert!((exponent(&best).unwrap() - 1.0).abs() < 1e-9);
        assert_eq!(worst_best(&rows, |row| row.recall), Some(0.992));
        assert!((cross_entropy_ratio(&rows, &best) - 1.1).abs() < 1e-12);
    }

    #[test]
    fn swapping_is_compared_with_the_best_weight_update_of_the_same_choice() {
        let row = |kind: &str, harmonic: f64, reporting: f64, best_harmonic: bool, chosen: bool| EditRow {
            dimension: 64,
            kind: kind.to_owned(),
            percent: 10.0,
            seed: 3,
            harmonic,
            geometric: 0.0,
            reporting,
            best_harmonic,
            best_geometric: false,
            chosen,
            perplexity_ratio: None,
        };
        let rows = [
            row("swap", 0.9, 0.8, true, true),
            row("memit", 0.45, 0.1, true, false),
            row("memit", 0.4, 0.2, false, true),
            row("rome", 0.3, 0.05, true, true),
            row("fine_tuning", 0.95, 0.95, true, true),
        ];
        assert_eq!(at(&rows, 10.0, Choice::Oracle, true), Some(0.9));
        assert_eq!(at(&rows, 10.0, Choice::Oracle, false), Some(0.45), "fine-tuning is not among the paper's");
        assert_eq!(at(&rows, 10.0, Choice::HeldOut, false), Some(0.2));
    }
    #[test]
    fn few_edits_are_all_three_shares_or_none() {
        let row = |kind: &str, percent: f64, harmonic: f64, ratio: f64| EditRow {
            dimension: 64,
            kind: kind.to_owned(),
            percent,
            seed: 0,
            harmonic,
            geometric: 0.0,
            reporting: 0.0,
            best_harmonic: true,
            best_geometric: false,
            chosen: false,
            perplexity_ratio: Some(ratio),
        };
        let rows = [
            row("swap", 2.0, 0.99, 1.1),
            row("memit", 2.0, 0.98, 9.0),
            row("swap", 5.0, 0.97, 1.4),
            row("rome", 5.0, 0.9, 1.0),
            row("swap", 10.0, 0.98, 1.2),
            row("memit", 10.0, 0.5, 1.0),
        ];
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() - wanted).abs() < 1e-12;
        assert!(near(least_lead(&rows, Choice::Oracle), 0.01));
        assert!(near(spread(&rows, Choice::Oracle), 0.02));
        assert_eq!(largest_perplexity_ratio(&rows), Some(1.4));
        assert_eq!(least_lead(&rows[..4], Choice::Oracle), None);
        assert_eq!((spread(&rows[..4], Choice::Oracle), largest_perplexity_ratio(&rows[..4])), (None, None));
    }
}
