//! Fig 2b of 2512.00207: parameters against facts for several dimensions, `F = α·d²`.

use super::scaling::{Shown, axes, bounds, method_series};
use super::{Colour, Figure, Panel};
use crate::error::Result;
use crate::paper::construction_rows::{constructions, dimensions};
use crate::table::Table;

const METHODS: [(&str, &str); 3] =
    [("gradient_descent", "gradient descent"), ("gadget_jl", "constructed (gadgets + JL)"), ("ntk", "NTK")];

/// From the smallest dimension up.
const COLOURS: [Colour; 4] = [Colour::Orange, Colour::Vermilion, Colour::Blue, Colour::Purple];

/// One panel per method, one curve per dimension.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = constructions(table)?;
    let (x, y) = axes(&rows, &METHODS.map(|(method, _)| method))?;
    let panel = |(method, title): (&str, &str)| {
        let curves = dimensions(&rows).into_iter().zip(COLOURS).flat_map(|(dimension, colour)| {
            method_series(&rows, &Shown { method, label: &format!("d = {dimension}"), colour }, dimension, &y)
        });
        Panel {
            title: title.to_owned(),
            x: x.clone(),
            y: y.clone(),
            series: curves.chain(bounds(&x)).collect(),
            notes: vec!["median over seeds".to_owned()],
        }
    };
    let panels = METHODS.map(panel).into();
    Ok(Figure { title: "How the cost grows with facts and dimension (Fig 2b)".to_owned(), panels })
}
