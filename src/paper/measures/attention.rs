//! What claims about the noise of attention are about, from the stage `noise_floor`.

use super::{Measure, Measured, Scale, over_seeds};
use crate::error::Result;
use crate::num::statistics::{mean, rank_correlation};
use crate::paper::noise_rows::{Noise, models, noises};
use crate::table::Table;

/// The moments of training at which the noise is measured.
const MOMENTS: &[&str] = &["stopping rule", "last step"];

/// The measures of this stage.
pub const MEASURES: [Measure; 1] =
    [Measure { name: "floor_by_junk_length", stage: "noise_floor", methods: MOMENTS, compute: measure }];

/// Keys and values are one table here: there is one reading.
fn measure(_: &str, moment: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let rows: Vec<Noise> = noises(table)?.into_iter().filter(|row| row.moment == moment).collect();
    let largest = rows.iter().map(|row| row.dimension).max().filter(|_| keys == "isotropic");
    Ok(largest.and_then(|dimension| over_seeds(Scale::Signed, dimension, &rows, |row| row.seed, growth)))
}

/// The rank correlation of the floor with the junk length, mean over dimensions and numbers of facts.
fn growth(rows: &[Noise]) -> Option<f64> {
    let of = |(dimension, facts): (i64, i64)| {
        let own = rows.iter().filter(|row| (row.dimension, row.facts) == (dimension, facts));
        rank_correlation(&own.map(|row| (row.junk_length as f64, row.floor)).collect::<Vec<_>>())
    };
    let correlations: Vec<f64> = models(rows).into_iter().filter_map(of).collect();
    (!correlations.is_empty()).then(|| mean(&correlations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_measured_within_one_model() {
        let of = |facts: i64, junk_length: i64, floor: f64| Noise {
            dimension: 64,
            facts,
            junk_length,
            moment: "last step".to_owned(),
            seed: 0,
            mean: 0.1,
            high: 0.2,
            floor,
        };
        let rising = [of(128, 2, 0.8), of(128, 4, 0.9), of(128, 8, 1.0)];
        assert_eq!(growth(&rising), Some(1.0));
        let falling = [of(512, 2, 0.3), of(512, 4, 0.2), of(512, 8, 0.1)];
        assert_eq!(growth(&[rising.to_vec(), falling.to_vec()].concat()), Some(0.0));
    }
}
