//! Names of the rows of a table: words, tokens, entities.

use std::collections::HashMap;

use super::records::{Line, Records};
use super::source::Source;
use crate::error::{Error, Result, near_miss, unknown};

/// One name per row.
#[derive(Debug, Clone, Default)]
pub struct Names {
    names: Vec<String>,
    /// The row of each name, and another row with the same name where there is one.
    places: HashMap<String, (usize, Option<usize>)>,
}

impl Names {
    /// Reads the names of a table with `rows` rows: a `.txt` file with a name per line, or a column of a CSV, TSV or Parquet
    /// file, written `FILE:COLUMN`; without a name the column `name`, or else the first.
    ///
    /// # Errors
    /// When the file cannot be read, has no such column, or has not one name for each row.
    pub fn read(source: &Source, rows: usize) -> Result<Self> {
        Self::from_records(Records::read(source.path())?, source.member(), rows).map_err(|error| error.at(source))
    }

    fn from_records(mut records: Records, column: Option<&str>, rows: usize) -> Result<Self> {
        if records.header.is_none() && first_line_names(&records, column.unwrap_or("name")) {
            records.header = Some(records.lines.remove(0).cells);
        }
        let place = match column {
            None => records.column("name").unwrap_or(0),
            Some(wanted) => records.column(wanted).ok_or_else(|| no_column(&records, wanted))?,
        };
        let cell = |line: Line| line.cells.into_iter().nth(place).unwrap_or_default();
        Self::new(records.lines.into_iter().map(cell).collect(), rows)
    }

    /// Takes names in the order of the rows.
    ///
    /// # Errors
    /// When there are not as many as rows.
    pub fn new(names: Vec<String>, rows: usize) -> Result<Self> {
        if names.len() != rows {
            return Err(Error::input(format!("{} names for {rows} rows", names.len()))
                .fix("give one name for each row of the table, in its order"));
        }
        let mut places: HashMap<String, (usize, Option<usize>)> = HashMap::new();
        for (row, name) in names.iter().enumerate() {
            places.entry(name.clone()).and_modify(|place| place.1 = Some(row)).or_insert((row, None));
        }
        Ok(Self { names, places })
    }

    /// The name of a row.
    pub fn of(&self, row: usize) -> Option<&str> {
        self.names.get(row).map(String::as_str)
    }

    /// The row of a name.
    ///
    /// # Errors
    /// When no row has the name (with the near miss), or several have.
    pub fn row(&self, name: &str) -> Result<usize> {
        match self.places.get(name) {
            Some((row, None)) => Ok(*row),
            Some((row, Some(other))) => {
                Err(Error::input(format!("the name '{name}' belongs to rows {row} and {other}"))
                    .fix("use row numbers instead of names, or make the names unique"))
            }
            None => {
                let error = Error::input(format!("unknown name '{name}'"));
                Err(match near_miss(name, self.names.iter().map(String::as_str)) {
                    Some(near) => error.fix(format!("did you mean '{near}'?")),
                    None => error.fix(format!("use a name of the names file, such as '{}'", self.of(0).unwrap_or(""))),
                })
            }
        }
    }
}

fn first_line_names(records: &Records, column: &str) -> bool {
    records.lines.first().is_some_and(|line| line.cells.iter().any(|cell| cell.eq_ignore_ascii_case(column)))
}

fn no_column(records: &Records, wanted: &str) -> Error {
    let first: &[String] = match (&records.header, records.lines.first()) {
        (Some(header), _) => header,
        (None, Some(line)) => &line.cells,
        (None, None) => &[],
    };
    unknown("column", wanted, first.iter().map(String::as_str))
}
