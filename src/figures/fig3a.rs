//! Fig 3a (and 7) of 2512.00207: the smallest MLP that a transformer can use.

use super::scaling::{Curve, Shown, bounds, curves_with_rows_of_crosses, room_for_crosses};
use super::{Axis, Colour, Figure, Panel, nothing_to_draw};
use crate::error::Result;
use crate::paper::ssfr_rows::{Use, dimensions, searched, uses};
use crate::table::Table;

static METHODS: [Shown; 6] = [
    Shown { method: "gradient_descent", label: "gradient descent (SwiGLU)", colour: Colour::Blue },
    Shown { method: "gradient_descent_relu", label: "gradient descent (ReLU)", colour: Colour::Sky },
    Shown { method: "gadget_jl_wide", label: "constructed (gadgets\nwith slack + JL)", colour: Colour::Vermilion },
    Shown { method: "hebbian_fitted", label: "Hebbian, data-dependent", colour: Colour::Purple },
    Shown { method: "hebbian_whitened", label: "Hebbian, whitened", colour: Colour::Orange },
    Shown { method: "ntk", label: "NTK", colour: Colour::Green },
];

/// One panel per dimension.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = uses(table)?;
    let own = || rows.iter().filter(|row| row.size == 0);
    let tried = own().filter_map(|row| row.parameters);
    let x = Axis::logarithmic_around("facts F", own().map(|row| row.facts as f64));
    let y = Axis::logarithmic_around("MLP parameters", tried);
    let (Some(x), Some(y)) = (x, y) else { return Err(nothing_to_draw("there was no search")) };
    // Room below for the information bound.
    let low = Axis { low: y.low / 4.0, ..y };
    let y = dimensions(&rows).into_iter().fold(low.clone(), |y, dimension| {
        let own = room_for_crosses(low.clone(), &curves(&rows, dimension));
        Axis { high: y.high.max(own.high), ..y }
    });
    let panel = |dimension: i64| {
        let curves = curves_with_rows_of_crosses(&curves(&rows, dimension), &y);
        Panel {
            title: format!("d = {dimension}"),
            x: x.clone(),
            y: y.clone(),
            series: curves.into_iter().chain(bounds(&x)).collect(),
            notes: vec!["fact-adaptive accuracy above 99 %, best of the seeds".to_owned()],
        }
    };
    let panels = dimensions(&rows).into_iter().map(panel).collect();
    Ok(Figure { title: "The smallest MLP that a transformer can use (Fig 3a)".to_owned(), panels })
}

fn curves(rows: &[Use], dimension: i64) -> Vec<Curve<'static>> {
    let curve = |shown: &'static Shown| {
        let points = searched(rows, shown.method, dimension).into_iter().map(|point| (point.facts, point.parameters));
        Curve { shown, points: points.collect() }
    };
    METHODS.iter().map(curve).collect()
}
