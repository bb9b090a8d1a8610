//! Many finished cells in one Parquet file whose name is the BLAKE3 of its bytes.
//!
//! A segment has the columns of its experiment and, in front, what identifies the cell of each row. A cell without
//! rows has one row here, with `cell_rows` 0 and no other columns.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::journal::FinishedCell;
use super::key::{Key, canonical_json};
use crate::durable;
use crate::error::{Error, Result};
use crate::table::{Record, Row, Table, Value};

/// Columns whose names start so are the store's own.
pub const RESERVED: &str = "cell_";

const HEAD: [&str; 7] =
    ["cell_key", "cell_experiment", "cell_version", "cell_params", "cell_seed", "cell_wall_s", "cell_rows"];

/// What identifies a cell in a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    pub key: Key,
    /// Shared with the cells before it.
    pub experiment: Arc<str>,
    pub version: u32,
    pub params: String,
    pub seed: u64,
    pub wall_s: f64,
}

/// A segment and the cells in it.
#[derive(Debug)]
pub struct Segment {
    pub path: PathBuf,
    pub heads: Vec<Head>,
}

/// Why a segment cannot be used.
#[derive(Debug)]
pub enum Fault {
    /// The file is not what was written.
    Damaged(String),
    /// The file cannot be read now.
    Io(std::io::Error),
}

impl Fault {
    /// Whether the file is not there: another process has merged or removed it.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == std::io::ErrorKind::NotFound)
    }
}

/// Writes cells as segments below `folder`, one per experiment and set of columns.
pub fn write(folder: &Path, cells: &[FinishedCell]) -> Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for group in groups(cells) {
        let bytes = bytes(&group)?;
        let hash = blake3::hash(&bytes).to_hex();
        let path = folder.join(&group[0].experiment).join(format!("{hash}.parquet"));
        durable::replace(&path, |file| file.write_all(&bytes))?;
        segments.push(Segment { path, heads: group.into_iter().map(Head::of).collect() });
    }
    Ok(segments)
}

/// How many bytes the segments of these cells have.
pub fn size(cells: &[FinishedCell]) -> Result<u64> {
    groups(cells).iter().map(|group| bytes(group).map(|bytes| bytes.len() as u64)).sum()
}

/// The cells by experiment and set of columns, in each group sorted by key.
fn groups(cells: &[FinishedCell]) -> Vec<Vec<&FinishedCell>> {
    let mut groups: BTreeMap<(&str, String), Vec<&FinishedCell>> = BTreeMap::new();
    for cell in cells {
        groups.entry((&cell.experiment, columns(cell))).or_default().push(cell);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.sort_by_key(|cell| cell.key));
    groups
}

/// Names and types of a cell's columns: cells that differ in them cannot share a table.
fn columns(cell: &FinishedCell) -> String {
    let kind = |value: &Value| match value {
        Value::Float(_) => 'f',
        Value::Int(_) => 'i',
        Value::Text(_) => 't',
        Value::Bool(_) => 'b',
    };
    let first = cell.records.first().map_or(&[][..], Record::values);
    first.iter().map(|(name, value)| format!("{}:{name}:{} ", name.len(), kind(value))).collect()
}

fn bytes(cells: &[&FinishedCell]) -> Result<Vec<u8>> {
    let mut rows = Vec::new();
    for cell in cells {
        let head = head(cell);
        if cell.records.is_empty() {
            rows.push(head.clone());
        }
        rows.extend(cell.records.iter().map(|record| head.clone().and(record.clone())));
    }
    Table::from_records(&rows)?.to_parquet_bytes()
}

fn head(cell: &FinishedCell) -> Record {
    Record::new()
        .with("cell_key", cell.key.to_string())
        .with("cell_experiment", cell.experiment.as_str())
        .with("cell_version", cell.version)
        .with("cell_params", canonical_json(&cell.params))
        .with("cell_seed", cell.seed as i64)
        .with("cell_wall_s", cell.wall_s)
        .with("cell_rows", cell.records.len())
}

impl Head {
    fn of(cell: &FinishedCell) -> Self {
        Self {
            key: cell.key,
            experiment: Arc::from(cell.experiment.as_str()),
            version: cell.version,
            params: canonical_json(&cell.params),
            seed: cell.seed,
            wall_s: cell.wall_s,
        }
    }
}

/// Which cells the segment at `path` holds.
pub fn read_heads(path: &Path) -> std::result::Result<Segment, Fault> {
    let cells = split(&read_table(path, &HEAD)?)?;
    Ok(Segment { path: path.to_owned(), heads: cells.into_iter().map(|(head, _)| head).collect() })
}

/// The rows of the cells in the segment at `path` that are `wanted`.
pub fn read_records(path: &Path, wanted: impl Fn(&Key) -> bool) -> std::result::Result<Records, Fault> {
    let table = read_table(path, &[])?;
    let cells = split(&table)?.into_iter().filter(|(head, _)| wanted(&head.key));
    Ok(cells.map(|(head, rows)| (head.key, rows.map(|row| own_columns(&table.row(row))).collect())).collect())
}

/// Cells by key with their rows.
pub type Records = Vec<(Key, Vec<Record>)>;

/// The segment at `path` as the cells that it was written from.
pub fn read_cells(path: &Path) -> std::result::Result<Vec<FinishedCell>, Fault> {
    let table = read_table(path, &[])?;
    let cell = |(head, rows): (Head, std::ops::Range<usize>)| {
        let params = serde_json::from_str(&head.params).map_err(|error| Fault::Damaged(error.to_string()))?;
        let Head { key, version, seed, wall_s, .. } = head;
        let experiment = head.experiment.to_string();
        let records = rows.map(|row| own_columns(&table.row(row))).collect();
        Ok(FinishedCell { key, experiment, version, params, seed, wall_s, records })
    };
    split(&table)?.into_iter().map(cell).collect()
}

fn own_columns(row: &Row) -> Record {
    let values = row.record();
    let own = values.values().iter().filter(|(name, _)| !name.starts_with(RESERVED));
    own.fold(Record::new(), |record, (name, value)| record.with(name, value.clone()))
}

fn read_table(path: &Path, columns: &[&str]) -> std::result::Result<Table, Fault> {
    let bytes = std::fs::read(path).map_err(Fault::Io)?;
    check(path, &bytes)?;
    Table::from_parquet_bytes(&bytes, columns).map_err(|error| Fault::Damaged(error.what().to_owned()))
}

/// An error when a file does not hold what it was named after.
fn check(path: &Path, bytes: &[u8]) -> std::result::Result<(), Fault> {
    let name = path.file_stem().and_then(|stem| stem.to_str());
    if name == Some(blake3::hash(bytes).to_hex().as_str()) {
        return Ok(());
    }
    Err(Fault::Damaged("its content is not what was written".to_owned()))
}

/// The cells of a table, each with the numbers of its rows.
fn split(table: &Table) -> std::result::Result<Vec<(Head, std::ops::Range<usize>)>, Fault> {
    let damaged = |error: Error| Fault::Damaged(error.what().to_owned());
    let columns = HeadColumns::of(table).map_err(damaged)?;
    let (mut cells, mut row, mut experiment) = (Vec::new(), 0, Arc::from(""));
    while row < table.height() {
        let (head, rows) = columns.at(row, &mut experiment).map_err(damaged)?;
        cells.push((head, row..row + rows));
        row += rows.max(1);
    }
    if row == table.height() { Ok(cells) } else { Err(Fault::Damaged("rows are missing at its end".to_owned())) }
}

/// The columns that identify cells. Looked up once: a segment has many rows.
struct HeadColumns<'a> {
    keys: &'a [Option<String>],
    experiments: &'a [Option<String>],
    versions: &'a [Option<i64>],
    params: &'a [Option<String>],
    seeds: &'a [Option<i64>],
    seconds: &'a [Option<f64>],
    rows: &'a [Option<i64>],
}

impl<'a> HeadColumns<'a> {
    fn of(table: &'a Table) -> Result<Self> {
        Ok(Self {
            keys: table.column("cell_key")?.texts()?,
            experiments: table.column("cell_experiment")?.texts()?,
            versions: table.column("cell_version")?.ints()?,
            params: table.column("cell_params")?.texts()?,
            seeds: table.column("cell_seed")?.ints()?,
            seconds: table.column("cell_wall_s")?.floats()?,
            rows: table.column("cell_rows")?.ints()?,
        })
    }

    /// The cell that starts at `row`, and how many rows it has; `experiment` is that of the cell before.
    fn at(&self, row: usize, experiment: &mut Arc<str>) -> Result<(Head, usize)> {
        let missing = || Error::input("a cell has no name");
        let text = |column: &'a [Option<String>]| column[row].as_deref().ok_or_else(missing);
        let number = |column: &[Option<i64>]| column[row].ok_or_else(missing);
        if **experiment != *text(self.experiments)? {
            *experiment = Arc::from(text(self.experiments)?);
        }
        let head = Head {
            key: Key::parse(text(self.keys)?)?,
            experiment: Arc::clone(experiment),
            version: u32::try_from(number(self.versions)?).map_err(|_| missing())?,
            params: text(self.params)?.to_owned(),
            seed: number(self.seeds)? as u64,
            wall_s: self.seconds[row].ok_or_else(missing)?,
        };
        Ok((head, usize::try_from(number(self.rows)?).map_err(|_| missing())?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::journal::tests::cell;
    use super::*;

    fn sample() -> Vec<FinishedCell> {
        let row = |x: f64| Record::new().with("x", x).with("found", None::<bool>);
        vec![
            cell(0, vec![row(-0.0), row(2.0)]),
            cell(1, vec![row(3.0)]),
            cell(2, vec![]),
            cell(3, vec![Record::new().with("other", "text")]),
        ]
    }

    #[test]
    fn cells_of_any_shape_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let segments = write(folder.path(), &sample()).unwrap();
        assert_eq!(segments.len(), 3, "one segment per set of columns");
        let (mut records, mut cells) = (BTreeMap::new(), BTreeMap::new());
        for segment in &segments {
            assert_eq!(read_heads(&segment.path).unwrap().heads, segment.heads);
            records.extend(read_records(&segment.path, |_| true).unwrap());
            cells.extend(read_cells(&segment.path).unwrap().into_iter().map(|cell| (cell.key, cell)));
        }
        let expected: BTreeMap<Key, FinishedCell> = sample().into_iter().map(|cell| (cell.key, cell)).collect();
        assert_eq!(cells, expected);
        assert_eq!(records, expected.into_iter().map(|(key, cell)| (key, cell.records)).collect());
        assert!(format!("{records:?}").contains("-0.0"));
    }

    #[test]
    fn the_name_does_not_depend_on_the_order_of_completion() {
        let folder = tempfile::tempdir().unwrap();
        let mut cells = sample();
        let paths = |cells: &[FinishedCell]| -> Vec<PathBuf> {
            write(folder.path(), cells).unwrap().into_iter().map(|segment| segment.path).collect()
        };
        let first = paths(&cells);
        cells.reverse();
        assert_eq!(paths(&cells), first);
    }

    #[test]
    fn a_segment_cut_or_with_a_flipped_bit_anywhere_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = &write(folder.path(), &sample()).unwrap()[0].path;
        let bytes = std::fs::read(path).unwrap();
        check(path, &bytes).unwrap();
        for position in 0..bytes.len() {
            assert!(matches!(check(path, &bytes[..position]), Err(Fault::Damaged(_))));
            let mut flipped = bytes.clone();
            flipped[position] ^= 1 << (position % 8);
            assert!(matches!(check(path, &flipped), Err(Fault::Damaged(_))));
        }
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(matches!(read_heads(path), Err(Fault::Damaged(_))));
        assert!(matches!(read_cells(path), Err(Fault::Damaged(_))));
        assert!(matches!(read_records(path, |_| true), Err(Fault::Damaged(_))));
    }
}
