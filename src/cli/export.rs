//! `factsmith export`

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use serde_json::{Map, Value as Json};

use super::Context;
use super::output::check_output;
use crate::durable;
use crate::error::{Error, Result};
use crate::table::{Table, Value};

/// Write the table of a stage as CSV, JSON or Parquet
///
/// Reads the results of the profile; where the stage has none, the published results that came with the project. Numbers
/// are written so that reading them gives back every bit.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith export storage_cost
  factsmith export decodability --format json | jq '.[0]'
  factsmith export storage_cost --format parquet -o /tmp/storage_cost.parquet")]
pub struct Arguments {
    /// The stage whose table is written
    #[arg(value_name = "STAGE")]
    stage: String,
    /// How to write it [default: csv, with --json json]
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Format {
    /// A header line, then a line per row; an absent value is an empty field
    Csv,
    /// The file as the store of results has it
    Parquet,
    /// A list of objects; an absent value is null
    Json,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    context.manifest()?.stage(&arguments.stage)?;
    let default = if context.options.json { Format::Json } else { Format::Csv };
    let format = arguments.format.unwrap_or(default);
    if context.options.json && format != Format::Json {
        context.refuse_json("another format")?;
    }
    let sources = context.sources()?;
    let table = sources.table(&arguments.stage)?;
    if let Some(path) = &arguments.output {
        check_output(path, &[&context.options.manifest, &sources.path(&arguments.stage)])?;
    }
    let bytes = match format {
        Format::Csv => csv(&table)?,
        Format::Parquet => table.to_parquet_bytes()?,
        Format::Json => format!("{:#}\n", json(&table)).into_bytes(),
    };
    match &arguments.output {
        Some(path) => durable::replace(path, |file| file.write_all(&bytes))?,
        None if format == Format::Parquet && std::io::stdout().is_terminal() => {
            return Err(Error::input("Parquet is nothing for a terminal").fix("name a file: -o FILE"));
        }
        None => context.print_bytes(&bytes)?,
    }
    Ok(0)
}

fn csv(table: &Table) -> Result<Vec<u8>> {
    let failed = |error: csv::Error| Error::failure(format!("cannot write CSV: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(table.columns().iter().map(|(name, _)| name)).map_err(failed)?;
    for row in table.rows() {
        writer
            .write_record(row.record().values().iter().map(|(_, value)| value.text().unwrap_or_default()))
            .map_err(failed)?;
    }
    writer.into_inner().map_err(|error| Error::failure(format!("cannot write CSV: {error}")))
}

fn json(table: &Table) -> Json {
    let row = |record: &crate::table::Record| -> Json {
        record.values().iter().map(|(name, value)| (name.clone(), as_json(value))).collect::<Map<_, _>>().into()
    };
    table.rows().map(|own| row(&own.record())).collect::<Vec<_>>().into()
}

fn as_json(value: &Value) -> Json {
    match value {
        Value::Float(number) => Json::from(*number),
        Value::Int(number) => Json::from(*number),
        Value::Text(text) => Json::from(text.clone()),
        Value::Bool(truth) => Json::from(*truth),
    }
}
