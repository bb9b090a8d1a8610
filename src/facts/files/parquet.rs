//! Parquet files: a list column with one vector per row, or numeric columns.

use std::cell::Cell;
use std::io::Cursor;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use ndarray::{Array2, ArrayViewMut1};
use polars::io::mmap::MmapBytesReader;
use polars::prelude::{ArrowDataType, Column, DataFrame, DataType, ParallelStrategy, ParquetReader, SerReader, Series};
use polars_parquet_format::PageHeader;
use polars_parquet_format::thrift::protocol::TCompactInputProtocol;

use super::content::{Content, ContentReader};
use crate::error::{Error, Result, unknown};

/// Most numbers that a byte of the file may stand for. Vectors need a byte or more for each.
const MOST_PER_BYTE: u64 = 8;
/// Most bytes that a compressed byte may grow to.
const MOST_GROWTH: u64 = 32;

/// A table of numbers in a Parquet file.
pub struct ParquetTable {
    content: Content,
    /// The list column, or all columns of numbers.
    names: Vec<String>,
    is_list: bool,
    /// Rows of each row group.
    groups: Vec<usize>,
    columns: usize,
}

impl ParquetTable {
    /// Opens the list column called `member`; without a name the only list column, or all columns when none holds lists.
    pub fn open(content: Content, member: Option<&str>) -> Result<Self> {
        guarded(AssertUnwindSafe(|| Self::open_unguarded(content, member)))
    }

    fn open_unguarded(content: Content, member: Option<&str>) -> Result<Self> {
        let mut reader = ParquetReader::new(content.reader());
        let schema = reader.schema().map_err(damaged)?;
        let fields: Vec<(String, Kind)> =
            schema.iter().map(|(name, field)| (name.to_string(), Kind::of(field.dtype()))).collect();
        let (names, is_list) = choose(&fields, member)?;
        let metadata = reader.get_metadata().map_err(damaged)?;
        let groups: Vec<usize> = metadata.row_groups.iter().map(|group| group.num_rows()).collect();
        let rows = groups.iter().fold(0usize, |sum, rows| sum.saturating_add(*rows));
        let mut numbers = 0u64;
        for chunk in metadata.row_groups.iter().flat_map(|group| group.parquet_columns()) {
            if names.iter().any(|name| *name == chunk.descriptor().path_in_schema[0].as_str()) {
                numbers = numbers.saturating_add(u64::try_from(chunk.num_values()).unwrap_or(u64::MAX));
            }
        }
        let most = content.length().saturating_mul(MOST_PER_BYTE);
        if numbers > most || rows as u64 > most {
            return Err(promises_too_much(numbers.max(rows as u64), content.length()));
        }
        let columns = if is_list { (numbers as usize).checked_div(rows).unwrap_or(0) } else { names.len() };
        Ok(Self { content, names, is_list, groups, columns })
    }

    pub fn rows(&self) -> usize {
        self.groups.iter().sum()
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows by number; each must be there. Row groups without a wanted row are not read.
    pub fn read(&self, rows: &[usize]) -> Result<Array2<f64>> {
        guarded(AssertUnwindSafe(|| self.read_unguarded(rows)))
    }

    fn read_unguarded(&self, rows: &[usize]) -> Result<Array2<f64>> {
        let mut table = Array2::zeros((rows.len(), self.columns));
        let mut start = 0;
        for (group, &length) in self.groups.iter().enumerate() {
            let inside = |row: &usize| (start..start + length).contains(row);
            let wanted: Vec<usize> = (0..rows.len()).filter(|&place| inside(&rows[place])).collect();
            if !wanted.is_empty() {
                let frame = self.read_group(group, start, length)?;
                for place in wanted {
                    self.fill(table.row_mut(place), &frame, rows[place] - start).map_err(|error| {
                        Error::input(format!("row {}: {}", rows[place], error.what()))
                            .fix("repair or leave out this row")
                    })?;
                }
            }
            start += length;
        }
        Ok(table)
    }

    fn read_group(&self, group: usize, start: usize, length: usize) -> Result<DataFrame> {
        check_pages(&self.content, group, &self.names)?;
        let frame = read_columns(&self.content, Some(self.names.clone()), Some((start, length)))?;
        check_heights(&frame, length)?;
        let wanted = if self.is_list { DataType::List(Box::new(DataType::Float64)) } else { DataType::Float64 };
        let cast = |column: &Column| column.cast(&wanted).map_err(damaged);
        DataFrame::new(length, frame.columns().iter().map(cast).collect::<Result<_>>()?).map_err(damaged)
    }

    fn fill(&self, mut row: ArrayViewMut1<f64>, frame: &DataFrame, place: usize) -> Result<()> {
        let missing = || Error::input("a number is missing");
        if self.is_list {
            let list = frame.columns()[0].list().map_err(damaged)?;
            let vector: Series = list.get_as_series(place).ok_or_else(missing)?;
            if vector.len() != row.len() {
                return Err(Error::input(format!(
                    "a vector of {} numbers among vectors of {}",
                    vector.len(),
                    row.len()
                )));
            }
            let numbers = vector.f64().map_err(damaged)?;
            for (entry, number) in row.iter_mut().zip(numbers.iter()) {
                *entry = number.ok_or_else(missing)?;
            }
            return Ok(());
        }
        for (entry, column) in row.iter_mut().zip(frame.columns()) {
            *entry = column.f64().map_err(damaged)?.get(place).ok_or_else(missing)?;
        }
        Ok(())
    }
}

/// Every column that holds one thing a row as text, a missing cell as no text: for fact maps and names. Columns of vectors are
/// left unread.
pub fn text_columns(content: &Content) -> Result<Vec<(String, Vec<String>)>> {
    guarded(AssertUnwindSafe(|| {
        let mut reader = ParquetReader::new(content.reader());
        let groups = reader.get_metadata().map_err(damaged)?.row_groups.len();
        let schema = reader.schema().map_err(damaged)?;
        let flat = schema.iter().filter(|(_, field)| !field.dtype().is_nested());
        let names: Vec<String> = flat.map(|(name, _)| name.to_string()).collect();
        if names.is_empty() {
            return Err(
                Error::input("the file holds vectors only").fix("give a file with a column of names or numbers")
            );
        }
        (0..groups).try_for_each(|group| check_pages(content, group, &names))?;
        let frame = read_columns(content, Some(names), None)?;
        check_heights(&frame, frame.height())?;
        let most = content.length().saturating_mul(MOST_GROWTH);
        frame.columns().iter().map(|column| Ok((column.name().to_string(), cells(column, most)?))).collect()
    }))
}

/// Long texts may stand in a file once and in many rows.
fn cells(column: &Column, most: u64) -> Result<Vec<String>> {
    let text = column.cast(&DataType::String).map_err(damaged)?;
    let text = text.str().map_err(damaged)?;
    let length: u64 = text.iter().map(|cell| cell.unwrap_or_default().len() as u64).sum();
    if length > most {
        return Err(promises_too_much(length, most / MOST_GROWTH));
    }
    Ok(text.iter().map(|cell| cell.unwrap_or_default().to_owned()).collect())
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    List,
    Other,
}

impl Kind {
    fn of(dtype: &ArrowDataType) -> Self {
        let is_number = |dtype: &ArrowDataType| dtype.is_numeric();
        match dtype {
            ArrowDataType::List(item) | ArrowDataType::LargeList(item) | ArrowDataType::FixedSizeList(item, _)
                if is_number(item.dtype()) =>
            {
                Self::List
            }
            number if is_number(number) => Self::Number,
            _ => Self::Other,
        }
    }
}

/// The columns that make the table, and whether it is one column of lists.
fn choose(fields: &[(String, Kind)], member: Option<&str>) -> Result<(Vec<String>, bool)> {
    let lists: Vec<&str> =
        fields.iter().filter(|(_, kind)| *kind == Kind::List).map(|(name, _)| name.as_str()).collect();
    let other = fields.iter().find(|(_, kind)| *kind != Kind::Number);
    match (member, &lists[..], other) {
        (Some(wanted), _, _) if lists.contains(&wanted) => Ok((vec![wanted.to_owned()], true)),
        (Some(wanted), [], _) => Err(Error::input(format!("the file has no list column '{wanted}'"))
            .fix("leave out the name to read all columns of numbers, or save each vector as a list")),
        (Some(wanted), _, _) => Err(unknown("list column", wanted, lists.iter().copied())),
        (None, [only], _) => Ok((vec![(*only).to_owned()], true)),
        (None, [], None) => Ok((fields.iter().map(|(name, _)| name.clone()).collect(), false)),
        (None, [], Some((name, _))) => Err(Error::input(format!("column '{name}' does not hold numbers"))
            .fix("keep numeric columns only, or save each vector as a list in one column")),
        (None, _, _) => Err(super::source::several("list columns", lists.iter().copied())),
    }
}

fn read_columns(content: &Content, names: Option<Vec<String>>, slice: Option<(usize, usize)>) -> Result<DataFrame> {
    fn finish<R: MmapBytesReader>(
        reader: ParquetReader<R>,
        names: Option<Vec<String>>,
        slice: Option<(usize, usize)>,
    ) -> Result<DataFrame> {
        let reader = reader.with_columns(names).with_slice(slice).read_parallel(ParallelStrategy::None);
        reader.finish().map_err(damaged)
    }
    match content.file() {
        Some(file) => finish(ParquetReader::new(file.try_clone().map_err(damaged)?), names, slice),
        None => finish(ParquetReader::new(Cursor::new(content.to_vec()?)), names, slice),
    }
}

impl MmapBytesReader for ContentReader {}

/// Columns of a damaged file can come out shorter than the frame they are in.
fn check_heights(frame: &DataFrame, height: usize) -> Result<()> {
    match frame.columns().iter().map(Column::len).find(|length| *length != height) {
        None => Ok(()),
        Some(length) => Err(damaged(format!("a column of {length} rows where {height} were promised"))),
    }
}

/// Walks the headers of all pages of some columns of a row group: what they promise must fit their bytes, before a reader
/// that believes them allocates it.
fn check_pages(content: &Content, group: usize, names: &[String]) -> Result<()> {
    let mut reader = ParquetReader::new(content.reader());
    let metadata = reader.get_metadata().map_err(damaged)?;
    for chunk in metadata.row_groups[group].parquet_columns() {
        if !names.iter().any(|name| *name == chunk.descriptor().path_in_schema[0].as_str()) {
            continue;
        }
        let place = chunk.byte_range();
        let bytes = content.part(place.start, place.end.saturating_sub(place.start))?.to_vec()?;
        check_chunk(&bytes, chunk.num_values())?;
    }
    Ok(())
}

fn check_chunk(bytes: &[u8], promised: i64) -> Result<()> {
    let length = bytes.len() as u64;
    let (mut grown, mut numbers, mut seen) = (0u64, 0u64, 0i64);
    let mut cursor = Cursor::new(bytes);
    while seen < promised && cursor.position() < length {
        let mut protocol = TCompactInputProtocol::new(&mut cursor, bytes.len());
        let header = PageHeader::read_from_in_protocol(&mut protocol).map_err(damaged)?;
        let unsigned = |number: i32| u64::try_from(number).map_err(damaged);
        let data = header.data_page_header.map(|page| page.num_values);
        let data = data.or(header.data_page_header_v2.map(|page| page.num_values)).unwrap_or(0);
        let dictionary = header.dictionary_page_header.map_or(0, |page| page.num_values);
        numbers += unsigned(data)? + unsigned(dictionary)?;
        grown += unsigned(header.uncompressed_page_size)?;
        seen += i64::from(data);
        cursor.set_position(cursor.position() + unsigned(header.compressed_page_size)?);
        if cursor.position() > length {
            return Err(damaged("a page is longer than its column"));
        }
    }
    if numbers > length.saturating_mul(MOST_PER_BYTE) || grown > length.saturating_mul(MOST_GROWTH) {
        return Err(promises_too_much(numbers, length));
    }
    Ok(())
}

fn promises_too_much(numbers: u64, bytes: u64) -> Error {
    Error::input(format!("{bytes} bytes promise {numbers} numbers, more than vectors can be packed"))
        .fix("the file is damaged, or its vectors repeat: save them as .npy")
}

fn damaged(how: impl std::fmt::Display) -> Error {
    Error::input(format!("not a readable Parquet file: {how}")).fix("save it again, or save the vectors as .npy")
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Damaged files make the Parquet library panic at times. That is an error of the file, and no message of the panic is shown.
fn guarded<T>(read: AssertUnwindSafe<impl FnOnce() -> Result<T>>) -> Result<T> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |fault| {
            if !QUIET.get() {
                usual(fault);
            }
        }));
    });
    QUIET.set(true);
    let result = panic::catch_unwind(read);
    QUIET.set(false);
    result.unwrap_or_else(|_| Err(damaged("the library gave up on it")))
}
