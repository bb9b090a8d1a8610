//! What the figures of fact-storage cost share.

use super::{Axis, Colour, Line, Marker, Series};
use crate::num::statistics::Line as Fit;
use crate::paper::costs::Cost;

/// The fitted power law as a line over the range of `x`.
pub fn fit_series(fit: &Fit, colour: Colour, low: f64, high: f64) -> Series {
    let value = |x: f64| (x, (fit.slope * x.ln() + fit.intercept).exp());
    Series {
        label: String::new(),
        colour,
        marker: Marker::None,
        line: Line::Solid,
        points: vec![value(low), value(high)],
    }
}

/// Points `(x, parameters)` of the rows that found a size.
pub fn points<'a>(costs: impl Iterator<Item = &'a Cost>, x: fn(&Cost) -> f64) -> Vec<(f64, f64)> {
    costs.filter_map(|cost| Some((x(cost), cost.parameters?))).collect()
}

/// An axis of MLP parameters that holds all rows.
pub fn parameter_axis(costs: &[Cost]) -> Option<Axis> {
    Axis::logarithmic_around("MLP parameters", costs.iter().filter_map(|cost| cost.parameters))
}
