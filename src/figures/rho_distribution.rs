//! The distribution of ρ_i over the values of a table, as `factsmith measure --plot` draws it.

use super::{Axis, Colour, Figure, Line, Marker, Panel, Series};
use crate::facts::measurement::Measurement;

/// Points of a curve: more would not be told apart.
const POINTS: usize = 400;
/// From this ratio of largest to smallest ρ_i on the axis is logarithmic.
const WIDE: f64 = 30.0;

/// Share of values with a ρ_i up to x, as measured and after whitening.
pub fn figure(title: &str, found: &Measurement) -> Figure {
    let (plain, whitened) = (found.rho(), found.whitened_rho());
    let all = || plain.iter().chain(whitened.iter().flatten()).copied();
    let mut series = vec![curve("values as they are", Colour::Blue, Line::Solid, &plain)];
    if let Some(whitened) = &whitened {
        series.push(curve("whitened (α = 1)", Colour::Vermilion, Line::Dashed, whitened));
    }
    series.extend(weakest(&plain));
    let measured = match found.is_complete() {
        true => format!("all {} values", plain.len()),
        false => format!("a sample of {} values", plain.len()),
    };
    let panel = Panel {
        title: format!("ρ_i of {measured}"),
        x: axis(all()),
        y: Axis::linear("share of values up to ρ_i", 0.0, 1.0),
        series,
        notes: undecodable(&plain),
    };
    Figure { title: title.to_owned(), panels: vec![panel] }
}

fn curve(label: &str, colour: Colour, line: Line, rho: &[f64]) -> Series {
    let mut sorted = rho.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len() - 1;
    let step = (sorted.len() / POINTS).max(1);
    let places = (0..last).step_by(step).chain([last]);
    let points = places.map(|place| (sorted[place], (place + 1) as f64 / sorted.len() as f64)).collect();
    Series { label: label.to_owned(), colour, marker: Marker::None, line, points }
}

/// The smallest ρ_i, which is ρ.
fn weakest(rho: &[f64]) -> Option<Series> {
    let smallest = rho.iter().copied().fold(f64::INFINITY, f64::min);
    let share = 1.0 / rho.len() as f64;
    (smallest > 0.0).then(|| Series {
        label: format!("weakest value, ρ = {}", super::axis::number(smallest)),
        colour: Colour::Blue,
        marker: Marker::Disc,
        line: Line::None,
        points: vec![(smallest, share)],
    })
}

fn axis(rho: impl Iterator<Item = f64> + Clone) -> Axis {
    let label = "ρ_i";
    let largest = rho.clone().fold(0.0, f64::max);
    let smallest = rho.clone().filter(|rho| *rho > 0.0).fold(f64::INFINITY, f64::min);
    match Axis::logarithmic_around(label, rho) {
        Some(axis) if largest > WIDE * smallest => axis,
        Some(_) => Axis::linear(label, 0.0, largest * 1.05),
        None => Axis::linear(label, 0.0, 1.0),
    }
}

fn undecodable(rho: &[f64]) -> Vec<String> {
    let count = rho.iter().filter(|rho| **rho <= 0.0).count();
    (count > 0).then(|| format!("{count} of them cannot be decoded: ρ_i = 0")).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::conditioning::log_affine_spectrum;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    #[test]
    fn both_curves_climb_to_one_and_start_at_the_weakest_value() {
        let sphere = draw(Kind::Sphere, 900, 16, &mut StreamName::new("test").rng()).unwrap();
        let values = log_affine_spectrum(&sphere, 50.0).unwrap();
        let found = Measurement::of(&values, &(0..900).collect::<Vec<_>>()).unwrap();
        let figure = figure("values.npy", &found);
        let series = &figure.panels[0].series;
        assert_eq!(series.len(), 3);
        for curve in &series[..2] {
            assert!(curve.points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1));
            assert_eq!(curve.points.last().unwrap().1, 1.0);
            assert!(curve.points.len() <= 2 * POINTS + 1);
        }
        assert_eq!(series[0].points[0], (found.plain.rho, 1.0 / 900.0));
        assert!(series[1].points[0].0 > series[0].points[0].0, "whitening helps");
        let folder = tempfile::tempdir().unwrap();
        for name in ["rho.svg", "rho.png"] {
            figure.write_file(&folder.path().join(name)).unwrap();
            assert!(std::fs::metadata(folder.path().join(name)).unwrap().len() > 1000);
        }
        let error = figure.write_file(&folder.path().join("rho.pgn")).unwrap_err();
        assert_eq!((error.exit_code(), std::fs::read_dir(folder.path()).unwrap().count()), (2, 2));
    }
}
