//! Fig 6 of 2512.00207: MLP size against coherence.

use super::storage::{parameter_axis, points};
use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::paper::costs::{Cost, costs, dimensions, power_law};
use crate::table::Table;

/// One panel per dimension; raw values, keys isotropic.
pub fn figure(table: &Table) -> Result<Figure> {
    let keep = |cost: &Cost| {
        cost.keys == "isotropic"
            && cost.facts_per_d2 == 0.25
            && cost.alpha == 0.0
            && ["constructed", "gradient_descent"].contains(&&*cost.method)
    };
    let costs: Vec<Cost> = costs(table)?.into_iter().filter(keep).collect();
    let y = parameter_axis(&costs).ok_or_else(|| nothing_to_draw("no search found a size"))?;
    let lowest = costs.iter().map(|cost| cost.coherence).fold(1.0, f64::min);
    let x = Axis::linear("coherence of the values", (lowest * 10.0).floor() / 10.0, 1.0);
    let panels = dimensions(&costs).into_iter().map(|dimension| panel(&costs, dimension, &x, &y)).collect();
    Ok(Figure { title: "Coherence against MLP size (Fig 6)".to_owned(), panels })
}

fn panel(all: &[Cost], dimension: i64, x: &Axis, y: &Axis) -> Panel {
    let costs: Vec<Cost> = all.iter().filter(|cost| cost.dimension == dimension).cloned().collect();
    let mut series = Vec::new();
    let mut notes = Vec::new();
    for (method, name, paper, colour) in [
        ("constructed", "constructed", 0.44, Colour::Vermilion),
        ("gradient_descent", "gradient descent", 0.10, Colour::Blue),
    ] {
        let chosen = |cost: &&Cost| cost.method == method;
        let found = points(costs.iter().filter(chosen), |cost| cost.coherence);
        series.push(Series { label: name.to_owned(), colour, marker: Marker::Disc, line: Line::None, points: found });
        if let Some(fit) = power_law(costs.iter().filter(chosen), |cost| cost.coherence) {
            notes.push(format!("{name}, all seeds: R² = {:.2} (paper: {paper:.2})", fit.r_squared));
        }
    }
    let facts = costs.first().map_or(0, |cost| cost.facts);
    Panel { title: format!("d = {dimension}, F = {facts}, raw values"), x: x.clone(), y: y.clone(), series, notes }
}
