//! Fig 2c of 2512.00207: closed-form and trained encoders and decoders.

use super::scaling::{Shown, axes, bounds, method_series};
use super::{Colour, Figure, Panel};
use crate::error::Result;
use crate::paper::construction_rows::{constructions, dimensions};
use crate::table::Table;

const METHODS: [Shown; 5] = [
    Shown { method: "gadget_jl", label: "gadgets + JL", colour: Colour::Vermilion },
    Shown { method: "trained_encoder_jl", label: "trained encoder + JL", colour: Colour::Orange },
    Shown { method: "gadget_trained_decoder", label: "gadgets + trained decoder", colour: Colour::Green },
    Shown { method: "trained_encoder_trained_decoder", label: "trained encoder + decoder", colour: Colour::Purple },
    Shown { method: "gradient_descent", label: "gradient descent", colour: Colour::Blue },
];

/// One panel per dimension.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = constructions(table)?;
    let (x, y) = axes(&rows, &METHODS.map(|shown| shown.method))?;
    let panel = |dimension: i64| Panel {
        title: format!("d = {dimension}"),
        x: x.clone(),
        y: y.clone(),
        series: METHODS.iter().flat_map(|shown| method_series(&rows, shown, dimension, &y)).chain(bounds(&x)).collect(),
        notes: vec!["median over seeds".to_owned()],
    };
    let panels = dimensions(&rows).into_iter().map(panel).collect();
    Ok(Figure { title: "Training the encoder, the decoder, or both (Fig 2c)".to_owned(), panels })
}
