//! CSV and TSV files of numbers, one vector per line.

use ::csv::{ByteRecord, Reader, ReaderBuilder, Trim};
use ndarray::Array2;

use super::content::{Content, ContentReader};
use super::quotes::QuoteWatch;
use crate::error::{Error, Result};

/// A table of numbers in text. Opening it counts its lines.
pub struct CsvTable {
    content: Content,
    delimiter: u8,
    has_header: bool,
    rows: usize,
    columns: usize,
}

impl CsvTable {
    pub fn open(content: Content, delimiter: u8) -> Result<Self> {
        let mut table = Self { content, delimiter, has_header: false, rows: 0, columns: 0 };
        let mut reader = table.reader();
        let mut record = ByteRecord::new();
        while reader.read_byte_record(&mut record).map_err(damaged)? {
            if table.rows == 0 {
                table.columns = record.len();
                table.has_header = is_header(&record);
            }
            table.rows += 1;
        }
        reader.get_ref().check_closed()?;
        table.rows -= usize::from(table.has_header);
        Ok(table)
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    fn reader(&self) -> Reader<QuoteWatch<ContentReader>> {
        let mut builder = ReaderBuilder::new();
        builder
            .delimiter(self.delimiter)
            .has_headers(self.has_header)
            .trim(Trim::All)
            .from_reader(QuoteWatch::new(self.content.reader(), self.delimiter))
    }

    /// Rows by number; each must be there.
    pub fn read(&self, rows: &[usize]) -> Result<Array2<f64>> {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&place| rows[place]);
        let mut wanted = order.into_iter().peekable();
        let mut table = Array2::zeros((rows.len(), self.columns));
        let mut reader = self.reader();
        let mut record = ByteRecord::new();
        let mut row = 0;
        while wanted.peek().is_some() && reader.read_byte_record(&mut record).map_err(damaged)? {
            while let Some(place) = wanted.next_if(|&place| rows[place] == row) {
                for (entry, cell) in table.row_mut(place).iter_mut().zip(&record) {
                    *entry = number(cell).ok_or_else(|| not_a_number(&record, cell))?;
                }
            }
            row += 1;
        }
        if wanted.peek().is_some() {
            return Err(Error::input("the file became shorter while it was read"));
        }
        Ok(table)
    }
}

/// Names of columns: no cell is a number, or the cells count 0, 1, 2, … as pandas numbers columns.
fn is_header(record: &ByteRecord) -> bool {
    let counts = record.iter().zip(0u32..).all(|(cell, place)| cell == place.to_string().as_bytes());
    record.iter().all(|cell| number(cell).is_none()) || (counts && record.len() > 1)
}

fn number(cell: &[u8]) -> Option<f64> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

fn not_a_number(record: &ByteRecord, cell: &[u8]) -> Error {
    let line = record.position().map_or(0, |position| position.line());
    let column = record.iter().position(|other| std::ptr::eq(other, cell)).unwrap_or(0);
    let text: String = String::from_utf8_lossy(cell).chars().take(40).collect();
    Error::input(format!("line {line}, column {column}: '{text}' is not a number"))
        .fix("keep numbers only, for example values.to_csv(path, index=False)")
}

fn damaged(error: ::csv::Error) -> Error {
    let place = error.position().map_or_else(String::new, |position| format!("line {}: ", position.line()));
    match error.kind() {
        ::csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            Error::input(format!("{place}{len} cells, where line 1 has {expected_len}"))
                .fix("give every line as many numbers; .csv separates by commas, .tsv by tabs")
        }
        _ => Error::input(format!("{place}not readable: {error}")),
    }
}
