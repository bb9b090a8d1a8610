//! Lines of text cells, from CSV, TSV, Parquet or plain text: what names and fact maps are read from.

use std::path::Path;

use ::csv::{ReaderBuilder, StringRecord, Trim};

use super::content::Content;
use super::parquet;
use super::quotes::QuoteWatch;
use super::source::Format;
use crate::error::{Error, Result};

/// A table of text.
pub struct Records {
    /// Names of the columns, where the format has them.
    pub header: Option<Vec<String>>,
    pub lines: Vec<Line>,
    /// What the number of a line counts: `line` from 1 in text, `row` from 0 in Parquet.
    pub unit: &'static str,
}

/// One line or row.
pub struct Line {
    pub number: u64,
    pub cells: Vec<String>,
}

impl Records {
    /// Reads all lines; the extension of the path says how.
    pub fn read(path: &Path) -> Result<Self> {
        let content = Content::open(path)?;
        let is_text = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("txt"));
        let read = if is_text { plain_text(&content) } else { Self::parse(&content, Format::of(path)?, Trim::All) };
        read.map_err(|error| error.at(path.display()))
    }

    /// Reads cells to the letter, blanks and all. The first line of text names the columns; every line has as many cells.
    pub fn read_exact(path: &Path) -> Result<Self> {
        let read = Self::parse(&Content::open(path)?, Format::of(path)?, Trim::None).and_then(Self::with_header);
        read.map_err(|error| error.at(path.display()))
    }

    /// The same for the bytes of a file.
    pub fn from_bytes(bytes: Vec<u8>, format: Format) -> Result<Self> {
        Self::parse(&Content::from(bytes), format, Trim::All)
    }

    fn parse(content: &Content, format: Format, trim: Trim) -> Result<Self> {
        match format {
            Format::Csv => separated(content, b',', trim),
            Format::Tsv => separated(content, b'\t', trim),
            Format::Parquet => from_parquet(content),
            other => Err(Error::input(format!("a .{} file holds no text", other.name()))
                .fix("use .csv, .tsv or .parquet; for names also .txt with a name per line")),
        }
    }

    /// Takes the first line for the header where the format has none of its own.
    fn with_header(mut self) -> Result<Self> {
        if self.header.is_some() {
            return Ok(self);
        }
        if self.lines.is_empty() {
            return Err(Error::input("the file is empty").fix("write the names of the columns in the first line"));
        }
        let header = self.lines.remove(0).cells;
        if let Some(line) = self.lines.iter().find(|line| line.cells.len() != header.len()) {
            let (number, cells) = (line.number, line.cells.len());
            return Err(Error::input(format!("line {number}: {cells} cells, where the header has {}", header.len()))
                .fix("put a cell that holds the separator into double quotes"));
        }
        self.header = Some(header);
        Ok(self)
    }

    /// The place of the column called `name`, in any case of letters.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.as_ref()?.iter().position(|own| own.eq_ignore_ascii_case(name))
    }
}

fn plain_text(content: &Content) -> Result<Records> {
    let text = String::from_utf8(content.to_vec()?).map_err(|_| not_utf8())?;
    let lines = (1..).zip(text.lines()).map(|(number, line)| Line { number, cells: vec![line.to_owned()] });
    Ok(Records { header: None, lines: lines.collect(), unit: "line" })
}

fn separated(content: &Content, delimiter: u8, trim: Trim) -> Result<Records> {
    let mut builder = ReaderBuilder::new();
    builder.delimiter(delimiter).has_headers(false).flexible(true).trim(trim);
    let mut reader = builder.from_reader(QuoteWatch::new(content.reader(), delimiter));
    let mut record = StringRecord::new();
    let mut lines = Vec::new();
    while reader.read_record(&mut record).map_err(|_| not_utf8())? {
        let number = record.position().map_or(0, |position| position.line());
        lines.push(Line { number, cells: record.iter().map(str::to_owned).collect() });
    }
    reader.get_ref().check_closed()?;
    Ok(Records { header: None, lines, unit: "line" })
}

fn from_parquet(content: &Content) -> Result<Records> {
    let columns = parquet::text_columns(content)?;
    let rows = columns.first().map_or(0, |(_, cells)| cells.len());
    let line =
        |row: usize| Line { number: row as u64, cells: columns.iter().map(|(_, cells)| cells[row].clone()).collect() };
    let header = Some(columns.iter().map(|(name, _)| name.clone()).collect());
    Ok(Records { header, lines: (0..rows).map(line).collect(), unit: "row" })
}

fn not_utf8() -> Error {
    Error::input("the file is not text in UTF-8").fix("save it as UTF-8")
}
