//! From the cells of a stage to its table.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use super::key::Key;
use super::plan::{Cell, PlannedStage};
use crate::error::{Error, Result};
use crate::table::{Record, Table, Value};

/// The table of a stage: cells in plan order; parameters and seed in front, except what the records carry themselves.
pub fn table(stage: &PlannedStage, records: &HashMap<Key, Vec<Record>>) -> Result<Table> {
    let cells = stage.table_cells();
    let names = parameter_names(&cells);
    let mut rows = Vec::new();
    for cell in cells {
        let own = records.get(&cell.key).ok_or_else(|| Error::failure(format!("cell {} is missing", cell.key)))?;
        for record in own {
            let carried: HashSet<&str> = record.values().iter().map(|(name, _)| name.as_str()).collect();
            let mut row = Record::new();
            for (name, absent) in names.iter().filter(|(name, _)| !carried.contains(name.as_str())) {
                row = row.with(name, cell.point.params.get(name).map_or_else(|| absent.clone(), to_value));
            }
            if !carried.contains("seed") {
                row = row.with("seed", cell.seed as i64);
            }
            rows.push(row.and(record.clone()));
        }
    }
    Table::from_records(&rows).map_err(|error| Error::failure(format!("stage '{}': {}", stage.name, error.what())))
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
