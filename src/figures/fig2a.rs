//! Fig 2a of 2512.00207: MLP size against decodability, raw and whitened.

use super::storage::{fit_series, parameter_axis, points};
use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::paper::costs::{Cost, costs, dimensions, power_law};
use crate::table::Table;

const METHODS: [(&str, &str, Colour); 3] = [
    ("ntk", "NTK", Colour::Green),
    ("constructed", "constructed (gadgets + JL)", Colour::Vermilion),
    ("gradient_descent", "gradient descent", Colour::Blue),
];

/// One panel per dimension; keys isotropic, so that only the geometry of the values varies.
pub fn figure(table: &Table) -> Result<Figure> {
    let costs: Vec<Cost> =
        costs(table)?.into_iter().filter(|cost| cost.keys == "isotropic" && cost.facts_per_d2 == 0.25).collect();
    let y = parameter_axis(&costs).ok_or_else(|| nothing_to_draw("no search found a size"))?;
    // Room above for the crosses of searches without a size.
    let y = Axis { high: y.high * 3.0, ..y };
    let x = Axis::logarithmic_around("decodability ρ(V) of the raw values", costs.iter().map(|cost| cost.rho));
    let x = x.ok_or_else(|| nothing_to_draw("no table has a positive ρ"))?;
    let panels = dimensions(&costs).into_iter().map(|dimension| panel(&costs, dimension, &x, &y)).collect();
    Ok(Figure { title: "Decodability predicts how large an MLP has to be (Fig 2a)".to_owned(), panels })
}

fn panel(all: &[Cost], dimension: i64, x: &Axis, y: &Axis) -> Panel {
    let costs: Vec<Cost> = all.iter().filter(|cost| cost.dimension == dimension).cloned().collect();
    let mut series = Vec::new();
    let mut notes = Vec::new();
    for (method, name, colour) in METHODS {
        for (white, marker) in [(false, Marker::Disc), (true, Marker::Ring)] {
            let chosen = |cost: &&Cost| cost.method == method && (cost.alpha > 0.0) == white;
            let suffix = if white { "whitened" } else { "raw" };
            let found = points(costs.iter().filter(chosen), |cost| cost.rho);
            if let Some(fit) =
                power_law(costs.iter().filter(chosen), |cost| cost.rho).filter(|_| !white && method != "ntk")
            {
                let ends = found.iter().fold((f64::INFINITY, 0.0f64), |(a, b), p| (a.min(p.0), b.max(p.0)));
                series.push(fit_series(&fit, colour, ends.0, ends.1));
                let short = name.split(" (").next().unwrap_or(name);
                notes.push(format!("{short}, raw: R² = {:.3} over all seeds, ∝ ρ^({:.2})", fit.r_squared, fit.slope));
            }
            series.push(Series {
                label: format!("{name},\n{suffix}"),
                colour,
                marker,
                line: Line::None,
                points: found,
            });
        }
        for (white, suffix, colour, down) in [(false, "raw", colour, 1.1), (true, "whitened", Colour::Grey, 1.7)] {
            let is_failed =
                |cost: &&Cost| cost.method == method && (cost.alpha > 0.0) == white && cost.parameters.is_none();
            let at_top = costs.iter().filter(is_failed).map(|cost| (cost.rho, y.high / down)).collect();
            let label = format!("{name}, {suffix}: no size in the\nsearched range stores all facts");
            series.push(Series { label, colour, marker: Marker::Cross, line: Line::None, points: at_top });
        }
    }
    let facts = costs.first().map_or(0, |cost| cost.facts);
    Panel { title: format!("d = {dimension}, F = {facts}"), x: x.clone(), y: y.clone(), series, notes }
}
