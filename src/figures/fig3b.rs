//! Figs 3b and 8a of 2512.00207: whitening trades what a transformer can use of an MLP for what the MLP stores.

use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::paper::ssfr_rows::{Use, best_over_rates, best_over_seeds, uses};
use crate::table::Table;

/// The architectures, one panel each.
pub const ARCHITECTURES: [(&str, &str); 2] =
    [("gradient_descent", "SwiGLU (Fig 3b)"), ("gradient_descent_relu", "ReLU (Fig 8a)")];

const COLOURS: [Colour; 7] =
    [Colour::Blue, Colour::Vermilion, Colour::Green, Colour::Purple, Colour::Orange, Colour::Sky, Colour::Grey];

/// Usability against capacity: one line per condition number, from no whitening (the ring) to full.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = uses(table)?;
    let panels: Vec<Panel> = ARCHITECTURES.iter().filter_map(|(method, title)| panel(&rows, method, title)).collect();
    if panels.is_empty() {
        return Err(nothing_to_draw("no transformer was trained on conditioned embeddings"));
    }
    Ok(Figure { title: "Usability against capacity as whitening grows (Figs 3b, 8a)".to_owned(), panels })
}

fn panel(rows: &[Use], method: &str, title: &str) -> Option<Panel> {
    let best = best_over_seeds(&best_over_rates(rows, method));
    let lowest = best.iter().filter_map(|row| row.capacity).reduce(f64::min)?;
    let series = by_kappa(&best).into_iter().flat_map(|(kappa, colour, own)| {
        let points: Vec<(f64, f64)> = own.iter().filter_map(|row| Some((row.capacity?, row.usability?))).collect();
        let of = |label, marker, line, points| Series { label, colour, marker, line, points };
        let (start, rest) = points.split_at(points.len().min(1));
        let (start, rest) = (start.to_vec(), rest.to_vec());
        [
            of(format!("κ = {kappa}"), Marker::None, Line::Solid, points),
            of(String::new(), Marker::Ring, Line::None, start),
            of(String::new(), Marker::Disc, Line::None, rest),
        ]
    });
    Some(Panel {
        title: title.to_owned(),
        x: Axis::linear("share of the facts stored (capacity)", lowest - 0.05, 1.05),
        y: Axis::linear("fact-adaptive accuracy / capacity", 0.0, 1.05),
        series: series.collect(),
        notes: vec![
            "ring: no whitening; along the line it grows to full".to_owned(),
            "best of learning rates and seeds".to_owned(),
        ],
    })
}

/// The rows of every condition number by whitening strength, with its colour.
pub fn by_kappa(rows: &[Use]) -> Vec<(f64, Colour, Vec<Use>)> {
    let mut kappas: Vec<f64> = rows.iter().map(|row| row.kappa).collect();
    kappas.sort_by(f64::total_cmp);
    kappas.dedup();
    let of = |kappa: f64| {
        let mut own: Vec<Use> = rows.iter().filter(|row| row.kappa == kappa).cloned().collect();
        own.sort_by(|a, b| a.alpha.total_cmp(&b.alpha));
        own
    };
    kappas.iter().zip(COLOURS.iter().cycle()).map(|(kappa, colour)| (*kappa, *colour, of(*kappa))).collect()
}
