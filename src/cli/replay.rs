//! `factsmith replay`

use serde_json::json;

use super::{Context, aligned};
use crate::error::Result;
use crate::pipeline::progress::{count, tell};
use crate::pipeline::replay::{Inputs, find};
use crate::table::{Record, Value};

/// Compute one cell again and print its rows or its error
///
/// The cell is one that failed, which keeps its inputs in the store, or any other that the manifest names. A failed cell
/// that succeeds is stored, and its failure forgotten.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith replay 515f5e33bb30
  factsmith replay 515f5e33bb30 --json")]
pub struct Arguments {
    /// The key of the cell, or the first digits of it
    key: String,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let store = context.store()?;
    let cell = find(&arguments.key, &store, || context.manifest(), context.experiments)?;
    let outcome = cell.replay(store.root(), &tell);
    if context.options.json {
        let rows = outcome.as_ref().ok().map(|records| records.iter().map(as_json).collect::<Vec<_>>());
        let error = outcome.as_ref().err().map(ToString::to_string);
        context.print_json(&json!({
            "key": cell.key.to_string(),
            "experiment": cell.experiment.name(),
            "version": cell.experiment.version(),
            "params": cell.point.params,
            "seed": cell.seed,
            "rows": rows,
            "error": error,
        }))?;
    } else {
        context.print(&head(&cell))?;
        if let Ok(records) = &outcome {
            context.print(&rows(records))?;
        }
    }
    outcome.map(|_| 0)
}

fn head(cell: &Inputs) -> String {
    let (key, name, version) = (cell.key, cell.experiment.name(), cell.experiment.version());
    format!("cell {key}\nexperiment {name}, version {version}\nparams {}, seed {}\n", cell.point.json, cell.seed)
}

fn rows(records: &[Record]) -> String {
    let names = records.first().map(|first| first.values().iter().map(|(name, _)| name.clone()).collect());
    let values = records.iter().map(|record| record.values().iter().map(|(_, value)| text(value)).collect());
    format!("{}:\n{}", count(records.len(), "row"), aligned(&names.into_iter().chain(values).collect::<Vec<_>>()))
}

fn text(value: &Value) -> String {
    match json_value(value) {
        serde_json::Value::String(text) => text,
        serde_json::Value::Null => "-".to_owned(),
        other => other.to_string(),
    }
}

fn as_json(record: &Record) -> serde_json::Value {
    record.values().iter().map(|(name, value)| (name.clone(), json_value(value))).collect()
}

fn json_value(value: &Value) -> serde_json::Value {
    match value {
        Value::Float(number) => json!(number),
        Value::Int(number) => json!(number),
        Value::Text(text) => json!(text),
        Value::Bool(truth) => json!(truth),
    }
}
