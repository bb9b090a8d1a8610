//! Fig 5 of 2512.00207: NTK MLPs on values and on margin-optimal outputs, against the condition number.

use super::storage::{parameter_axis, points};
use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::num::statistics::median;
use crate::paper::costs::{Cost, costs, dimensions};
use crate::table::Table;

const METHODS: [(&str, &str, Colour); 2] =
    [("ntk", "NTK on V", Colour::Green), ("ntk_margin_optimal", "NTK on U*", Colour::Purple)];

/// One panel per dimension; raw values, keys isotropic, `F = d²/8` as in the paper's figure.
pub fn figure(table: &Table) -> Result<Figure> {
    let keep = |cost: &Cost| cost.keys == "isotropic" && cost.alpha == 0.0 && cost.facts_per_d2 == 0.125;
    let costs: Vec<Cost> = costs(table)?.into_iter().filter(keep).collect();
    let y = parameter_axis(&costs).ok_or_else(|| nothing_to_draw("no search found a size"))?;
    let y = Axis { high: y.high * 6.0, ..y };
    let x = Axis::logarithmic_around("condition number κ of the values", costs.iter().map(|cost| cost.kappa));
    let x = x.ok_or_else(|| nothing_to_draw("no condition numbers"))?;
    let panels = dimensions(&costs).into_iter().map(|dimension| panel(&costs, dimension, &x, &y)).collect();
    Ok(Figure { title: "NTK MLPs break down on anisotropic values; U* delays it (Fig 5)".to_owned(), panels })
}

fn panel(all: &[Cost], dimension: i64, x: &Axis, y: &Axis) -> Panel {
    let costs: Vec<Cost> = all.iter().filter(|cost| cost.dimension == dimension).cloned().collect();
    let mut series = Vec::new();
    for (row, (method, name, colour)) in METHODS.into_iter().enumerate() {
        let chosen = |cost: &&Cost| cost.method == method;
        let found = points(costs.iter().filter(chosen), |cost| cost.kappa);
        let has_failed = |x: f64| costs.iter().filter(chosen).any(|cost| cost.kappa == x && cost.parameters.is_none());
        let lines = medians(&found).into_iter().filter(|(x, _)| !has_failed(*x)).collect();
        series.push(Series { label: String::new(), colour, marker: Marker::None, line: Line::Solid, points: lines });
        let label = if found.is_empty() { String::new() } else { name.to_owned() };
        series.push(Series { label, colour, marker: Marker::Disc, line: Line::None, points: found });
        let failed = costs.iter().filter(chosen).filter(|cost| cost.parameters.is_none());
        let place = y.high / 1.5f64.powi(1 + row as i32);
        let failed: Vec<(f64, f64)> = failed.map(|cost| (cost.kappa, place)).collect();
        if !failed.is_empty() {
            let label = format!("{name}: a seed with no size in the\nsearched range");
            series.push(Series { label, colour, marker: Marker::Cross, line: Line::None, points: failed });
        }
    }
    let facts = costs.first().map_or(0, |cost| cost.facts);
    Panel {
        title: format!("d = {dimension}, F = {facts}, raw values"),
        x: x.clone(),
        y: y.clone(),
        series,
        notes: Vec::new(),
    }
}

/// The median of the points at each x.
fn medians(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut places: Vec<f64> = points.iter().map(|point| point.0).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let at = |x: f64| points.iter().filter(|point| point.0 == x).map(|point| point.1).collect::<Vec<f64>>();
    places.into_iter().map(|x| (x, median(&at(x)))).collect()
}
