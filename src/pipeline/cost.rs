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
const USUAL_SPREAD: f64 = 0.3;
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
    let factor = weighted_median(timings.iter().map(|timing| timing.log_factor).zip(weights.iter().copied()));
    let mut deviations: Vec<(f64, f64)> =
        timings.iter().zip(&weights).map(|(timing, weight)| ((timing.log_factor - factor).abs(), *weight)).collect();
    deviations.sort_by(|a, b| a.0.total_cmp(&b.0));
    // 1.4826 makes the median of the deviations a standard deviation.
    let spread = 1.4826 * weighted_median(deviations.into_iter());
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

/// The value at which half of the weight is passed; the values are sorted.
fn weighted_median(sorted: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let half = 0.5 * sorted.clone().map(|(_, weight)| weight).sum::<f64>();
    let mut passed = 0.0;
    let mut last = 0.0;
    for (value, weight) in sorted {
        passed += weight;
        last = value;
        if passed >= half {
            break;
        }
    }
    last
}
