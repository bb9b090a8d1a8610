//! From the cells of a stage to its table.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use super::experiment::Params;
use super::key::Key;
use super::plan::{Cell, PlannedStage};
use crate::error::{Error, Result};
use crate::table::{Record, Table, Value};

/// The table of a stage: cells in plan order; parameters in front, then the seed, then what else the records hold. Where a
/// record names a parameter its value stands in that place: a cell can be given a list and have a row for each of its entries.
pub fn table(stage: &PlannedStage, records: &HashMap<Key, Vec<Record>>) -> Result<Table> {
    let cells = stage.table_cells();
    let names = parameter_names(&cells);
    let mut rows = Vec::new();
    for cell in cells {
        let own = records.get(&cell.key).ok_or_else(|| Error::failure(format!("cell {} is missing", cell.key)))?;
        rows.extend(own.iter().map(|record| row(&names, &cell.point.params, cell.seed, record)));
    }
    Table::from_records(&rows).map_err(|error| Error::failure(format!("stage '{}': {}", stage.name, error.what())))
}

/// One row, from the parameters and seed of its cell and what the cell recorded.
fn row(names: &[(String, Value)], params: &Params, seed: u64, record: &Record) -> Record {
    let mut own: HashMap<&str, &Value> = record.values().iter().map(|(name, value)| (&**name, value)).collect();
    let mut row = Record::new();
    for (name, absent) in names {
        let given = || params.get(name).map_or_else(|| absent.clone(), to_value);
        row = row.with(name, own.remove(&**name).cloned().unwrap_or_else(given));
    }
    row = row.with("seed", own.remove("seed").cloned().unwrap_or_else(|| Value::from(seed as i64)));
    let others = record.values().iter().filter(|(name, _)| own.contains_key(&**name));
    others.fold(row, |row, (name, value)| row.with(name, value.clone()))
}

/// The parameters of all cells, each with the value that stands for its absence.
fn parameter_names(cells: &[&Cell]) -> Vec<(String, Value)> {
    let mut names: Vec<(String, Value)> = Vec::new();
    let mut seen = HashSet::new();
    for cell in cells {
        for (name, value) in &cell.point.params {
            if seen.insert(name.as_str()) {
                names.push((name.clone(), absent(&to_value(value))));
            }
        }
    }
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names
}

fn absent(value: &Value) -> Value {
    match value {
        Value::Float(_) => Value::Float(None),
        Value::Int(_) => Value::Int(None),
        Value::Text(_) => Value::Text(None),
        Value::Bool(_) => Value::Bool(None),
    }
}

/// A parameter as a value of a table; lists and structs become their JSON text.
fn to_value(parameter: &Json) -> Value {
    match parameter {
        Json::Bool(truth) => Value::from(*truth),
        Json::String(text) => Value::from(text.as_str()),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::from(integer),
            None => Value::Float(number.as_f64()),
        },
        other => Value::from(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_names_stands_in_the_place_of_the_parameter() {
        let params: Params = serde_json::from_str(r#"{"rate": [0.1, 0.2], "size": 3}"#).unwrap();
        let names = [("absent", Value::Float(None)), ("rate", Value::Text(None)), ("size", Value::Int(None))];
        let names = names.map(|(name, absent)| (name.to_owned(), absent));
        let row = |record: Record| row(&names, &params, 7, &record).values().to_vec();
        let of = |values: [(&str, Value); 5]| values.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let (absent, size, seed) = (("absent", Value::Float(None)), ("size", Value::Int(Some(3))), Value::Int(Some(7)));
        let loss = ("loss", Value::from(0.5));
        let given =
            [absent.clone(), ("rate", Value::from("[0.1,0.2]")), size.clone(), ("seed", seed.clone()), loss.clone()];
        assert_eq!(row(Record::new().with("loss", 0.5)), of(given));
        let carried = [absent, ("rate", Value::from(0.2)), size, ("seed", seed), loss];
        assert_eq!(row(Record::new().with("loss", 0.5).with("rate", 0.2)), of(carried));
    }
}
