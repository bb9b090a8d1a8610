//! Quotes of CSV and TSV files that are never closed. A reader takes all that follows for one cell, without a word.

use std::io::{self, Read};

use crate::error::{Error, Result};

/// Hands bytes on and remembers whether they end within a quoted cell.
pub struct QuoteWatch<R> {
    inner: R,
    delimiter: u8,
    place: Place,
    line: u64,
    /// Line of the last quote that was opened.
    opened: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    CellStart,
    Cell,
    Quoted,
    /// After a quote in a quoted cell: it ends the cell, or a second one stands for a quote.
    QuoteInQuoted,
}

impl<R: Read> QuoteWatch<R> {
    pub fn new(inner: R, delimiter: u8) -> Self {
        Self { inner, delimiter, place: Place::CellStart, line: 1, opened: 0 }
    }

    /// What was read must not end within a quoted cell.
    pub fn check_closed(&self) -> Result<()> {
        if self.place == Place::Quoted {
            return Err(Error::input(format!("line {}: a quote is opened and never closed", self.opened))
                .fix("close it, or remove it"));
        }
        Ok(())
    }

    fn watch(&mut self, byte: u8) {
        self.line += u64::from(byte == b'\n');
        self.place = match (self.place, byte) {
            (Place::CellStart, b'"') => {
                self.opened = self.line;
                Place::Quoted
            }
            (Place::Quoted, b'"') => Place::QuoteInQuoted,
            (Place::Quoted, _) | (Place::QuoteInQuoted, b'"') => Place::Quoted,
            (_, b'\n' | b'\r') => Place::CellStart,
            (_, byte) if byte == self.delimiter => Place::CellStart,
            _ => Place::Cell,
        };
    }
}

impl<R: Read> Read for QuoteWatch<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        buffer[..count].iter().for_each(|byte| self.watch(*byte));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends_open(text: &str) -> bool {
        let mut watch = QuoteWatch::new(text.as_bytes(), b',');
        io::copy(&mut watch, &mut io::sink()).unwrap();
        watch.check_closed().is_err()
    }

    #[test]
    fn only_quotes_that_open_a_cell_count() {
        for text in ["a,\"b\nc,d\n", "\"", "a,\"b\"\"\n", "x\n\"y\"\",\n"] {
            assert!(ends_open(text), "{text}");
        }
        for text in ["a,\"b\"\nc,d\n", "5\" disk,6\" disk\n7\" disk,x", "\"a\"\"b\"", "a \"b\n", ""] {
            assert!(!ends_open(text), "{text}");
        }
    }

    #[test]
    fn the_line_of_the_quote_is_told() {
        let mut watch = QuoteWatch::new("a,b\nc,\"d\ne,f\n".as_bytes(), b',');
        io::copy(&mut watch, &mut io::sink()).unwrap();
        assert!(watch.check_closed().unwrap_err().to_string().contains("line 2"));
    }
}
