//! Fig 9 of 2512.00207: the smallest MLP whose facts a language model recalls, and the other tokens when it is swapped.

use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::paper::language_rows::{Recall, fact_numbers, recalls, smallest};
use crate::table::Table;

/// Two panels: sizes, and cross-entropies of the models of those sizes.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = recalls(table)?;
    let x = Axis::logarithmic_around("facts F", rows.iter().map(|row| row.facts as f64));
    let bounds = rows.iter().map(|row| bound(row.facts as f64));
    let y = Axis::logarithmic_around("MLP parameters", rows.iter().map(|row| row.parameters).chain(bounds));
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
                notes: vec!["99 % of other facts recalled with their MLP, best of the seeds".to_owned()],
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

/// One bit a parameter would hold what F facts are.
fn bound(facts: f64) -> f64 {
    facts * facts.log2()
}

fn sizes(rows: &[Recall], best: &[&Recall]) -> Vec<Series> {
    let of =
        |label: &str, colour, marker, line, points| Series { label: label.to_owned(), colour, marker, line, points };
    let is_usable = |row: &Recall| {
        let same = |other: &&Recall| (other.facts, other.parameters) == (row.facts, row.parameters);
        rows.iter().filter(same).any(Recall::is_usable)
    };
    let tried = |usable: bool| {
        let own = rows.iter().filter(move |row| is_usable(row) == usable);
        own.map(|row| (row.facts as f64, row.parameters)).collect()
    };
    let smallest = best.iter().map(|row| (row.facts as f64, row.parameters)).collect();
    let bounds = fact_numbers(rows).into_iter().map(|facts| (facts as f64, bound(facts as f64))).collect();
    vec![
        of("a size that no seed can use", Colour::Grey, Marker::Cross, Line::None, tried(false)),
        of("a size that a seed can use", Colour::Blue, Marker::Ring, Line::None, tried(true)),
        of("the smallest of them", Colour::Blue, Marker::Disc, Line::Solid, smallest),
        of("F·log₂F", Colour::Grey, Marker::None, Line::Dashed, bounds),
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
