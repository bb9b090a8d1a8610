//! Which stored cell is most like another one: equal in all fields but one or two.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::Value;

use super::experiment::Params;

/// A field in which two cells of one experiment differ. The seed is a field like the parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub field: String,
    pub old: Value,
    pub new: Value,
}

/// Cells with an index of what is left of them without one field, or without two.
pub struct Neighbours {
    cells: Vec<Params>,
    by_rest: HashMap<u64, Vec<usize>>,
}

/// Among more cells than this, only those that differ in one field are found.
const MOST_FOR_PAIRS: usize = 5_000;

impl Neighbours {
    /// Of cells given by [`fields`].
    pub fn new(cells: Vec<Params>) -> Self {
        let mut by_rest: HashMap<u64, Vec<usize>> = HashMap::new();
        let with_pairs = cells.len() <= MOST_FOR_PAIRS;
        for (number, cell) in cells.iter().enumerate() {
            let (ones, pairs) = rests(cell);
            let pairs = if with_pairs { pairs } else { Vec::new() };
            ones.into_iter().chain(pairs).for_each(|rest| by_rest.entry(rest.hash).or_default().push(number));
        }
        Self { cells, by_rest }
    }

    /// How the nearest cell differs from `cell`: in as few fields as possible, and in these by as little as possible.
    pub fn changes(&self, cell: &Params) -> Option<Vec<Change>> {
        let (ones, pairs) = rests(cell);
        [ones, pairs].iter().find_map(|rests| {
            let found = rests.iter().flat_map(|rest| {
                let numbers = self.by_rest.get(&rest.hash).into_iter().flatten();
                numbers.map(|number| &self.cells[*number]).map(|other| (rest.distance(other, cell), other))
            });
            let (_, nearest) = found.min_by(|a, b| a.0.total_cmp(&b.0))?;
            Some(changes(nearest, cell)).filter(|changes| changes.len() <= 2)
        })
    }
}

/// Parameters and seed of a cell.
pub fn fields(params: &Params, seed: u64) -> Params {
    let mut fields = params.clone();
    fields.entry("seed").or_insert_with(|| Value::from(seed));
    fields
}

/// What is left of a cell without one field, or without two.
struct Rest<'a> {
    hash: u64,
    without: [Option<&'a str>; 2],
}

impl Rest<'_> {
    /// How far two cells are from each other that differ only in the fields this is without: up to 1 for each.
    fn distance(&self, old: &Params, new: &Params) -> f64 {
        let one = |name: &str| match (old.get(name).and_then(Value::as_f64), new.get(name).and_then(Value::as_f64)) {
            (Some(old), Some(new)) if old == new => 0.0,
            (Some(old), Some(new)) => (new - old).abs() / (new.abs() + old.abs()),
            _ => 1.0,
        };
        self.without.iter().flatten().map(|name| one(name)).sum()
    }
}

/// A cell without each of its fields, and without each pair of them.
fn rests(cell: &Params) -> (Vec<Rest<'_>>, Vec<Rest<'_>>) {
    let hash = |(name, value): (&String, &Value)| {
        let mut hasher = DefaultHasher::new();
        (name, value.to_string()).hash(&mut hasher);
        hasher.finish()
    };
    // A sum does not depend on the order, and a field is taken out of it by subtraction.
    let fields: Vec<(&str, u64)> = cell.iter().map(|field| (field.0.as_str(), hash(field))).collect();
    let all = fields.iter().fold(0_u64, |all, (_, hash)| all.wrapping_add(*hash));
    let without = |one: usize| Rest { hash: all.wrapping_sub(fields[one].1), without: [Some(fields[one].0), None] };
    let without_both = |one: usize, other: usize| Rest {
        hash: all.wrapping_sub(fields[one].1).wrapping_sub(fields[other].1),
        without: [Some(fields[one].0), Some(fields[other].0)],
    };
    let ones = (0..fields.len()).map(without).collect();
    let pairs = (0..fields.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
    (ones, pairs.map(|(one, other)| without_both(one, other)).collect())
}

fn changes(old: &Params, new: &Params) -> Vec<Change> {
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let value = |cell: &Params, name: &String| cell.get(name).cloned().unwrap_or(Value::Null);
    names
        .into_iter()
        .map(|name| Change { field: name.clone(), old: value(old, name), new: value(new, name) })
        .filter(|change| change.old != change.new)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str) -> Params {
        serde_json::from_str(text).unwrap()
    }

    fn nearest(cells: &[&str], other: &str) -> Option<Vec<(String, String, String)>> {
        let found = Neighbours::new(cells.iter().map(|text| cell(text)).collect()).changes(&cell(other))?;
        Some(found.into_iter().map(|it| (it.field, it.old.to_string(), it.new.to_string())).collect())
    }

    fn change(field: &str, old: &str, new: &str) -> (String, String, String) {
        (field.to_owned(), old.to_owned(), new.to_owned())
    }

    #[test]
    fn the_fewest_fields_and_then_the_smallest_step_decide() {
        let stored =
            [r#"{"d":8,"steps":100,"m":"a"}"#, r#"{"d":8,"steps":300,"m":"a"}"#, r#"{"d":4,"steps":400,"m":"b"}"#];
        let found = nearest(&stored, r#"{"d":8,"steps":400,"m":"a"}"#);
        assert_eq!(found, Some(vec![change("steps", "300", "400")]));
        let found = nearest(&stored, r#"{"d":8,"steps":400,"m":"c"}"#);
        assert_eq!(found, Some(vec![change("m", "\"a\"", "\"c\""), change("steps", "300", "400")]));
        assert_eq!(nearest(&stored, r#"{"d":1,"steps":1,"m":"c"}"#), None);
    }

    #[test]
    fn a_field_that_came_or_went_is_a_change() {
        assert_eq!(nearest(&[r#"{"d":8}"#], r#"{"d":8,"m":"a"}"#), Some(vec![change("m", "null", "\"a\"")]));
        assert_eq!(nearest(&[r#"{"d":8,"m":"a"}"#], r#"{"d":8}"#), Some(vec![change("m", "\"a\"", "null")]));
    }
}
