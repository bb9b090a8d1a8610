//! The one dependency of the notebooks: factsmith, polars and plotters behind one shared library.
//!
//! A notebook begins with
//!
//! ```text
//! :dep lab = { path = "lab" }
//! use lab::prelude::*;
//! start();
//! ```
//!
//! and then holds one block `{ ... };` per table or figure. A block keeps no variables between cells, so the kernel need
//! not find out their types, which is what makes cells slow; without its semicolon the kernel shows its value, `()`.
//! Errors are for [`ok`], [`show`] or `unwrap`: at a `?` the kernel prints the error and goes on with the next cell.

pub use factsmith;
pub use plotters;
pub use polars;

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use factsmith::claims::{self, Claim, Decided};
use factsmith::error::{Error, Result};
use factsmith::figures;
use factsmith::methods::METHODS;
use factsmith::num::statistics;
use factsmith::paper::measures;
use factsmith::table::{Record, Row, Table, Value};
use polars::prelude::DataFrame;

/// The names that every notebook uses.
pub mod prelude {
    pub use crate::{
        frame, means, medians, ok, orders, profile, results, show, show_claims, show_figure, show_frame, show_svg,
        show_text, start, table,
    };
    pub use factsmith;
    pub use plotters;
    pub use polars;
    pub use polars::prelude::DataFrame;
}

/// Makes a panic in any later cell end the process that runs the cells.
///
/// The kernel catches panics and calls the cell a success; a process that died it reports as an error.
pub fn start() {
    std::panic::set_hook(Box::new(|panic| die(&panic.to_string())));
}

/// Says why on stderr and ends the process that runs the cells.
pub fn die(why: &str) -> ! {
    eprintln!("{why}");
    // The kernel hands on stderr and the end of the process by different ways; the text has to be there first.
    std::thread::sleep(Duration::from_millis(200));
    std::process::abort()
}

/// The value of a result; an error ends the run with its message.
pub fn ok<T, E: Display>(result: std::result::Result<T, E>) -> T {
    result.unwrap_or_else(|error| die(&format!("error: {error}")))
}

/// Prints the value of a result; an error ends the run with its message.
pub fn show<T: Display, E: Display>(result: std::result::Result<T, E>) {
    show_text(&ok(result).to_string());
}

/// Shows a frame as text.
pub fn show_frame(frame: &DataFrame) {
    show_text(&frame.to_string());
}

/// Shows text as the cell's result. Unlike printed text it always arrives before the cell ends, but a cell has only
/// one result of each kind: the last.
pub fn show_text(text: &str) {
    content("text/plain", text);
}

/// Shows an SVG picture as the cell's result.
///
/// As HTML, because that is what notebook viewers and converters keep and draw inline.
pub fn show_svg(svg: &str) {
    content("text/html", &format!("<div>{}</div>", svg.trim()));
}

/// Shows a figure of the project, drawn from the result tables.
pub fn show_figure(name: &str) {
    let draw = || (figures::find(name)?.make)(&read)?.svg();
    show_svg(&ok(draw()));
}

/// Shows the claims that rest on some stages, with their verdicts.
pub fn show_claims(stages: &[&str]) {
    let decide = |claim: &Claim| claims::decide(claim, profile().parse()?, Some(&read(&claim.stage)?));
    let all = ok(claims::read(Path::new("../claims.toml")));
    let own = all.iter().filter(|claim| stages.contains(&claim.stage.as_str()));
    let decided: Vec<Decided> = ok(own.map(decide).collect::<Result<_>>());
    let lines = decided.iter().map(|row| {
        let (claim, verdict) = (&row.claim, row.verdict.name());
        format!("{:<28}{verdict:<28}{} (paper: {})\n", claim.id, row.measured(), claim.compare)
    });
    show_text(&lines.collect::<String>());
}

/// The measured order of growth of every method of the stage `constructions` beside the one that is known of it.
pub fn orders() -> Table {
    let (table, measure) = (table("constructions"), ok(measures::find("exponent_of_facts")));
    let mut records = Vec::new();
    for about in METHODS.iter().filter(|about| measure.methods.contains(&about.name)) {
        if let Some(found) = ok(measure.of(about.name, "isotropic", &table)) {
            let record = Record::new().with("method", about.title).with("order", about.cost_law);
            records.push(record.with("exponent", found.value).with("dimension", found.dimension));
        }
    }
    ok(Table::from_records(&records))
}

/// Medians of a column of numbers over the rows that `keep` chooses, grouped by the values of other columns; `found` counts
/// the rows with a value, `rows` all of them.
pub fn medians(stage: &str, by: &[&str], column: &str, keep: impl Fn(&Row) -> bool) -> Table {
    let table = table(stage);
    let mut groups: Vec<(Vec<Value>, Vec<f64>, usize)> = Vec::new();
    for row in table.rows().filter(|row| keep(row)) {
        let key: Vec<Value> = by.iter().map(|name| ok(row.value(name))).collect();
        let place = groups.iter().position(|(other, ..)| *other == key).unwrap_or_else(|| {
            groups.push((key, Vec::new(), 0));
            groups.len() - 1
        });
        groups[place].1.extend(number(&row, column));
        groups[place].2 += 1;
    }
    let records: Vec<Record> = groups
        .into_iter()
        .map(|(key, values, rows)| {
            let named = by.iter().zip(key).fold(Record::new(), |record, (name, value)| record.with(name, value));
            let middle = (!values.is_empty()).then(|| statistics::median(&values));
            named.with(column, middle).with("found", values.len()).with("rows", rows)
        })
        .collect();
    ok(Table::from_records(&records))
}

/// Means of columns of numbers over the rows that `keep` chooses, grouped by the values of other columns; a mean is absent where
/// no row has a value.
pub fn means(stage: &str, by: &[&str], columns: &[&str], keep: impl Fn(&Row) -> bool) -> Table {
    let table = table(stage);
    let mut groups: Vec<(Vec<Value>, Vec<Vec<f64>>)> = Vec::new();
    for row in table.rows().filter(|row| keep(row)) {
        let key: Vec<Value> = by.iter().map(|name| ok(row.value(name))).collect();
        let place = groups.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
            groups.push((key, vec![Vec::new(); columns.len()]));
            groups.len() - 1
        });
        for (values, column) in groups[place].1.iter_mut().zip(columns) {
            values.extend(number(&row, column));
        }
    }
    let records: Vec<Record> = groups
        .into_iter()
        .map(|(key, columns_of_values)| {
            let named = by.iter().zip(key).fold(Record::new(), |record, (name, value)| record.with(name, value));
            columns.iter().zip(columns_of_values).fold(named, |record, (name, values)| {
                record.with(name, (!values.is_empty()).then(|| statistics::mean(&values)))
            })
        })
        .collect();
    ok(Table::from_records(&records))
}

/// The number in a column, whole or not.
fn number(row: &Row, column: &str) -> Option<f64> {
    match ok(row.value(column)) {
        Value::Int(number) => number.map(|number| number as f64),
        Value::Float(number) => number,
        Value::Text(_) | Value::Bool(_) => die(&format!("column '{column}' holds no numbers")),
    }
}

/// Hands the kernel a result of another type than text, in the way it asks for.
fn content(mime_type: &str, text: &str) {
    println!("EVCXR_BEGIN_CONTENT {mime_type}\n{text}\nEVCXR_END_CONTENT");
}

/// The profile whose results the notebook shows: `FACTSMITH_PROFILE`, or `laptop`.
pub fn profile() -> String {
    std::env::var("FACTSMITH_PROFILE").unwrap_or_else(|_| "laptop".to_owned())
}

/// The folder of result tables: `FACTSMITH_RESULTS`, or `../results/PROFILE` beside the notebooks.
pub fn results() -> PathBuf {
    std::env::var_os("FACTSMITH_RESULTS").map_or_else(|| Path::new("../results").join(profile()), PathBuf::from)
}

/// The result table of a stage; a missing or damaged one ends the run and says which command makes it.
pub fn table(stage: &str) -> Table {
    ok(read(stage))
}

/// The result table of a stage as a polars frame.
pub fn frame(stage: &str) -> DataFrame {
    ok(read(stage).and_then(|table| table.to_frame()))
}

fn read(stage: &str) -> Result<Table> {
    let path = results().join(format!("{stage}.parquet"));
    Table::read_parquet(&path).map_err(|error: Error| {
        let command = format!("make reproduce PROFILE={}", profile());
        Error::input(error.what()).fix(format!("run `{command}`, which computes the tables"))
    })
}
