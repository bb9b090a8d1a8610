//! Fact maps: which value belongs to which key, from a CSV, TSV or Parquet file.

use std::collections::HashMap;
use std::path::Path;

use super::names::Names;
use super::records::{Line, Records};
use super::source::Format;
use crate::error::{Error, Result};

/// One side of the facts: a table and the names of its rows, where it has any.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// What its rows are called in messages: `key` or `value`.
    noun: &'static str,
    rows: usize,
    names: Option<&'a Names>,
}

impl<'a> Side<'a> {
    pub fn keys(rows: usize, names: Option<&'a Names>) -> Self {
        Self { noun: "key", rows, names }
    }

    pub fn values(rows: usize, names: Option<&'a Names>) -> Self {
        Self { noun: "value", rows, names }
    }

    /// The row that a cell stands for: a name where the rows have names, a number counted from 0 otherwise.
    fn row(&self, cell: &str) -> Result<usize> {
        if cell.is_empty() {
            return Err(
                Error::input(format!("the {} is missing", self.noun)).fix("write a key and a value in every line")
            );
        }
        if let Some(names) = self.names {
            return names.row(cell);
        }
        let row: usize = cell.parse().map_err(|_| {
            Error::input(format!("the {} '{cell}' is not a row number", self.noun))
                .fix(format!("count rows from 0, or give their names: --{}-names FILE", self.noun))
        })?;
        if row >= self.rows {
            return Err(Error::input(format!("there is no {} {row}: there are {} {0}s", self.noun, self.rows))
                .fix("count rows from 0; a map cannot hold more facts than the table has rows"));
        }
        Ok(row)
    }
}

/// Facts as pairs of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactMap {
    /// Row of the key and row of the value, in the order of the file, each key once.
    pub facts: Vec<(usize, usize)>,
}

impl FactMap {
    /// Reads facts: the columns called `key` and `value`, or else the first two.
    ///
    /// # Errors
    /// When a line names a row that is not there, two lines give a key different values, or there is no fact.
    pub fn read(path: &Path, keys: Side, values: Side) -> Result<Self> {
        Self::from_records(Records::read(path)?, &path.display().to_string(), keys, values)
    }

    /// The same for the bytes of a file.
    ///
    /// ```
    /// use factsmith::facts::files::Format;
    /// use factsmith::facts::files::fact_map::{FactMap, Side};
    /// let text = b"value,key\n7,0\n3,1\n".to_vec();
    /// let map = FactMap::from_bytes(text, Format::Csv, Side::keys(2, None), Side::values(8, None)).unwrap();
    /// assert_eq!(map.facts, [(0, 7), (1, 3)]);
    /// ```
    ///
    /// # Errors
    /// As [`FactMap::read`].
    pub fn from_bytes(bytes: Vec<u8>, format: Format, keys: Side, values: Side) -> Result<Self> {
        Self::from_records(Records::from_bytes(bytes, format)?, "the facts", keys, values)
    }

    /// Key i has value i.
    ///
    /// # Errors
    /// When there are not as many keys as values.
    pub fn in_order(keys: usize, values: usize) -> Result<Self> {
        if keys != values {
            return Err(Error::input(format!("{keys} keys and {values} values"))
                .fix("say with --facts FILE which value belongs to which key"));
        }
        Ok(Self { facts: (0..keys).map(|row| (row, row)).collect() })
    }

    fn from_records(mut records: Records, file: &str, keys: Side, values: Side) -> Result<Self> {
        take_header(&mut records, &[keys, values]);
        let (key_column, value_column) = match (records.column("key"), records.column("value")) {
            (Some(key), Some(value)) => (key, value),
            _ => (0, 1),
        };
        let mut lines: HashMap<usize, (usize, u64)> = HashMap::new();
        let mut facts = Vec::new();
        for line in &records.lines {
            let place = |error: Error| error.at(format!("{file}, {} {}", records.unit, line.number));
            let key = keys.row(cell(line, key_column)).map_err(place)?;
            let value = values.row(cell(line, value_column)).map_err(place)?;
            match lines.insert(key, (value, line.number)) {
                None => facts.push((key, value)),
                Some((other, _)) if other == value => {}
                Some((other, number)) => {
                    let what = format!("key {key} has value {other} in {} {number} and {value} here", records.unit);
                    return Err(place(Error::input(what).fix("keep one of the two")));
                }
            }
        }
        if facts.is_empty() {
            return Err(Error::input("the file holds no fact").fix("write a line 'key,value' for each fact").at(file));
        }
        Ok(Self { facts })
    }
}

fn cell(line: &Line, place: usize) -> &str {
    line.cells.get(place).map_or("", String::as_str)
}

/// Takes the first line for a header when it holds the words key and value, or when rows are numbered and it holds no number.
fn take_header(records: &mut Records, sides: &[Side; 2]) {
    let Some(first) = records.lines.first().filter(|_| records.header.is_none()) else { return };
    let holds = |word: &str| first.cells.iter().any(|cell| cell.eq_ignore_ascii_case(word));
    let numbered = sides.iter().all(|side| side.names.is_none());
    let wordy =
        first.cells.len() > 1 && first.cells.iter().all(|cell| !cell.is_empty() && cell.parse::<f64>().is_err());
    if (holds("key") && holds("value")) || (numbered && wordy) {
        records.header = Some(records.lines.remove(0).cells);
    }
}
