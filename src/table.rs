//! Typed result tables and their Parquet files.
//!
//! A cell returns [`Record`]s, a stage keeps them as one [`Table`]. Polars reads and writes the files and does nothing
//! else: no number of a result is computed by it.

use std::fs::File;
use std::path::Path;

use polars::io::mmap::MmapBytesReader;
use polars::prelude::{
    Column as PolarsColumn, DataFrame, DataType, NamedFrom, ParquetReader, ParquetWriter, SerReader, Series,
};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, unknown};

/// One value of a table; `None` means that there is no such value, and says so in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Value {
    #[serde(rename = "f")]
    Float(Option<f64>),
    #[serde(rename = "i")]
    Int(Option<i64>),
    #[serde(rename = "t")]
    Text(Option<String>),
    #[serde(rename = "b")]
    Bool(Option<bool>),
}

macro_rules! into_value {
    ($($from:ty => $variant:ident),*) => {$(
        impl From<$from> for Value {
            fn from(value: $from) -> Self {
                Self::$variant(Some(value.into()))
            }
        }
        impl From<Option<$from>> for Value {
            fn from(value: Option<$from>) -> Self {
                Self::$variant(value.map(Into::into))
            }
        }
    )*};
}
into_value!(f64 => Float, i64 => Int, u32 => Int, String => Text, &str => Text, bool => Bool);

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Int(Some(value as i64))
    }
}

impl From<Option<usize>> for Value {
    fn from(value: Option<usize>) -> Self {
        Self::Int(value.map(|number| number as i64))
    }
}

/// One row: named values in order.
///
/// ```
/// use factsmith::table::{Record, Table};
/// let table = Table::from_records(&[
///     Record::new().with("kappa", 1.0).with("hidden", 12_usize),
///     Record::new().with("kappa", 10.0).with("hidden", None::<usize>),
/// ]).unwrap();
/// assert_eq!(table.height(), 2);
/// assert_eq!(table.row(1).float("kappa").unwrap(), Some(10.0));
/// assert_eq!(table.row(1).int("hidden").unwrap(), None);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record(Vec<(String, Value)>);

impl Record {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a named value.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// Appends all values of another record.
    pub fn and(mut self, other: Record) -> Self {
        self.0.extend(other.0);
        self
    }

    pub fn values(&self) -> &[(String, Value)] {
        &self.0
    }

    /// The first value that is not a finite number, by name.
    pub fn non_finite(&self) -> Option<&str> {
        let is_bad = |value: &Value| matches!(value, Value::Float(Some(number)) if !number.is_finite());
        self.0.iter().find(|(_, value)| is_bad(value)).map(|(name, _)| name.as_str())
    }
}

/// A column of one type.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    Float(Vec<Option<f64>>),
    Int(Vec<Option<i64>>),
    Text(Vec<Option<String>>),
    Bool(Vec<Option<bool>>),
}

impl Column {
    fn like(value: &Value, capacity: usize) -> Self {
        match value {
            Value::Float(_) => Self::Float(Vec::with_capacity(capacity)),
            Value::Int(_) => Self::Int(Vec::with_capacity(capacity)),
            Value::Text(_) => Self::Text(Vec::with_capacity(capacity)),
            Value::Bool(_) => Self::Bool(Vec::with_capacity(capacity)),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Float(_) => "float",
            Self::Int(_) => "int",
            Self::Text(_) => "text",
            Self::Bool(_) => "bool",
        }
    }

    fn push(&mut self, value: &Value) -> bool {
        match (self, value) {
            (Self::Float(column), Value::Float(value)) => column.push(*value),
            (Self::Int(column), Value::Int(value)) => column.push(*value),
            (Self::Text(column), Value::Text(value)) => column.push(value.clone()),
            (Self::Bool(column), Value::Bool(value)) => column.push(*value),
            _ => return false,
        }
        true
    }

    /// The value at `row`.
    pub fn get(&self, row: usize) -> Value {
        match self {
            Self::Float(column) => Value::Float(column[row]),
            Self::Int(column) => Value::Int(column[row]),
            Self::Text(column) => Value::Text(column[row].clone()),
            Self::Bool(column) => Value::Bool(column[row]),
        }
    }
}

/// Named typed columns of equal length.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    height: usize,
    columns: Vec<(String, Column)>,
}

impl Table {
    /// Builds a table from rows that all have the same names and types, in the same order.
    pub fn from_records(records: &[Record]) -> Result<Self> {
        let Some(first) = records.first() else { return Ok(Self::default()) };
        let mut columns: Vec<(String, Column)> =
            first.0.iter().map(|(name, value)| (name.clone(), Column::like(value, records.len()))).collect();
        for (number, record) in records.iter().enumerate() {
            let fits = record.0.len() == columns.len()
                && columns
                    .iter_mut()
                    .zip(&record.0)
                    .all(|((name, column), (other, value))| name == other && column.push(value));
            if !fits {
                return Err(Error::failure(format!("row {number} has other columns than row 0")));
            }
        }
        Ok(Self { height: records.len(), columns })
    }

    pub fn height(&self) -> usize {
        self.height
    }

    pub fn columns(&self) -> &[(String, Column)] {
        &self.columns
    }

    pub fn column(&self, name: &str) -> Result<&Column> {
        self.columns
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, column)| column)
            .ok_or_else(|| unknown("column", name, self.columns.iter().map(|(own, _)| own.as_str())))
    }

    pub fn row(&self, index: usize) -> Row<'_> {
        Row { table: self, index }
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.height).map(|index| self.row(index))
    }

    /// BLAKE3 of names, types and values in order; independent of compression, Parquet version and file metadata.
    pub fn content_hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let text = |hasher: &mut blake3::Hasher, text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        hasher.update(&(self.height as u64).to_le_bytes());
        for (name, column) in &self.columns {
            text(&mut hasher, name);
            text(&mut hasher, column.kind());
            for row in 0..self.height {
                match column.get(row) {
                    Value::Float(Some(number)) => {
                        hasher.update(&[1]).update(&number.to_bits().to_le_bytes());
                    }
                    Value::Int(Some(number)) => {
                        hasher.update(&[1]).update(&number.to_le_bytes());
                    }
                    Value::Text(Some(word)) => {
                        hasher.update(&[1]);
                        text(&mut hasher, &word);
                    }
                    Value::Bool(Some(truth)) => {
                        hasher.update(&[1, u8::from(truth)]);
                    }
                    Value::Float(None) | Value::Int(None) | Value::Text(None) | Value::Bool(None) => {
                        hasher.update(&[0]);
                    }
                }
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Writes the table to `path`, whole or not at all (temporary file, fsync, rename).
    pub fn write_parquet(&self, path: &Path) -> Result<()> {
        let mut frame = self.to_frame()?;
        crate::durable::replace(path, |file| {
            ParquetWriter::new(file).finish(&mut frame).map(drop).map_err(std::io::Error::other)
        })
    }

    /// Reads a table written by [`Table::write_parquet`].
    pub fn read_parquet(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|error| Error::io("open", path, &error))?;
        let damaged = |reason: String| {
            Error::input(format!("'{}' is not a readable result table: {reason}", path.display()))
                .fix("delete the file; the next run writes it again from the cached cells")
        };
        let length = file.metadata().map_err(|error| Error::io("open", path, &error))?.len();
        if length < 12 {
            return Err(damaged(format!("it holds {length} bytes")));
        }
        Self::parse_parquet(ParquetReader::new(file)).map_err(damaged)
    }

    /// The bytes of the Parquet file of this table.
    pub fn to_parquet_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut frame = self.to_frame()?;
        ParquetWriter::new(&mut bytes).finish(&mut frame).map_err(|error| Error::failure(error.to_string()))?;
        Ok(bytes)
    }

    /// Reads what [`Table::to_parquet_bytes`] made; only the named columns when there are any.
    pub fn from_parquet_bytes(bytes: &[u8], columns: &[&str]) -> Result<Self> {
        let wanted = (!columns.is_empty()).then(|| columns.iter().map(|name| (*name).to_owned()).collect());
        Self::parse_parquet(ParquetReader::new(std::io::Cursor::new(bytes)).with_columns(wanted))
            .map_err(|reason| Error::input(format!("not a readable result table: {reason}")))
    }

    /// Damaged files make the reader panic at times; both ways of failing end as a reason.
    fn parse_parquet<R: MmapBytesReader>(reader: ParquetReader<R>) -> std::result::Result<Self, String> {
        let frame = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| reader.finish()))
            .map_err(|_| "the Parquet reader gave up on it".to_owned())?
            .map_err(|error| error.to_string())?;
        Self::from_frame(&frame).map_err(|error| error.what().to_owned())
    }

    /// The table as a polars frame.
    pub fn to_frame(&self) -> Result<DataFrame> {
        let columns = self
            .columns
            .iter()
            .map(|(name, column)| {
                let series = match column {
                    Column::Float(values) => Series::new(name.as_str().into(), values),
                    Column::Int(values) => Series::new(name.as_str().into(), values),
                    Column::Text(values) => Series::new(name.as_str().into(), values),
                    Column::Bool(values) => Series::new(name.as_str().into(), values),
                };
                PolarsColumn::from(series)
            })
            .collect();
        DataFrame::new(self.height, columns).map_err(|error| Error::failure(error.to_string()))
    }

    fn from_frame(frame: &DataFrame) -> Result<Self> {
        let columns = frame
            .columns()
            .iter()
            .map(|column| Ok((column.name().to_string(), Column::from_polars(column)?)))
            .collect::<Result<_>>()?;
        Ok(Self { height: frame.height(), columns })
    }
}

impl Column {
    /// The values of a column of floats.
    pub fn floats(&self) -> Result<&[Option<f64>]> {
        if let Self::Float(values) = self { Ok(values) } else { Err(self.holds_no("float")) }
    }

    /// The values of a column of whole numbers.
    pub fn ints(&self) -> Result<&[Option<i64>]> {
        if let Self::Int(values) = self { Ok(values) } else { Err(self.holds_no("int")) }
    }

    /// The values of a column of texts.
    pub fn texts(&self) -> Result<&[Option<String>]> {
        if let Self::Text(values) = self { Ok(values) } else { Err(self.holds_no("text")) }
    }

    fn holds_no(&self, wanted: &str) -> Error {
        Error::input(format!("the column holds {} values, not {wanted}", self.kind()))
    }

    fn from_polars(column: &PolarsColumn) -> Result<Self> {
        let foreign = |error: polars::error::PolarsError| Error::input(error.to_string());
        Ok(match column.dtype() {
            DataType::Float64 => Self::Float(column.f64().map_err(foreign)?.iter().collect()),
            DataType::Int64 => Self::Int(column.i64().map_err(foreign)?.iter().collect()),
            DataType::Boolean => Self::Bool(column.bool().map_err(foreign)?.iter().collect()),
            DataType::String => {
                Self::Text(column.str().map_err(foreign)?.iter().map(|text| text.map(str::to_owned)).collect())
            }
            other => return Err(Error::input(format!("column '{}' has the foreign type {other}", column.name()))),
        })
    }
}

/// One row of a table, read by column name.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table,
    index: usize,
}

impl Row<'_> {
    fn wrong(&self, name: &str, column: &Column, wanted: &str) -> Error {
        Error::failure(format!("column '{name}' holds {} values, not {wanted}", column.kind()))
    }

    pub fn value(&self, name: &str) -> Result<Value> {
        Ok(self.table.column(name)?.get(self.index))
    }

    pub fn float(&self, name: &str) -> Result<Option<f64>> {
        match self.table.column(name)? {
            Column::Float(values) => Ok(values[self.index]),
            other => Err(self.wrong(name, other, "float")),
        }
    }

    pub fn int(&self, name: &str) -> Result<Option<i64>> {
        match self.table.column(name)? {
            Column::Int(values) => Ok(values[self.index]),
            other => Err(self.wrong(name, other, "int")),
        }
    }

    pub fn text(&self, name: &str) -> Result<Option<String>> {
        match self.table.column(name)? {
            Column::Text(values) => Ok(values[self.index].clone()),
            other => Err(self.wrong(name, other, "text")),
        }
    }

    pub fn truth(&self, name: &str) -> Result<Option<bool>> {
        match self.table.column(name)? {
            Column::Bool(values) => Ok(values[self.index]),
            other => Err(self.wrong(name, other, "bool")),
        }
    }

    /// The whole row.
    pub fn record(&self) -> Record {
        Record(self.table.columns.iter().map(|(name, column)| (name.clone(), column.get(self.index))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        Table::from_records(&[
            Record::new().with("method", "ntk").with("rho", 0.1).with("hidden", 3_usize).with("found", true),
            Record::new().with("method", "gd").with("rho", -0.0).with("hidden", None::<usize>).with("found", false),
        ])
        .unwrap()
    }

    #[test]
    fn a_table_survives_its_file_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a table.parquet");
        sample().write_parquet(&path).unwrap();
        let back = Table::read_parquet(&path).unwrap();
        assert_eq!(back, sample());
        assert_eq!(back.content_hash(), sample().content_hash());
        assert!(back.row(1).float("rho").unwrap().unwrap().is_sign_negative());
    }

    #[test]
    fn the_content_hash_sees_values_names_and_types() {
        let of = |record: Record| Table::from_records(&[record]).unwrap().content_hash();
        let base = of(Record::new().with("a", 1.0));
        assert_ne!(base, of(Record::new().with("b", 1.0)));
        assert_ne!(base, of(Record::new().with("a", 2.0)));
        assert_ne!(base, of(Record::new().with("a", 1_usize)));
        assert_ne!(base, of(Record::new().with("a", None::<f64>)));
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let whole = folder.path().join("whole.parquet");
        sample().write_parquet(&whole).unwrap();
        let bytes = std::fs::read(&whole).unwrap();
        let cut = folder.path().join("cut.parquet");
        for length in (0..bytes.len()).step_by(37) {
            std::fs::write(&cut, &bytes[..length]).unwrap();
            let error = Table::read_parquet(&cut).unwrap_err();
            assert!(error.to_string().contains("cut.parquet"), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    #[test]
    fn ragged_rows_are_refused() {
        let error = Table::from_records(&[Record::new().with("a", 1.0), Record::new().with("a", 1_usize)]).unwrap_err();
        assert!(error.to_string().contains("row 1"));
    }

    #[test]
    fn a_column_that_is_not_there_names_the_near_miss() {
        let error = sample().row(0).float("rhoo").unwrap_err();
        assert!(error.to_string().contains("did you mean 'rho'?"), "{error}");
    }
}
