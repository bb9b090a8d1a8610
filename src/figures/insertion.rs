//! Fig 3B of 2607.10034: the smallest MLP that a transformer of the successor can use.

use super::scaling::{Curve, Shown, bounds, curves_with_rows_of_crosses, room_for_crosses};
use super::{Axis, Colour, Figure, Panel, nothing_to_draw};
use crate::error::Result;
use crate::paper::insertion_rows::{Search, searches, usable};
use crate::table::Table;

static METHODS: [Shown; 5] = [
    Shown { method: "gradient_descent", label: "gradient descent (SwiGLU)", colour: Colour::Sky },
    Shown { method: "hebbian_fitted", label: "Hebbian, data-dependent", colour: Colour::Purple },
    Shown { method: "hebbian_whitened", label: "Hebbian, whitened", colour: Colour::Orange },
    Shown { method: "hebbian", label: "Hebbian, not whitened", colour: Colour::Blue },
    Shown { method: "ntk", label: "NTK", colour: Colour::Green },
];

const SCHEDULES: [(&str, &str); 2] = [
    ("insert_then_train", "trained around an MLP, judged with another"),
    ("train_then_insert", "trained without an MLP, then put in"),
];

/// One panel per schedule; the best seed counts.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = searches(table)?;
    let x = Axis::logarithmic_around("facts F", rows.iter().map(|row| row.facts as f64));
    let y = Axis::logarithmic_around("MLP parameters", rows.iter().filter_map(|row| row.parameters));
    let (Some(x), Some(y)) = (x, y) else { return Err(nothing_to_draw("no search found a usable MLP")) };
    // Room below for the information bound.
    let low = Axis { low: y.low / 4.0, ..y };
    let y = SCHEDULES.iter().fold(low.clone(), |y, (schedule, _)| {
        let own = room_for_crosses(low.clone(), &curves(&rows, schedule));
        Axis { high: y.high.max(own.high), ..y }
    });
    let panel = |(schedule, title): &(&str, &str)| {
        let own = rows.iter().filter(|row| row.schedule == *schedule);
        let from = own.map(|row| row.usable_from).fold(0.0, f64::max);
        let curves = curves_with_rows_of_crosses(&curves(&rows, schedule), &y);
        Panel {
            title: (*title).to_owned(),
            x: x.clone(),
            y: y.clone(),
            series: curves.into_iter().chain(bounds(&x)).collect(),
            notes: vec![format!("accuracy of {} %, best of the seeds", 100.0 * from)],
        }
    };
    let panels = SCHEDULES.iter().map(panel).collect();
    Ok(Figure { title: "The smallest MLP that a transformer can use (Fig 3B of 2607.10034)".to_owned(), panels })
}

fn curves(rows: &[Search], schedule: &str) -> Vec<Curve<'static>> {
    let curve = |shown: &'static Shown| Curve { shown, points: usable(rows, schedule, shown.method) };
    METHODS.iter().map(curve).collect()
}
