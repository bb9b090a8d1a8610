//! Fig 1 (centre) of 2512.00207: parameters against facts, at the largest dimension.

use super::scaling::{Shown, axes, bounds, method_series};
use super::{Colour, Figure, Panel, nothing_to_draw};
use crate::error::Result;
use crate::paper::construction_rows::{constructions, dimensions};
use crate::table::Table;

/// The methods of the paper's figure, and the successor's constructions beside them.
const PANELS: [(&str, &[Shown]); 2] = [
    (
        "2512.00207",
        &[
            Shown { method: "ntk", label: "NTK", colour: Colour::Green },
            Shown { method: "ntk_margin_optimal", label: "NTK on U*", colour: Colour::Purple },
            Shown { method: "gadget_jl", label: "constructed (gadgets + JL)", colour: Colour::Vermilion },
            Shown { method: "gradient_descent", label: "gradient descent", colour: Colour::Blue },
        ],
    ),
    (
        "2607.10034",
        &[
            Shown { method: "hebbian", label: "Hebbian", colour: Colour::Grey },
            Shown { method: "hebbian_whitened", label: "Hebbian, whitened", colour: Colour::Sky },
            Shown { method: "hebbian_fitted", label: "Hebbian, data-dependent", colour: Colour::Orange },
            Shown { method: "gradient_descent", label: "gradient descent", colour: Colour::Blue },
        ],
    ),
];

/// One panel for each paper.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = constructions(table)?;
    let dimension = dimensions(&rows).last().copied().ok_or_else(|| nothing_to_draw("the table is empty"))?;
    let largest: Vec<_> = rows.into_iter().filter(|row| row.dimension == dimension).collect();
    let methods: Vec<&str> = PANELS.iter().flat_map(|(_, shown)| shown.iter().map(|shown| shown.method)).collect();
    let (x, y) = axes(&largest, &methods)?;
    let panel = |(paper, methods): &(&str, &[Shown])| Panel {
        title: format!("constructions of {paper}, d = {dimension}"),
        x: x.clone(),
        y: y.clone(),
        series: methods
            .iter()
            .flat_map(|shown| method_series(&largest, shown, dimension, &y))
            .chain(bounds(&x))
            .collect(),
        notes: vec!["median over seeds".to_owned()],
    };
    Ok(Figure {
        title: "What it takes to store F facts (Fig 1)".to_owned(),
        panels: PANELS.iter().map(panel).collect(),
    })
}
