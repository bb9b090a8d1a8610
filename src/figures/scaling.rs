//! What the figures of construction scaling share: curves of parameters against facts, and the information bound.

use super::{Axis, Colour, Line, Marker, Series, nothing_to_draw};
use crate::error::Result;
use crate::paper::construction_rows::{Construction, OverSeeds, curve};

/// A method as a figure shows it.
pub struct Shown {
    pub method: &'static str,
    pub label: &'static str,
    pub colour: Colour,
}

/// The axes that hold all searches of `methods`.
pub fn axes(rows: &[Construction], methods: &[&str]) -> Result<(Axis, Axis)> {
    let own = || rows.iter().filter(|row| methods.contains(&row.method.as_str()));
    let x = Axis::logarithmic_around("facts F", own().map(|row| row.facts as f64));
    let smallest_bound = own().map(|row| bound_at(row.facts as f64, 32.0)).fold(f64::INFINITY, f64::min);
    let found = own().filter_map(|row| row.parameters);
    let y = Axis::logarithmic_around("MLP parameters", found.chain([smallest_bound]));
    let (Some(x), Some(y)) = (x, y) else { return Err(nothing_to_draw("no search found a size")) };
    // Room above for the crosses of searches without a size.
    let y = Axis { high: 2.5 * y.high, ..y };
    Ok((x, y))
}

/// The curve of a method in one dimension, and crosses at the top where a seed found no size.
pub fn method_series(rows: &[Construction], shown: &Shown, dimension: i64, y: &Axis) -> Vec<Series> {
    let points = curve(rows, shown.method, dimension);
    let found = |point: &OverSeeds| Some((point.facts, point.parameters?));
    let failed = points.iter().filter(|point| point.parameters.is_none());
    vec![
        Series {
            label: shown.label.to_owned(),
            colour: shown.colour,
            marker: Marker::Disc,
            line: Line::Solid,
            points: points.iter().filter_map(found).collect(),
        },
        Series {
            label: format!("{}: a seed for which\nno searched size stores all", shown.label.replace('\n', " ")),
            colour: shown.colour,
            marker: Marker::Cross,
            line: Line::None,
            points: failed.map(|point| (point.facts, y.high / 1.3)).collect(),
        },
    ]
}

/// Parameters that hold `F·log₂F` bits.
fn bound_at(facts: f64, bits_per_parameter: f64) -> f64 {
    facts * facts.log2() / bits_per_parameter
}

/// The information bound at 4 and at 32 bits a parameter, over the range of `x`.
pub fn bounds(x: &Axis) -> Vec<Series> {
    let line = |bits: f64, line| Series {
        label: format!("F·log₂F bits at {bits} bits\na parameter"),
        colour: Colour::Grey,
        marker: Marker::None,
        line,
        points: (0..=24)
            .map(|step| x.low * (x.high / x.low).powf(f64::from(step) / 24.0))
            .filter(|facts| *facts >= 2.0)
            .map(|facts| (facts, bound_at(facts, bits)))
            .collect(),
    };
    vec![line(4.0, Line::Solid), line(32.0, Line::Dashed)]
}
