//! How long a cell will take: the experiment's own law, scaled by what its cells took before.

use super::experiment::{Experiment, Params};
use super::store::Store;

/// More timings than this sharpen no prediction.
const MOST_TIMINGS: usize = 999;

/// Predicts the seconds of cells of one experiment.
pub struct Predictor<'a> {
    experiment: &'a dyn Experiment,
    factor: f64,
}

impl<'a> Predictor<'a> {
    /// Calibrated by the stored cells of the current version; without any, the experiment's law is taken as it is.
    pub fn new(experiment: &'a dyn Experiment, store: &Store) -> Self {
        let timings = store.timings(experiment.name(), experiment.version());
        let step = timings.len().div_ceil(MOST_TIMINGS).max(1);
        let ratios = timings.iter().step_by(step).filter_map(|(params, wall_s)| {
            let params: Params = serde_json::from_str(params).ok()?;
            Some(wall_s / law(experiment, &params))
        });
        Self { experiment, factor: median(ratios.collect()).unwrap_or(1.0) }
    }

    /// Predicted seconds on one core.
    pub fn seconds(&self, params: &Params) -> f64 {
        self.factor * law(self.experiment, params)
    }
}

/// The experiment's cost; a law that yields nothing usable counts as one second.
fn law(experiment: &dyn Experiment, params: &Params) -> f64 {
    let cost = experiment.cost(params);
    if cost.is_finite() && cost > 0.0 { cost } else { 1.0 }
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.retain(|number| number.is_finite());
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    match numbers.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(numbers[middle]),
        _ => Some(f64::midpoint(numbers[middle - 1], numbers[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_ignores_what_is_not_a_number() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![f64::NAN]), None);
        assert_eq!(median(vec![3.0, 1.0, f64::INFINITY, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
