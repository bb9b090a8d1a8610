//! What the figures of construction scaling share: curves of parameters against facts, and the information bound.

use super::{Axis, Colour, Line, Marker, Series, nothing_to_draw};
use crate::error::Result;
use crate::paper::construction_rows::{Construction, curve};

/// A method as a figure shows it.
pub struct Shown<'a> {
    pub method: &'a str,
    pub label: &'a str,
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

/// The curve of a method in one dimension, the median over seeds, and crosses where a seed found no size.
pub fn method_series(rows: &[Construction], shown: &Shown, dimension: i64, y: &Axis) -> Vec<Series> {
    let points = curve(rows, shown.method, dimension).into_iter().map(|point| (point.facts, point.parameters));
    let none = format!("{}: a seed for which\nno searched size stores all", shown.label);
    curve_series(&points.collect::<Vec<_>>(), (shown.label, &none), shown.colour, y)
}

/// Sizes against facts as a curve, and crosses at the top where there is none. `labels`: of the curve, and of the crosses.
pub fn curve_series(points: &[(f64, Option<f64>)], labels: (&str, &str), colour: Colour, y: &Axis) -> Vec<Series> {
    let of = |label: &str, marker, line, points| Series { label: label.to_owned(), colour, marker, line, points };
    let found = points.iter().filter_map(|(facts, size)| Some((*facts, (*size)?)));
    let failed = points.iter().filter(|(_, size)| size.is_none()).map(|(facts, _)| (*facts, y.high / 1.3));
    vec![
        of(labels.0, Marker::Disc, Line::Solid, found.collect()),
        of(labels.1, Marker::Cross, Line::None, failed.collect()),
    ]
}

/// What one method found, as a figure shows it.
pub struct Curve<'a> {
    pub shown: &'a Shown<'a>,
    /// Sizes by number of facts.
    pub points: Vec<(f64, Option<f64>)>,
}

impl Curve<'_> {
    fn has_crosses(&self) -> bool {
        self.points.iter().any(|(_, size)| size.is_none())
    }
}

/// The label of all crosses: a legend has it once.
const NONE: &str = "no size searched is usable\n(in the method's colour)";

/// The distance of rows of crosses: none hides another.
const ROW: f64 = 1.5;

/// The axis with room at the top for a row of crosses of each method that has some.
pub fn room_for_crosses(y: Axis, curves: &[Curve]) -> Axis {
    let rows = curves.iter().filter(|curve| curve.has_crosses()).count();
    Axis { high: y.high * ROW.powi(rows as i32), ..y }
}

/// Curves of several methods, the crosses of each in a row of their own.
pub fn curves_with_rows_of_crosses(curves: &[Curve], y: &Axis) -> Vec<Series> {
    let mut top = y.clone();
    let mut series = Vec::new();
    for curve in curves {
        series.extend(curve_series(&curve.points, (curve.shown.label, NONE), curve.shown.colour, &top));
        if curve.has_crosses() {
            top.high /= ROW;
        }
    }
    series
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
