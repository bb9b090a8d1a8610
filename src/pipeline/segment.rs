//! Many finished cells in one Parquet file whose name is the BLAKE3 of its bytes.
//!
//! A segment has the columns of its experiment and, in front, what identifies the cell of each row. A cell without
//! rows has one row here, with `cell_rows` 0 and no other columns.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

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
    pub experiment: String,
    pub version: u32,
    pub params: String,
    pub seed: u64,
    pub wall_s: f64,
}

/// Why a segment cannot be used.
#[derive(Debug)]
pub enum Fault {
    /// The file is not what was written.
    Damaged(String),
    /// The file cannot be read now.
    Io(std::io::Error),
}

/// Writes cells as segments below `folder`, one per experiment and set of columns; returns their paths.
pub fn write(folder: &Path, cells: &[FinishedCell]) -> Result<Vec<PathBuf>> {
    let mut groups: BTreeMap<(String, String), Vec<&FinishedCell>> = BTreeMap::new();
    for cell in cells {
        groups.entry((cell.experiment.clone(), columns(cell))).or_default().push(cell);
    }
    let mut paths = Vec::new();
    for ((experiment, _), mut group) in groups {
        group.sort_by_key(|cell| cell.key);
        paths.push(write_group(&folder.join(experiment), &group)?);
    }
    Ok(paths)
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

fn write_group(folder: &Path, cells: &[&FinishedCell]) -> Result<PathBuf> {
    let mut rows = Vec::new();
    for cell in cells {
        let head = head(cell);
        if cell.records.is_empty() {
            rows.push(head.clone());
        }
        rows.extend(cell.records.iter().map(|record| head.clone().and(record.clone())));
    }
    let bytes = Table::from_records(&rows)?.to_parquet_bytes()?;
    let path = folder.join(format!("{}.parquet", blake3::hash(&bytes).to_hex()));
    durable::replace(&path, |file| file.write_all(&bytes))?;
    Ok(path)
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

/// Which cells the segment at `path` holds.
pub fn read_heads(path: &Path) -> std::result::Result<Vec<Head>, Fault> {
    let table = read_table(path, &HEAD)?;
    let mut heads: Vec<Head> = Vec::new();
    let mut rows_left = 0;
    for row in table.rows() {
        let damaged = |error: Error| Fault::Damaged(error.what().to_owned());
        if rows_left == 0 {
            let (head, rows) = read_head(&row).map_err(damaged)?;
            rows_left = rows.max(1);
            heads.push(head);
        }
        rows_left -= 1;
    }
    if rows_left == 0 { Ok(heads) } else { Err(Fault::Damaged("rows are missing at its end".to_owned())) }
}

/// The rows of all cells in the segment at `path`.
pub fn read_records(path: &Path) -> std::result::Result<Vec<(Key, Vec<Record>)>, Fault> {
    let table = read_table(path, &[])?;
    let damaged = |error: Error| Fault::Damaged(error.what().to_owned());
    let mut cells: Vec<(Key, Vec<Record>)> = Vec::new();
    let mut rows_left = 0;
    for row in table.rows() {
        if rows_left == 0 {
            let (head, rows) = read_head(&row).map_err(damaged)?;
            cells.push((head.key, Vec::with_capacity(rows)));
            rows_left = rows;
            if rows == 0 {
                continue;
            }
        }
        rows_left -= 1;
        if let Some((_, records)) = cells.last_mut() {
            records.push(own_columns(&row));
        }
    }
    Ok(cells)
}

fn own_columns(row: &Row) -> Record {
    let values = row.record();
    let own = values.values().iter().filter(|(name, _)| !name.starts_with(RESERVED));
    own.fold(Record::new(), |record, (name, value)| record.with(name, value.clone()))
}

fn read_table(path: &Path, columns: &[&str]) -> std::result::Result<Table, Fault> {
    let bytes = std::fs::read(path).map_err(Fault::Io)?;
    let name = path.file_stem().and_then(|stem| stem.to_str());
    if name != Some(blake3::hash(&bytes).to_hex().as_str()) {
        return Err(Fault::Damaged("its content is not what was written".to_owned()));
    }
    Table::from_parquet_bytes(&bytes, columns).map_err(|error| Fault::Damaged(error.what().to_owned()))
}

fn read_head(row: &Row) -> Result<(Head, usize)> {
    let missing = || Error::input("a cell has no name");
    let text = |name: &str| row.text(name)?.ok_or_else(missing);
    let number = |name: &str| row.int(name)?.ok_or_else(missing);
    let head = Head {
        key: Key::parse(&text("cell_key")?)?,
        experiment: text("cell_experiment")?,
        version: u32::try_from(number("cell_version")?).map_err(|_| missing())?,
        params: text("cell_params")?,
        seed: u64::try_from(number("cell_seed")?).map_err(|_| missing())?,
        wall_s: row.float("cell_wall_s")?.ok_or_else(missing)?,
    };
    Ok((head, usize::try_from(number("cell_rows")?).map_err(|_| missing())?))
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
        let paths = write(folder.path(), &sample()).unwrap();
        assert_eq!(paths.len(), 3, "one segment per set of columns");
        let mut heads: Vec<Key> = Vec::new();
        let mut records = BTreeMap::new();
        for path in &paths {
            heads.extend(read_heads(path).unwrap().into_iter().map(|head| head.key));
            records.extend(read_records(path).unwrap());
        }
        heads.sort_unstable();
        let expected: BTreeMap<Key, Vec<Record>> = sample().into_iter().map(|cell| (cell.key, cell.records)).collect();
        assert_eq!(heads, expected.keys().copied().collect::<Vec<_>>());
        assert_eq!(records, expected);
        assert!(format!("{records:?}").contains("-0.0"));
    }

    #[test]
    fn the_name_does_not_depend_on_the_order_of_completion() {
        let folder = tempfile::tempdir().unwrap();
        let mut cells = sample();
        let first = write(folder.path(), &cells).unwrap();
        cells.reverse();
        assert_eq!(write(folder.path(), &cells).unwrap(), first);
    }

    #[test]
    fn a_changed_file_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let path = &write(folder.path(), &sample()).unwrap()[0];
        let bytes = std::fs::read(path).unwrap();
        for length in (0..bytes.len()).step_by(101) {
            std::fs::write(path, &bytes[..length]).unwrap();
            assert!(matches!(read_heads(path), Err(Fault::Damaged(_))));
        }
        for position in (0..bytes.len()).step_by(53) {
            let mut flipped = bytes.clone();
            flipped[position] ^= 1;
            std::fs::write(path, &flipped).unwrap();
            assert!(matches!(read_records(path), Err(Fault::Damaged(_))));
        }
    }
}
