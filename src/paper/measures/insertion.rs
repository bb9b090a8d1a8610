//! What claims about MLPs put into a transformer are about, from the stage `insertion`.

use super::{Measure, Measured, Scale, over_seeds};
use crate::error::Result;
use crate::num::statistics::median;
use crate::paper::insertion_rows::{Search, searches, usable};
use crate::table::Table;

const SCHEDULES: &[&str] = &["insert_then_train", "train_then_insert"];

/// The measures of this stage.
pub const MEASURES: [Measure; 1] =
    [Measure { name: "usable_cost_of_ntk_over_fitted", stage: "insertion", methods: SCHEDULES, compute: measure }];

/// Keys and values are one table here: there is one reading.
fn measure(_: &str, schedule: &str, keys: &str, table: &Table) -> Result<Option<Measured>> {
    let rows = searches(table)?;
    let largest = rows.iter().map(|row| row.dimension).max().filter(|_| keys == "isotropic");
    let Some(dimension) = largest else { return Ok(None) };
    let own: Vec<Search> = rows.into_iter().filter(|row| row.dimension == dimension).collect();
    Ok(over_seeds(Scale::Ratio, dimension, &own, |row| row.seed, |rows| ratio(rows, schedule)))
}

/// The median over numbers of facts of the ratio of the smallest usable sizes, where both are usable.
fn ratio(rows: &[Search], schedule: &str) -> Option<f64> {
    let fitted = usable(rows, schedule, "hebbian_fitted");
    let of = |(facts, size): (f64, Option<f64>)| Some(size? / fitted.iter().find(|(other, _)| *other == facts)?.1?);
    let ratios: Vec<f64> = usable(rows, schedule, "ntk").into_iter().filter_map(of).collect();
    (!ratios.is_empty()).then(|| median(&ratios))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_compared_at_equal_numbers_of_facts_and_one_schedule() {
        let of = |schedule: &str, method: &str, facts: i64, parameters: Option<f64>| Search {
            schedule: schedule.to_owned(),
            method: method.to_owned(),
            dimension: 64,
            facts,
            seed: 0,
            parameters,
            usable_from: 1.0,
        };
        let rows = [
            of("a", "hebbian_fitted", 64, Some(100.0)),
            of("a", "hebbian_fitted", 128, Some(200.0)),
            of("a", "ntk", 64, Some(1000.0)),
            of("a", "ntk", 128, Some(6000.0)),
            of("a", "ntk", 256, Some(9000.0)),
            of("b", "hebbian_fitted", 64, Some(1.0)),
            of("b", "ntk", 64, None),
        ];
        assert_eq!(ratio(&rows, "a"), Some(20.0));
        assert_eq!(ratio(&rows, "b"), None);
    }
}
