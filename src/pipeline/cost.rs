//! How long a cell will take, and how sure that is: the experiment's own law, corrected by what its cells took before.
//!
//! Each recorded timing says by what factor the law was off for one cell. It counts for another cell by how like the two
//! are: `min(a, b) / max(a, b)` of what the law gives for them, and a hundredth for each text parameter (a method, say)
//! in which they differ. So the large cells of the same method decide about a larger one, and tiny cells hardly at all.
//! The factor is the median of the timings weighed so; the error is their spread, and grows with the distance of the
//! nearest one.

use std::collections::HashMap;
use std::iter::Sum;

use super::experiment::{Experiment, Params};
use super::store::Store;

/// More timings than this sharpen no prediction.
const MOST_TIMINGS: usize = 999;
/// What a timing counts for, per text parameter in which the cells differ.
const OTHER_TEXT: f64 = 0.01;
/// How far off the exponents of a law may be: error of the logarithm, per logarithm of the distance.
const ERROR_OF_EXPONENT: f64 = 0.1;
/// Error of the logarithm of a law without any timing: it was written for another machine.
const ERROR_OF_LAW: f64 = 1.15;
/// Before many timings say better, cells of one kind differ from the law by about this much (in logarithm)...
const USUAL_SPREAD: f64 = 0.4;
/// ...which counts like so many timings.
const WORTH_OF_USUAL: f64 = 2.0;
/// Cells whose laws differ by less than a step (in logarithm) share a correction.
const STEP: f64 = 0.25;

/// A predicted number of seconds with its error. Sums of predictions are predictions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Prediction {
    pub seconds: f64,
    /// Standard error that cells have in common (the law, the machine), in seconds.
    shared: f64,
    /// Variance of what is each cell's own, in seconds squared.
    own: f64,
}

impl Prediction {
    /// A time that is known.
    pub fn exactly(seconds: f64) -> Self {
        Self { seconds, shared: 0.0, own: 0.0 }
    }

    /// The factor by which the time may be shorter or longer, at two standard errors.
    pub fn factor(&self) -> f64 {
        if self.seconds > 0.0 { (2.0 * (self.shared.powi(2) + self.own).sqrt() / self.seconds).exp() } else { 1.0 }
    }
}

impl Sum for Prediction {
    fn sum<I: Iterator<Item = Self>>(predictions: I) -> Self {
        predictions.fold(Self::default(), |all, one| Self {
            seconds: all.seconds + one.seconds,
            shared: all.shared + one.shared,
            own: all.own + one.own,
        })
    }
}

/// Predicts the seconds of cells of one experiment.
pub struct Predictor<'a> {
    experiment: &'a dyn Experiment,
    /// Sorted by `log_factor`.
    timings: Vec<Timing>,
    corrections: HashMap<(Vec<String>, i64), Correction>,
}

/// By what factor the law was off for one stored cell, as a logarithm.
struct Timing {
    log_factor: f64,
    log_law: f64,
    texts: Vec<String>,
}

/// What the timings say about cells of one kind and size, as logarithms.
#[derive(Debug, Clone, Copy)]
struct Correction {
    factor: f64,
    shared: f64,
    own: f64,
}

impl<'a> Predictor<'a> {
    /// Learns from the stored cells of the current version; from those of another one when there are none.
    pub fn new(experiment: &'a dyn Experiment, store: &Store) -> Self {
        let mut recorded = store.timings(experiment.name(), experiment.version());
        if recorded.is_empty() {
            let newest = store.cells_of(experiment.name()).iter().map(|cell| cell.version).max();
            recorded = newest.map_or(recorded, |version| store.timings(experiment.name(), version));
        }
        let step = recorded.len().div_ceil(MOST_TIMINGS).max(1);
        let timing = |(params, wall_s): &(&str, f64)| Timing::new(experiment, params, *wall_s);
        let mut timings: Vec<Timing> = recorded.iter().step_by(step).filter_map(timing).collect();
        timings.sort_by(|a, b| a.log_factor.total_cmp(&b.log_factor));
        Self { experiment, timings, corrections: HashMap::new() }
    }

    /// Predicted time on one core.
    pub fn predict(&mut self, params: &Params) -> Prediction {
        let law = law(self.experiment, params);
        let (texts, size) = (texts(params), (law.ln() / STEP).round());
        let timings = &self.timings;
        let correction = *self
            .corrections
            .entry((texts, size as i64))
            .or_insert_with_key(|(texts, _)| correction(timings, size * STEP, texts));
        let seconds = law * correction.factor.exp();
        Prediction { seconds, shared: seconds * correction.shared, own: (seconds * correction.own).powi(2) }
    }
}

impl Timing {
    /// `None` for a time that says nothing.
    fn new(experiment: &dyn Experiment, params: &str, wall_s: f64) -> Option<Self> {
        let params: Params = serde_json::from_str(params).ok()?;
        let log_law = law(experiment, &params).ln();
        let log_factor = wall_s.ln() - log_law;
        log_factor.is_finite().then(|| Self { log_factor, log_law, texts: texts(&params) })
    }

    /// How unlike this timing is to cells of a kind and size; a timing counts for `exp(-distance)`.
    fn distance(&self, log_law: f64, texts: &[String]) -> f64 {
        let differing = self.texts.iter().zip(texts).filter(|(own, other)| own != other).count();
        (self.log_law - log_law).abs() - OTHER_TEXT.ln() * differing as f64
    }
}

/// The values of text parameters, in the order of the names.
fn texts(params: &Params) -> Vec<String> {
    let mut named: Vec<(&String, &str)> =
        params.iter().filter_map(|(name, value)| value.as_str().map(|text| (name, text))).collect();
    named.sort();
    named.into_iter().map(|(_, text)| text.to_owned()).collect()
}

fn correction(timings: &[Timing], log_law: f64, texts: &[String]) -> Correction {
    let distances: Vec<f64> = timings.iter().map(|timing| timing.distance(log_law, texts)).collect();
    let Some(nearest) = distances.iter().copied().min_by(f64::total_cmp) else {
        return Correction { factor: 0.0, shared: ERROR_OF_LAW, own: USUAL_SPREAD };
    };
    // Only ratios of weights matter; the nearest gets 1, so that none underflows that counts.
    let weights: Vec<f64> = distances.iter().map(|distance| (nearest - distance).exp()).collect();
    let factor = quantile(0.5, timings.iter().map(|timing| timing.log_factor).zip(weights.iter().copied()));
    let mut deviations: Vec<(f64, f64)> =
        timings.iter().zip(&weights).map(|(timing, weight)| ((timing.log_factor - factor).abs(), *weight)).collect();
    deviations.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Two thirds of all deviations are within one standard deviation; a third may be wild without any harm.
    let spread = quantile(0.68, deviations.into_iter());
    let total: f64 = weights.iter().sum();
    let effective = total * total / weights.iter().map(|weight| weight * weight).sum::<f64>();
    let variance = (effective * spread.powi(2) + WORTH_OF_USUAL * USUAL_SPREAD.powi(2)) / (effective + WORTH_OF_USUAL);
    let extrapolation = ERROR_OF_EXPONENT * nearest;
    Correction {
        factor,
        shared: (variance / effective + extrapolation.powi(2)).sqrt().min(ERROR_OF_LAW),
        own: variance.sqrt(),
    }
}

/// The experiment's cost; a law that yields nothing usable counts as one second.
fn law(experiment: &dyn Experiment, params: &Params) -> f64 {
    let cost = experiment.cost(params);
    if cost.is_finite() && cost > 0.0 { cost } else { 1.0 }
}

/// The value at which this share of the weight is passed; the values are sorted.
fn quantile(share: f64, sorted: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let enough = share * sorted.clone().map(|(_, weight)| weight).sum::<f64>();
    let mut passed = 0.0;
    let mut last = 0.0;
    for (value, weight) in sorted {
        passed += weight;
        last = value;
        if passed >= enough {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::table::Record;

    /// Its law is `size`, whatever the `method`.
    struct Sized;

    impl Experiment for Sized {
        fn name(&self) -> &'static str {
            "sized"
        }

        fn version(&self) -> u32 {
            1
        }

        fn fields(&self) -> &'static [&'static str] {
            &["size", "method"]
        }

        fn canonical(&self, _: &toml::Table) -> Result<Params> {
            Ok(Params::new())
        }

        fn cost(&self, params: &Params) -> f64 {
            params["size"].as_f64().unwrap_or(0.0)
        }

        fn memory(&self, _: &Params) -> f64 {
            0.0
        }

        fn run(&self, _: &Params, _: u64) -> Result<Vec<Record>> {
            Ok(Vec::new())
        }
    }

    fn params(size: f64, method: &str) -> Params {
        serde_json::from_value(serde_json::json!({ "size": size, "method": method })).unwrap()
    }

    /// After cells of these sizes and methods took so many times what the law says.
    fn predictor(timings: &[(f64, &str, f64)]) -> Predictor<'static> {
        let timing = |(size, method, factor): &(f64, &str, f64)| {
            Timing::new(&Sized, &serde_json::to_string(&params(*size, method)).unwrap(), size * factor).unwrap()
        };
        let mut timings: Vec<Timing> = timings.iter().map(timing).collect();
        timings.sort_by(|a, b| a.log_factor.total_cmp(&b.log_factor));
        Predictor { experiment: &Sized, timings, corrections: HashMap::new() }
    }

    fn predict(timings: &[(f64, &str, f64)], size: f64, method: &str) -> Prediction {
        predictor(timings).predict(&params(size, method))
    }

    #[test]
    fn without_timings_the_law_stands_within_a_factor_of_ten() {
        let predicted = predict(&[], 20.0, "a");
        assert!((predicted.seconds - 20.0).abs() < 1e-9);
        assert!((10.0..12.0).contains(&predicted.factor()), "{}", predicted.factor());
    }

    #[test]
    fn large_cells_decide_about_large_ones_whatever_many_tiny_cells_took() {
        let mut timings = vec![(1e-3, "a", 50.0); 40];
        timings.extend([(10.0, "a", 1.9), (12.0, "a", 2.0), (14.0, "a", 2.1)]);
        assert!((predict(&timings, 100.0, "a").seconds - 200.0).abs() < 11.0);
        assert!((predict(&timings, 1e-3, "a").seconds - 0.05).abs() < 1e-3);
    }

    #[test]
    fn the_same_method_decides_and_another_one_only_without_it() {
        let timings = [(1.0, "a", 3.0), (1.1, "a", 3.0), (8.0, "b", 0.5), (9.0, "b", 0.5)];
        assert!((predict(&timings, 8.0, "a").seconds - 24.0).abs() < 1e-9);
        assert!((predict(&timings, 8.0, "b").seconds - 4.0).abs() < 1e-9);
        let unknown = predict(&timings, 8.0, "c");
        assert!((unknown.seconds - 4.0).abs() < 1e-9);
        assert!(unknown.factor() > 1.5 * predict(&timings, 8.0, "b").factor());
    }

    #[test]
    fn one_wild_timing_moves_nothing() {
        let calm: Vec<(f64, &str, f64)> = (0..9).map(|number| (1.0 + 0.01 * f64::from(number), "a", 2.0)).collect();
        let mut with_outlier = calm.clone();
        with_outlier.push((1.05, "a", 1e4));
        assert!((predict(&with_outlier, 1.0, "a").seconds - predict(&calm, 1.0, "a").seconds).abs() < 1e-9);
    }

    #[test]
    fn the_error_shrinks_with_timings_and_grows_with_spread_and_distance() {
        let same = |count: usize| vec![(1.0, "a", 2.0); count];
        let factor = |timings: &[(f64, &str, f64)], size| predict(timings, size, "a").factor();
        assert!(factor(&same(2), 1.0) > factor(&same(20), 1.0));
        let mut spread = same(10);
        spread.extend(vec![(1.0, "a", 6.0); 10]);
        assert!(factor(&spread, 1.0) > factor(&same(20), 1.0));
        assert!(factor(&same(20), 1e3) > 2.0 * factor(&same(20), 1.0));
        assert!(factor(&same(20), 1e-3) > 2.0 * factor(&same(20), 1.0));
    }

    #[test]
    fn what_is_each_cells_own_averages_out_and_what_they_share_does_not() {
        let mut predictor = predictor(&vec![(1.0, "a", 2.0); 20]);
        let one = predictor.predict(&params(1.0, "a"));
        let many: Prediction = std::iter::repeat_n(one, 100).sum();
        assert!((many.seconds - 100.0 * one.seconds).abs() < 1e-9);
        assert!(many.factor() < one.factor() && many.factor() > (2.0 * one.shared / one.seconds).exp());
        assert!((Prediction::exactly(3.0).factor() - 1.0).abs() < 1e-12);
        assert!((Prediction::default().factor() - 1.0).abs() < 1e-12);
    }
}
