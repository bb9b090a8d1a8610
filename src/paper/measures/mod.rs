//! The quantities that claims are about, computed from result tables.

mod attention;
mod constructions;
mod encoders;
mod insertion;
mod language;
mod storage;
mod usability;

use crate::error::{Result, unknown};
use crate::num::statistics::{distinct, mean, prediction_interval};
use crate::table::Table;

/// A measured quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub value: f64,
    /// 95 % prediction interval over seeds, computed on the scale on which the quantity varies freely.
    pub interval: Option<(f64, f64)>,
    /// The embedding dimension: the largest of the table at which the quantity exists.
    pub dimension: i64,
}

/// A measure that `claims.toml` can name.
pub struct Measure {
    pub name: &'static str,
    /// The stage whose table it reads.
    pub stage: &'static str,
    /// The methods it can be asked for.
    pub methods: &'static [&'static str],
    /// From name, method, reading of the keys and table; `None` when no row of the table decides it.
    compute: fn(&str, &str, &str, &Table) -> Result<Option<Measured>>,
}

/// Every measure.
pub fn all() -> impl Iterator<Item = &'static Measure> + Clone {
    storage::MEASURES
        .iter()
        .chain(&constructions::MEASURES)
        .chain(&encoders::MEASURES)
        .chain(&usability::MEASURES)
        .chain(&language::MEASURES)
        .chain(&attention::MEASURES)
        .chain(&insertion::MEASURES)
}

/// The measure called `name`.
pub fn find(name: &str) -> Result<&'static Measure> {
    all()
        .find(|measure| measure.name == name)
        .ok_or_else(|| unknown("measure", name, all().map(|measure| measure.name)))
}

impl Measure {
    /// Computes the measure for a method and one reading of the keys.
    pub fn of(&self, method: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
        (self.compute)(self.name, method, keys, table)
    }
}

/// The quantity for every seed on its own, put together.
fn over_seeds<T: Clone>(
    scale: Scale,
    dimension: i64,
    rows: &[T],
    seed: fn(&T) -> i64,
    quantity: impl Fn(&[T]) -> Option<f64>,
) -> Option<Measured> {
    let seeds = distinct(rows.iter().map(seed));
    let of = |own: i64| -> Vec<T> { rows.iter().filter(|row| seed(row) == own).cloned().collect() };
    let per_seed: Vec<f64> = seeds.into_iter().filter_map(|seed| quantity(&of(seed))).collect();
    let value = scale.centre(&per_seed)?;
    Some(Measured { value, interval: scale.interval(&per_seed), dimension })
}

/// The scale on which a quantity varies freely from seed to seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Above 0: the logarithm.
    Ratio,
    /// Between 0 and 1: as it is; an interval ends there.
    Share,
    /// Between −1 and 1: as it is; an interval ends there.
    Signed,
    /// Anything: as it is.
    Plain,
}

impl Scale {
    fn forward(self, value: f64) -> f64 {
        match self {
            Self::Ratio => value.ln(),
            Self::Share | Self::Signed | Self::Plain => value,
        }
    }

    fn back(self, value: f64) -> f64 {
        match self {
            Self::Ratio => value.exp(),
            Self::Share => value.clamp(0.0, 1.0),
            Self::Signed => value.clamp(-1.0, 1.0),
            Self::Plain => value,
        }
    }

    fn on_scale(self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| self.forward(*value)).collect()
    }

    /// The mean on the scale; `None` without values.
    fn centre(self, values: &[f64]) -> Option<f64> {
        (!values.is_empty()).then(|| self.back(mean(&self.on_scale(values))))
    }

    /// `None` with fewer than two values, or when one is at the end of the scale.
    fn interval(self, values: &[f64]) -> Option<(f64, f64)> {
        let (a, b) = prediction_interval(&self.on_scale(values))?;
        let (a, b) = (self.back(a), self.back(b));
        (a.is_finite() && b.is_finite()).then_some((a, b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_stay_within_the_scale() {
        let (low, high) = Scale::Share.interval(&[0.99, 0.95, 0.97]).unwrap();
        assert!(low < 0.95 && high == 1.0, "{low} {high}");
        let (low, high) = Scale::Signed.interval(&[-0.9, -0.2]).unwrap();
        assert!(low == -1.0 && high == 1.0, "{low} {high}");
        let (low, high) = Scale::Ratio.interval(&[10.0, 30.0, 90.0]).unwrap();
        assert!(low > 0.0 && high > 90.0, "{low} {high}");
        assert!((Scale::Ratio.centre(&[10.0, 30.0, 90.0]).unwrap() - 30.0).abs() < 1e-9);
        assert_eq!(Scale::Ratio.interval(&[10.0, f64::INFINITY]), None);
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> = all().map(|measure| measure.name).collect();
        assert_eq!(names.len(), all().count());
    }
}
