//! Fig 9 of 2512.00207: the smallest MLP whose facts a language model recalls, and the other tokens when it is swapped.

use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::paper::language_rows::{Recall, fact_numbers, recalls, smallest};
use crate::table::Table;

/// Two panels: sizes, and cross-entropies of the models of those sizes.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = recalls(table)?;
    let x = Axis::logarithmic_around("facts F", rows.iter().map(|row| row.facts as f64));
    let y = Axis::logarithmic_around("MLP parameters", rows.iter().map(|row| row.parameters));
    let (Some(x), Some(y)) = (x, y) else { return Err(nothing_to_draw("no language model was trained")) };
    let best: Vec<&Recall> = fact_numbers(&rows).into_iter().filter_map(|facts| smallest(&rows, facts)).collect();
    let top = best.iter().map(|row| row.cross_entropy_after).fold(1.0, f64::max);
    Ok(Figure {
        title: "Facts in a language model (Fig 9)".to_owned(),
        panels: vec![
            Panel {
                title: "(a) the smallest usable MLP".to_owned(),
                x: x.clone(),
                y,
                series: sizes(&rows, &best),
                notes: vec!["over 99 % of the facts recalled, best of the seeds".to_owned()],
            },
            Panel {
                title: "(b) tokens other than objects".to_owned(),
                x,
                y: Axis::linear("cross-entropy", 0.0, 1.15 * top),
                series: entropies(&best),
                notes: vec!["of the models in (a)".to_owned()],
            },
        ],
    })
}

fn sizes(rows: &[Recall], best: &[&Recall]) -> Vec<Series> {
    let of =
        |label: &str, colour, marker, line, points| Series { label: label.to_owned(), colour, marker, line, points };
    let tried = |usable: bool| rows.iter().filter(move |row| row.is_usable() == usable);
    let points = |rows: &mut dyn Iterator<Item = &Recall>| rows.map(|row| (row.facts as f64, row.parameters)).collect();
    let bound = fact_numbers(rows).into_iter().map(|facts| (facts as f64, facts as f64 * (facts as f64).log2()));
    vec![
        of("a model that recalls\nless than 99 %", Colour::Grey, Marker::Cross, Line::None, points(&mut tried(false))),
        of("a model that recalls\nmore than 99 %", Colour::Blue, Marker::Ring, Line::None, points(&mut tried(true))),
        of("the smallest one", Colour::Blue, Marker::Disc, Line::Solid, points(&mut best.iter().copied())),
        of("F·log₂F", Colour::Grey, Marker::None, Line::Dashed, bound.collect()),
    ]
}

fn entropies(best: &[&Recall]) -> Vec<Series> {
    let of = |label: &str, colour, marker, quantity: fn(&Recall) -> f64| Series {
        label: label.to_owned(),
        colour,
        marker,
        line: Line::Solid,
        points: best.iter().map(|row| (row.facts as f64, quantity(row))).collect(),
    };
    vec![
        of("with the MLP of the training", Colour::Blue, Marker::Disc, |row| row.cross_entropy_before),
        of("with an MLP of other facts", Colour::Vermilion, Marker::Ring, |row| row.cross_entropy_after),
    ]
}
