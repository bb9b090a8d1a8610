//! Fig 4 of 2512.00207: the score of edits as more facts are altered.

use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::num::statistics::mean;
use crate::paper::language_rows::{Choice, EditRow, edits, percents, score, seeds};
use crate::table::Table;

const KINDS: [(&str, &str, Colour, Marker); 5] = [
    ("swap", "MLP swapped", Colour::Blue, Marker::Disc),
    ("memit", "MEMIT", Colour::Vermilion, Marker::Ring),
    ("alpha_edit", "AlphaEdit", Colour::Green, Marker::Cross),
    ("rome", "ROME", Colour::Purple, Marker::Disc),
    ("fine_tuning", "fine-tuning of the\noutput matrix", Colour::Orange, Marker::Ring),
];

/// Two panels of scores, by the oracle's choice of hyper-parameters and by a held-out one, and one of the other tokens.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = edits(table)?;
    let x = Axis::logarithmic_around("facts altered in percent", rows.iter().map(|row| row.percent));
    let Some(x) = x else { return Err(nothing_to_draw("no fact was edited")) };
    let score_axis = Axis::linear("score (harmonic mean)", 0.0, 1.05);
    let panel = |title: &str, note: &str, y: Axis, series| Panel {
        title: title.to_owned(),
        x: x.clone(),
        y,
        series,
        notes: vec![note.to_owned(), "mean of the seeds".to_owned()],
    };
    let ratios = series(&rows, ratio);
    let tried = ratios.iter().flat_map(|series| &series.points).map(|(_, ratio)| *ratio);
    let Some(ratio_axis) = Axis::logarithmic_around("perplexity after / before", tried.chain([1.0])) else {
        return Err(nothing_to_draw("no edit was evaluated on the other tokens"));
    };
    Ok(Figure {
        title: "Editing facts of a language model (Fig 4)".to_owned(),
        panels: vec![
            panel(
                "the best setting, as in the paper",
                "chosen by the facts that report it",
                score_axis.clone(),
                series(&rows, |rows, kind, percent, seed| score(rows, kind, percent, seed, Choice::Oracle)),
            ),
            panel(
                "a setting chosen beforehand",
                "chosen by half of the facts, reported by the others",
                score_axis,
                series(&rows, |rows, kind, percent, seed| score(rows, kind, percent, seed, Choice::HeldOut)),
            ),
            panel("all other tokens", "of the edit with the best score", ratio_axis, ratios),
        ],
    })
}

fn ratio(rows: &[EditRow], kind: &str, percent: f64, seed: i64) -> Option<f64> {
    let own = rows.iter().filter(|row| row.kind == kind && row.percent == percent && row.seed == seed);
    own.filter(|row| row.best_harmonic).find_map(|row| row.perplexity_ratio)
}

/// A curve for every kind of edit.
fn series(rows: &[EditRow], quantity: impl Fn(&[EditRow], &str, f64, i64) -> Option<f64>) -> Vec<Series> {
    let at = |kind: &str, percent: f64| {
        let values: Vec<f64> =
            seeds(rows, percent).into_iter().filter_map(|seed| quantity(rows, kind, percent, seed)).collect();
        (!values.is_empty()).then(|| (percent, mean(&values)))
    };
    let of = |(kind, label, colour, marker): (&str, &str, Colour, Marker)| Series {
        label: label.to_owned(),
        colour,
        marker,
        line: Line::Solid,
        points: percents(rows).into_iter().filter_map(|percent| at(kind, percent)).collect(),
    };
    KINDS.into_iter().map(of).filter(|series| !series.points.is_empty()).collect()
}
