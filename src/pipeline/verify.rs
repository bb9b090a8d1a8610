//! A sample of the stored cells computed again and compared with the store, bit for bit.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use super::attempt::attempt;
use super::key::Key;
use super::plan::{Cell, Plan, PlannedStage};
use super::progress::{Progress, count};
use super::store::Store;
use crate::error::{Error, Result};
use crate::table::{Record, Value};

/// How much to compute again.
pub struct Sample {
    pub cells: usize,
    /// Other seeds choose other cells; the same seed always chooses the same.
    pub seed: u64,
    pub threads: usize,
    pub quiet: bool,
}

/// What became of a sample.
#[derive(Debug)]
pub struct Verified {
    /// Cells that were computed again.
    pub cells: usize,
    /// Cells of the plan that are stored.
    pub stored: usize,
    pub differences: Vec<Difference>,
}

/// A cell that is not what it was.
#[derive(Debug)]
pub struct Difference {
    pub stage: String,
    pub key: Key,
    pub params: String,
    pub seed: u64,
    pub what: String,
}

/// Computes a sample of the stored cells of a plan again.
pub fn verify(plan: &Plan, store: &Store, sample: &Sample) -> Result<Verified> {
    let mut chosen = stored_cells(plan);
    let stored = chosen.len();
    chosen.sort_by_cached_key(|(_, cell)| rank(sample.seed, &cell.key));
    chosen.truncate(sample.cells);
    let records = store.records(&chosen.iter().map(|(_, cell)| cell.key).collect())?;
    let seconds = chosen.iter().map(|(_, cell)| cell.time.seconds).sum();
    let progress = Progress::start(chosen.len(), seconds, sample.threads.min(chosen.len()), sample.quiet);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(sample.threads)
        .build()
        .map_err(|error| Error::failure(format!("cannot start {}: {error}", count(sample.threads, "thread"))))?;
    let compared = |(stage, cell): &(&PlannedStage, &Cell)| {
        let difference = compare(stage, cell, &records);
        progress.finished(cell.time.seconds);
        difference
    };
    let differences = pool.install(|| chosen.par_iter().filter_map(compared).collect());
    progress.end();
    Ok(Verified { cells: chosen.len(), stored, differences })
}

/// The cells of a plan that are in the store, each once.
fn stored_cells<'a>(plan: &'a Plan) -> Vec<(&'a PlannedStage<'a>, &'a Cell)> {
    let mut seen = HashSet::new();
    let all = plan.stages.iter().flat_map(|stage| stage.cells.iter().map(move |cell| (stage, cell)));
    all.filter(|(_, cell)| cell.cached && seen.insert(cell.key)).collect()
}

/// The place of a cell in the order of a seed.
fn rank(seed: u64, key: &Key) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(key.to_string().as_bytes());
    *hasher.finalize().as_bytes()
}

fn compare(stage: &PlannedStage, cell: &Cell, stored: &HashMap<Key, Vec<Record>>) -> Option<Difference> {
    let what = match attempt(stage.experiment, &cell.point, cell.seed) {
        Ok(computed) => difference(stored.get(&cell.key).map_or(&[][..], Vec::as_slice), &computed)?,
        Err(error) => format!("it is stored and fails now: {}", error.to_string().replace('\n', ";")),
    };
    let (stage, params) = (stage.name.clone(), cell.point.json.clone());
    Some(Difference { stage, key: cell.key, params, seed: cell.seed, what })
}

/// The first difference between the rows of a cell.
fn difference(stored: &[Record], computed: &[Record]) -> Option<String> {
    if stored.len() != computed.len() {
        return Some(format!("{} are stored, {} computed", count(stored.len(), "row"), computed.len()));
    }
    stored.iter().zip(computed).enumerate().find_map(|(row, (stored, computed))| {
        let names = |record: &Record| record.values().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        if names(stored) != names(computed) {
            return Some(format!("row {row} has columns {:?} in the store, {:?} now", names(stored), names(computed)));
        }
        let mut pairs = stored.values().iter().zip(computed.values());
        let ((name, old), (_, new)) = pairs.find(|((_, old), (_, new))| !same_bits(old, new))?;
        Some(format!("row {row}, column '{name}': {} is stored, {} is computed", text(old), text(new)))
    })
}

fn same_bits(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Float(Some(one)), Value::Float(Some(other))) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

fn text(value: &Value) -> String {
    value.text().unwrap_or_else(|| "nothing".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_in_the_last_bit_or_the_sign_of_zero_is_one() {
        let row = |x: f64| [Record::new().with("x", 1_usize).with("y", x)];
        assert_eq!(difference(&row(0.1), &row(0.1)), None);
        assert_eq!(
            difference(&row(0.3), &row(0.1 + 0.2)).unwrap(),
            "row 0, column 'y': 0.3 is stored, 0.30000000000000004 is computed"
        );
        assert!(difference(&row(0.0), &row(-0.0)).is_some());
        assert!(difference(&row(0.0), &[]).is_some());
        assert!(difference(&row(0.0), &[Record::new().with("x", 1_usize)]).is_some());
    }
}
