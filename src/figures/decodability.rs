//! A figure of our own: certified decodability against the number of facts, the condition number and the whitening strength.

use super::{Axis, Colour, Figure, Line, Marker, Panel, Series, nothing_to_draw};
use crate::error::Result;
use crate::num::statistics::{distinct, mean};
use crate::table::Table;

struct Measured {
    dimension: i64,
    facts_per_d2: f64,
    kappa: f64,
    alpha: f64,
    spectrum: String,
    rho: f64,
    plain: f64,
}

const COLOURS: [Colour; 4] = [Colour::Sky, Colour::Blue, Colour::Vermilion, Colour::Green];

/// Three panels: ρ against F/d², κ and α; one colour per dimension; means over seeds.
pub fn figure(table: &Table) -> Result<Figure> {
    let rows = read(table)?;
    if rows.is_empty() {
        return Err(nothing_to_draw("no table was measured"));
    }
    let panels = vec![against_facts(&rows), against_kappa(&rows), against_alpha(&rows)];
    Ok(Figure {
        title: "Decodability ρ, certified, and what changes it".to_owned(),
        panels: panels.into_iter().filter(|panel| panel.series.iter().any(|series| series.points.len() > 1)).collect(),
    })
}

fn read(table: &Table) -> Result<Vec<Measured>> {
    table
        .rows()
        .map(|row| {
            Ok(Measured {
                dimension: row.int("dimension")?.unwrap_or_default(),
                facts_per_d2: row.float("facts_per_d2")?.unwrap_or(f64::NAN),
                kappa: row.float("kappa")?.unwrap_or(f64::NAN),
                alpha: row.float("alpha")?.unwrap_or(f64::NAN),
                spectrum: row.text("spectrum")?.unwrap_or_default(),
                rho: row.float("rho")?.unwrap_or(f64::NAN),
                plain: row.float("plain_margin")?.unwrap_or(f64::NAN),
            })
        })
        .collect()
}

fn dimensions(rows: &[Measured]) -> Vec<(i64, Colour)> {
    distinct(rows.iter().map(|row| row.dimension)).into_iter().zip(COLOURS.into_iter().cycle()).collect()
}

/// Means over seeds of `y` at each `x`, for the rows that `keep` chooses.
fn curve(
    rows: &[Measured],
    keep: impl Fn(&Measured) -> bool,
    x: fn(&Measured) -> f64,
    y: fn(&Measured) -> f64,
) -> Vec<(f64, f64)> {
    let kept: Vec<&Measured> = rows.iter().filter(|row| keep(row)).collect();
    let mut places: Vec<f64> = kept.iter().map(|row| x(row)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let at = |place: f64| kept.iter().filter(|row| x(row) == place).map(|row| y(row)).collect::<Vec<f64>>();
    places.into_iter().map(|place| (place, mean(&at(place)))).collect()
}

fn is_log_affine(row: &Measured) -> bool {
    row.spectrum == "log_affine"
}

fn panel(title: &str, x: Axis, y: Axis, series: Vec<Series>, notes: &[&str]) -> Panel {
    let notes = notes.iter().map(|note| (*note).to_owned()).collect();
    Panel { title: title.to_owned(), x, y, series, notes }
}

fn against_facts(rows: &[Measured]) -> Panel {
    let mut series = Vec::new();
    for (dimension, colour) in dimensions(rows) {
        let keep =
            |row: &Measured| row.dimension == dimension && row.kappa == 1.0 && row.alpha == 0.0 && is_log_affine(row);
        let label = format!("d = {dimension}");
        let points = curve(rows, keep, |row| row.facts_per_d2, |row| row.rho);
        series.push(Series { label, colour, marker: Marker::Disc, line: Line::Solid, points });
        let label = format!("d = {dimension}, margin of u = v");
        let points = curve(rows, keep, |row| row.facts_per_d2, |row| row.plain);
        series.push(Series { label, colour, marker: Marker::None, line: Line::Dashed, points });
    }
    let x = Axis::logarithmic("facts per d²", 0.013, 1.2);
    panel("κ = 1", x, Axis::linear("ρ(V)", 0.0, 1.0), series, &[])
}

fn against_kappa(rows: &[Measured]) -> Panel {
    let mut series = Vec::new();
    for (dimension, colour) in dimensions(rows) {
        for (spectrum, alpha, marker, line, suffix) in [
            ("log_affine", 0.0, Marker::Disc, Line::Solid, ""),
            ("log_affine", 1.0, Marker::Ring, Line::Solid, ", whitened"),
            ("linear", 0.0, Marker::Cross, Line::None, ", linear spectrum"),
        ] {
            let keep = |row: &Measured| {
                row.dimension == dimension && row.facts_per_d2 == 0.25 && row.alpha == alpha && row.spectrum == spectrum
            };
            let points = curve(rows, keep, |row| row.kappa, |row| row.rho);
            let label = match (alpha > 0.0, suffix.is_empty()) {
                (true, _) => format!("d = {dimension}{suffix}"),
                (false, true) => format!("d = {dimension}"),
                (false, false) => String::new(),
            };
            series.push(Series { label, colour, marker, line, points });
        }
    }
    let x = Axis::logarithmic("condition number κ", 0.8, 14_000.0);
    let notes = ["rings: whitened (α = 1)", "crosses: linear spectrum"];
    panel("F = d²/4", x, Axis::logarithmic("ρ(V)", 0.008, 1.0), series, &notes)
}

/// α = 0 has no place on a logarithmic axis; it is drawn at the left edge.
const AT_ZERO: f64 = 0.004;

fn against_alpha(rows: &[Measured]) -> Panel {
    let mut series = Vec::new();
    let mut kappas: Vec<f64> =
        rows.iter().filter(|row| row.alpha > 0.0 && row.alpha < 1.0).map(|row| row.kappa).collect();
    kappas.sort_by(f64::total_cmp);
    kappas.dedup();
    for (dimension, colour) in dimensions(rows) {
        for &kappa in &kappas {
            let keep = |row: &Measured| {
                row.dimension == dimension && row.facts_per_d2 == 0.25 && row.kappa == kappa && is_log_affine(row)
            };
            let points = curve(rows, keep, |row| row.alpha.max(AT_ZERO), |row| row.rho);
            series.push(Series { label: String::new(), colour, marker: Marker::Disc, line: Line::Solid, points });
        }
    }
    let listed: Vec<String> = kappas.iter().rev().map(|kappa| super::axis::number(*kappa)).collect();
    let note = format!("κ = {}, from below", listed.join(", "));
    let x = Axis::logarithmic("whitening strength α", 0.0033, 1.2);
    panel("F = d²/4", x, Axis::logarithmic("ρ(V)", 0.008, 1.0), series, &[&note, "leftmost point: α = 0"])
}
