//! Fig 3A of 2607.10034: how far what attention hands to the MLP is from the key, against the amount of junk.

use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::num::statistics::{distinct, mean};
use crate::paper::noise_rows::{Noise, models, noises};
use crate::table::Table;

const COLOURS: [Colour; 5] = [Colour::Blue, Colour::Vermilion, Colour::Green, Colour::Purple, Colour::Orange];

/// One panel for each moment of training at which the reference, or no rule, stops.
const MOMENTS: [(&str, &str); 2] =
    [("stopping rule", "stopped at 99 % accuracy"), ("last step", "trained for all steps")];

/// The largest and the mean distance over keys and junk, mean over seeds.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = noises(table)?;
    let lengths = distinct(rows.iter().map(|row| row.junk_length));
    if lengths.is_empty() {
        return Err(nothing_to_draw("no transformer was trained"));
    }
    let panel = |(moment, title): &(&str, &str)| {
        let own: Vec<Noise> = rows.iter().filter(|row| row.moment == *moment).cloned().collect();
        let of_models = models(&own).into_iter().zip(COLOURS.iter().cycle());
        Panel {
            title: (*title).to_owned(),
            x: Axis::named("junk tokens on each side of the key", lengths.iter().map(i64::to_string).collect()),
            y: Axis::linear("distance from the key", 0.0, 2.0),
            series: of_models.flat_map(|(model, colour)| series(&own, model, *colour, &lengths)).collect(),
            notes: vec!["√2 = 1.41: no trace of the key; mean over seeds".to_owned()],
        }
    };
    let panels = MOMENTS.iter().map(panel).collect();
    Ok(Figure { title: "What attention hands to the MLP, away from the key (Fig 3A of 2607.10034)".to_owned(), panels })
}

fn series(rows: &[Noise], (dimension, facts): (i64, i64), colour: Colour, lengths: &[i64]) -> Vec<Series> {
    let over_seeds = |of: fn(&Noise) -> f64| -> Vec<(f64, f64)> {
        let at = |(place, length): (usize, &i64)| {
            let own = rows.iter().filter(|row| (row.dimension, row.facts) == (dimension, facts));
            let found: Vec<f64> = own.filter(|row| row.junk_length == *length).map(of).collect();
            (!found.is_empty()).then(|| (place as f64, mean(&found)))
        };
        lengths.iter().enumerate().filter_map(at).collect()
    };
    let of = |what: &str, marker, line, points| Series {
        label: format!("{what}, d = {dimension}, F = {facts}"),
        colour,
        marker,
        line,
        points,
    };
    vec![
        of("largest", Marker::Disc, Line::Solid, over_seeds(|row| row.floor)),
        of("exceeded by 5 %", Marker::Cross, Line::None, over_seeds(|row| row.high)),
        of("mean", Marker::Ring, Line::Dashed, over_seeds(|row| row.mean)),
    ]
}
