//! Tables of vectors and fact maps from files. `docs/inputs.md` describes every format with examples and limits.
//!
//! A file says first how many rows and columns it holds; numbers are read and converted only for the rows that are asked
//! for, so that a sample of a file larger than memory is cheap. Nothing is allocated on the word of a header: what it
//! promises is compared with the length of the file first.

mod content;
mod csv;
mod dense;
pub mod fact_map;
pub mod names;
mod npy;
mod npz;
mod parquet;
mod quotes;
pub mod records;
pub mod rows;
mod safetensors;
mod source;

use std::path::Path;

use ndarray::{Array2, ArrayView2};

pub use source::{Format, Source};

use crate::error::{Error, Result};
use content::Content;
use rows::Pick;

/// An opened table: its shape is known, its numbers are still in the file.
pub struct TableFile {
    source: String,
    rows: usize,
    columns: usize,
    body: Body,
}

enum Body {
    Dense(dense::Dense),
    Csv(csv::CsvTable),
    Parquet(parquet::ParquetTable),
}

/// Rows of a table in memory, and which rows of the file they are.
#[derive(Debug, Clone)]
pub struct Picked {
    pub table: Array2<f64>,
    /// Row i of `table` is row `rows[i]` of the file, counted from 0.
    pub rows: Vec<usize>,
}

impl TableFile {
    /// Opens a table without reading its numbers.
    ///
    /// # Errors
    /// When the file is missing, of an unknown format, damaged, or not a two-dimensional table of floats.
    pub fn open(source: &Source) -> Result<Self> {
        let format = source.format()?;
        Self::from_content(format, Content::open(source.path())?, source.member())
            .map(|table| Self { source: source.to_string(), ..table })
            .map_err(|error| error.at(source))
    }

    /// The same for the bytes of a file.
    ///
    /// ```
    /// use factsmith::facts::files::{Format, TableFile};
    /// let table = TableFile::from_bytes(Format::Csv, b"1,2\n3,4\n5,6\n".to_vec(), None).unwrap();
    /// assert_eq!((table.rows(), table.columns()), (3, 2));
    /// assert_eq!(table.read(&[2, 0]).unwrap(), ndarray::array![[5.0, 6.0], [1.0, 2.0]]);
    /// ```
    ///
    /// # Errors
    /// As [`TableFile::open`].
    pub fn from_bytes(format: Format, bytes: Vec<u8>, member: Option<&str>) -> Result<Self> {
        Self::from_content(format, Content::from(bytes), member)
    }

    fn from_content(format: Format, content: Content, member: Option<&str>) -> Result<Self> {
        if let Some(member) = member.filter(|_| !format.has_members()) {
            return Err(Error::input(format!("a {} file holds one table, not one called '{member}'", format.name()))
                .fix(format!("leave out ':{member}'")));
        }
        let body = match format {
            Format::Npy => Body::Dense(npy::open(content)?),
            Format::Npz => Body::Dense(npz::open(content, member)?),
            Format::Safetensors => Body::Dense(safetensors::open(content, member)?),
            Format::Parquet => Body::Parquet(parquet::ParquetTable::open(content, member)?),
            Format::Csv => Body::Csv(csv::CsvTable::open(content, b',')?),
            Format::Tsv => Body::Csv(csv::CsvTable::open(content, b'\t')?),
        };
        let (rows, columns) = match &body {
            Body::Dense(table) => (table.rows(), table.columns()),
            Body::Csv(table) => (table.rows(), table.columns()),
            Body::Parquet(table) => (table.rows(), table.columns()),
        };
        if rows == 0 || columns == 0 {
            return Err(empty(rows, columns));
        }
        Ok(Self { source: format!("a {} file", format.name()), rows, columns, body })
    }

    /// Number of rows in the file.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Reads some rows, in the order given, and checks that their numbers are finite.
    ///
    /// # Errors
    /// When a row is not there, cannot be read, or holds a number that is not finite.
    pub fn read(&self, rows: &[usize]) -> Result<Array2<f64>> {
        let result = self.read_checked(rows);
        result.map_err(|error| error.at(&self.source))
    }

    fn read_checked(&self, rows: &[usize]) -> Result<Array2<f64>> {
        if let Some(row) = rows.iter().find(|row| **row >= self.rows) {
            return Err(Error::input(format!("there is no row {row}: the table has {} rows", self.rows))
                .fix("count rows from 0"));
        }
        let table = match &self.body {
            Body::Dense(table) => table.read(rows)?,
            Body::Csv(table) => table.read(rows)?,
            Body::Parquet(table) => table.read(rows)?,
        };
        check_finite(table.view(), |row| rows[row])?;
        Ok(table)
    }

    /// Reads the rows that `pick` chooses.
    ///
    /// # Errors
    /// As [`TableFile::read`], and when `pick` asks for more than there is.
    pub fn pick(&self, pick: &Pick) -> Result<Picked> {
        let rows = pick.resolve(self.rows).map_err(|error| error.at(&self.source))?;
        Ok(Picked { table: self.read(&rows)?, rows })
    }
}

/// Reads a whole table: the short form for `.npy`, `.npz`, `.safetensors`, Parquet, CSV and TSV files with one table.
///
/// # Errors
/// As [`TableFile::open`] and [`TableFile::read`].
pub fn read_table(path: &Path) -> Result<Array2<f64>> {
    Ok(TableFile::open(&Source::from_path(path))?.pick(&Pick::all())?.table)
}

fn empty(rows: usize, columns: usize) -> Error {
    Error::input(format!("the table has {rows} rows and {columns} columns")).fix("give at least one row and one column")
}

/// Checks that a table has rows and columns and that every number is finite; `name` says which table it is.
pub fn check_table(name: &str, table: ArrayView2<f64>) -> Result<()> {
    if table.nrows() == 0 || table.ncols() == 0 {
        return Err(empty(table.nrows(), table.ncols()).at(name));
    }
    check_finite(table, |row| row).map_err(|error| error.at(name))
}

/// How many faulty rows an error lists.
const LISTED: usize = 5;

fn check_finite(table: ArrayView2<f64>, number: impl Fn(usize) -> usize) -> Result<()> {
    // Looks at all entries: a loop without an early exit runs in vectors.
    if table.iter().fold(true, |all, value| all & value.is_finite()) {
        return Ok(());
    }
    let Some(((row, column), value)) = table.indexed_iter().find(|(_, value)| !value.is_finite()) else {
        return Ok(());
    };
    let is_faulty = |row: &usize| table.row(*row).iter().any(|value| !value.is_finite());
    let faulty: Vec<usize> = (row..table.nrows()).filter(is_faulty).map(&number).collect();
    let listed: Vec<String> = faulty.iter().take(LISTED).map(usize::to_string).collect();
    let more = if faulty.len() > LISTED { format!(" and {} more", faulty.len() - LISTED) } else { String::new() };
    let rows = if faulty.len() == 1 { "row" } else { "rows" };
    Err(Error::input(format!("the number at row {}, column {column} is {value}", number(row)))
        .fix(format!("remove or repair {rows} {}{more}", listed.join(", "))))
}
