//! Figs 3c and 8b of 2512.00207: what a transformer can use of an MLP against the MLP's Lipschitz constant.

use super::fig3b::{ARCHITECTURES, by_kappa};
use super::{Axis, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::num::statistics::rank_correlation;
use crate::paper::ssfr_rows::{Use, best_over_rates, uses};
use crate::table::Table;

/// One panel per architecture; a point is a whitening strength and seed.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = uses(table)?;
    let panels: Vec<Panel> = ARCHITECTURES.iter().filter_map(|(method, title)| panel(&rows, method, title)).collect();
    if panels.is_empty() {
        return Err(nothing_to_draw("no transformer was trained on conditioned embeddings"));
    }
    Ok(Figure { title: "Usability against the Lipschitz constant (Figs 3c, 8b)".to_owned(), panels })
}

fn panel(rows: &[Use], method: &str, title: &str) -> Option<Panel> {
    let best = best_over_rates(rows, method);
    let points = |rows: &[Use]| -> Vec<(f64, f64)> {
        rows.iter().filter_map(|row| Some((row.lipschitz?, row.usability?))).collect()
    };
    let x = Axis::logarithmic_around("Lipschitz constant at 100 keys", best.iter().filter_map(|row| row.lipschitz))?;
    let series = by_kappa(&best).into_iter().map(|(kappa, colour, own)| Series {
        label: format!("κ = {kappa}"),
        colour,
        marker: Marker::Disc,
        line: Line::None,
        points: points(&own),
    });
    let correlation = rank_correlation(&points(&best));
    Some(Panel {
        title: title.split(" (").next().unwrap_or(title).to_owned(),
        x,
        y: Axis::linear("fact-adaptive accuracy / capacity", 0.0, 1.05),
        series: series.collect(),
        notes: correlation
            .map(|value| format!("rank correlation {value:.2}, best of learning rates"))
            .into_iter()
            .collect(),
    })
}
