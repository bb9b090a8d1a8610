//! Facts of one's own: two columns of a CSV, TSV or Parquet file.

use std::path::Path;

use super::relation::{Fact, Objects, Relation};
use crate::error::{Error, Result, unknown};
use crate::facts::files::records::{Line, Records};

/// Reads the facts of a file: the columns called `subject` and `object`, every row in the order of the file, every cell to the
/// letter. Text must have a header line, and as many cells in every line.
///
/// # Errors
/// When the file cannot be read, has no such column, or a row is no fact of its own, as [`Relation::new`]; rows are named by
/// their line in text (from 1) and by their number in Parquet (from 0).
pub fn read(path: &Path, subject: &str, object: &str, objects: Objects) -> Result<Relation> {
    let records = Records::read_exact(path)?;
    from_records(&records, subject, object, objects).map_err(|error| error.at(path.display()))
}

fn from_records(records: &Records, subject: &str, object: &str, objects: Objects) -> Result<Relation> {
    let (subjects, own_objects) = (column(records, subject)?, column(records, object)?);
    let fact = |line: &Line| Fact { subject: line.cells[subjects].clone(), object: line.cells[own_objects].clone() };
    let facts = records.lines.iter().map(fact).collect();
    let from = if records.unit == "row" { " (from 0)" } else { "" };
    let place = |fact: usize| format!("{} {}{from}", records.unit, records.lines[fact].number);
    Relation::with_places(&format!("{subject} → {object}"), facts, objects, place)
}

/// The place of the one column called `name`.
fn column(records: &Records, name: &str) -> Result<usize> {
    let header = records.header.as_deref().unwrap_or_default();
    let mut places = (0..header.len()).filter(|place| header[*place] == name);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (Some(_), Some(_)) => {
            Err(Error::input(format!("two columns are called '{name}'")).fix("give each column a name of its own"))
        }
        (None, _) => Err(unknown("column", name, header.iter().map(String::as_str).filter(|name| !name.is_empty()))),
    }
}
