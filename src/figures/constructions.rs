//! Every construction at one number of facts: its size and the work of building it.

use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::methods::METHODS;
use crate::paper::construction_rows::{Construction, constructions, curve};
use crate::table::Table;

/// α in `F = α·d²`.
const FACTS_PER_D2: f64 = 0.25;

/// A row per method, smallest at the top; sizes on the left, work on the right.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows: Vec<Construction> =
        constructions(table)?.into_iter().filter(|row| row.facts_per_d2 == FACTS_PER_D2).collect();
    let dimension = richest(&rows).ok_or_else(|| nothing_to_draw("no row has F = d²/4"))?;
    let mut found: Vec<(&str, f64, f64)> = METHODS
        .iter()
        .filter_map(|about| {
            let point = curve(&rows, about.name, dimension).into_iter().next()?;
            Some((about.title, point.parameters?, point.build_work?))
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1));
    if found.is_empty() {
        return Err(nothing_to_draw("no method stores all facts"));
    }
    let facts = rows.iter().find(|row| row.dimension == dimension).map_or(0, |row| row.facts);
    let bound = facts as f64 * (facts as f64).log2() / 4.0;
    let names = found.iter().map(|(title, ..)| (*title).to_owned()).collect();
    let blank = found.iter().map(|_| String::new()).collect();
    let panels = vec![
        panel("MLP parameters", names, found.iter().map(|row| row.1).collect(), Some(bound)),
        panel("multiply–adds of building it", blank, found.iter().map(|row| row.2).collect(), None),
    ];
    let title = format!("The smallest MLP of every construction, F = {facts}, d = {dimension}");
    Ok(Figure {
        title,
        panels: panels.into_iter().collect::<Option<_>>().ok_or_else(|| nothing_to_draw("no size is positive"))?,
    })
}

/// The dimension in which most methods were searched; the largest of several.
fn richest(rows: &[Construction]) -> Option<i64> {
    let methods = |dimension: i64| {
        let own = rows.iter().filter(|row| row.dimension == dimension).map(|row| &row.method);
        own.collect::<std::collections::BTreeSet<_>>().len()
    };
    rows.iter().map(|row| row.dimension).max_by_key(|dimension| (methods(*dimension), *dimension))
}

fn panel(label: &str, names: Vec<String>, values: Vec<f64>, bound: Option<f64>) -> Option<Panel> {
    let x = Axis::logarithmic_around(label, values.iter().copied().chain(bound))?;
    let y = Axis::named("", names);
    let points = values.into_iter().zip(0..).map(|(value, place)| (value, f64::from(place))).collect();
    let methods = Series {
        label: "median over seeds".to_owned(),
        colour: Colour::Blue,
        marker: Marker::Disc,
        line: Line::None,
        points,
    };
    let bound = bound.map(|bound| Series {
        label: "F·log₂F bits at 4 bits\na parameter".to_owned(),
        colour: Colour::Grey,
        marker: Marker::None,
        line: Line::Solid,
        points: vec![(bound, y.low), (bound, y.high)],
    });
    let series = std::iter::once(methods).chain(bound).collect();
    Some(Panel { title: String::new(), x, y, series, notes: Vec::new() })
}
