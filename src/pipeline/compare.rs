//! Two results folders set side by side, table by table.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::table::{Column, Table};

/// How two results folders differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// By path below the folders, sorted.
    pub tables: Vec<(String, Verdict)>,
}

/// How two tables of the same name differ.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Bit for bit: names, types and values.
    Identical,
    /// Only floats differ, none by more than the tolerance.
    Close {
        largest: f64,
        column: String,
    },
    /// Something else differs; the text says what.
    Differs(String),
    OnlyInFirst,
    OnlyInSecond,
}

impl Verdict {
    /// One word for JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::Close { .. } => "close",
            Self::Differs(_) => "differs",
            Self::OnlyInFirst => "only in first",
            Self::OnlyInSecond => "only in second",
        }
    }

    /// For people.
    pub fn describe(&self) -> String {
        match self {
            Self::Identical => "identical bit for bit".to_owned(),
            Self::Close { largest, column } => {
                format!("equal within tolerance (largest relative difference {largest:.1e}, column '{column}')")
            }
            Self::Differs(what) => format!("differs: {what}"),
            Self::OnlyInFirst => "missing in the second folder".to_owned(),
            Self::OnlyInSecond => "missing in the first folder".to_owned(),
        }
    }
}

impl Comparison {
    /// Whether all tables are there twice, identical or close.
    pub fn agrees(&self) -> bool {
        self.tables.iter().all(|(_, verdict)| matches!(verdict, Verdict::Identical | Verdict::Close { .. }))
    }
}

/// Compares all tables below two folders; floats may differ by the relative `tolerance`.
pub fn compare(first: &Path, second: &Path, tolerance: f64) -> Result<Comparison> {
    let (in_first, in_second) = (table_names(first)?, table_names(second)?);
    let mut tables = Vec::new();
    for name in in_first.union(&in_second) {
        let verdict = match (in_first.contains(name), in_second.contains(name)) {
            (true, false) => Verdict::OnlyInFirst,
            (false, _) => Verdict::OnlyInSecond,
            (true, true) => compare_tables(
                &Table::read_parquet(&first.join(name))?,
                &Table::read_parquet(&second.join(name))?,
                tolerance,
            ),
        };
        tables.push((name.display().to_string(), verdict));
    }
    Ok(Comparison { tables })
}

fn table_names(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let mut names = BTreeSet::new();
    collect(root, Path::new(""), &mut names)?;
    if names.is_empty() {
        return Err(Error::input(format!("'{}' holds no result tables", root.display()))
            .fix("give a folder that 'factsmith run' wrote, for example results/laptop"));
    }
    Ok(names)
}

fn collect(root: &Path, below: &Path, names: &mut BTreeSet<PathBuf>) -> Result<()> {
    let folder = root.join(below);
    let failed = |error: std::io::Error| {
        Error::input(format!("cannot read the folder '{}': {error}", folder.display()))
            .fix("give folders of results; `factsmith run` makes the folder 'results'")
    };
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = below.join(entry.file_name());
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.path().is_dir() && !is_hidden {
            collect(root, &name, names)?;
        } else if name.extension().is_some_and(|extension| extension == "parquet") && !is_hidden {
            names.insert(name);
        }
    }
    Ok(())
}

/// Compares two tables cell by cell.
pub fn compare_tables(first: &Table, second: &Table, tolerance: f64) -> Verdict {
    if first.content_hash() == second.content_hash() {
        return Verdict::Identical;
    }
    if let Some(what) = shape_difference(first, second) {
        return Verdict::Differs(what);
    }
    let mut close = Difference::default();
    let mut columns = Vec::new();
    for ((name, one), (_, other)) in first.columns().iter().zip(second.columns()) {
        let difference = column_difference(one, other, tolerance);
        if difference.rows > 0 {
            columns.push(difference.describe(name));
        } else if close.column.is_empty() || difference.largest > close.largest {
            close = Difference { column: name.clone(), ..difference };
        }
    }
    if columns.is_empty() {
        return Verdict::Close { largest: close.largest, column: close.column };
    }
    Verdict::Differs(columns.join(", "))
}

#[derive(Default)]
struct Difference {
    column: String,
    /// Rows outside the tolerance.
    rows: usize,
    /// The largest relative difference of numbers.
    largest: f64,
}

impl Difference {
    fn describe(&self, column: &str) -> String {
        let rows = super::progress::count(self.rows, "row");
        if self.largest > 0.0 {
            return format!("column '{column}' in {rows} (by up to {:.1e})", self.largest);
        }
        format!("column '{column}' in {rows}")
    }
}

fn shape_difference(first: &Table, second: &Table) -> Option<String> {
    let names = |table: &Table| -> Vec<String> { table.columns().iter().map(|(name, _)| name.clone()).collect() };
    let (in_first, in_second) = (names(first), names(second));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|name| !those.contains(name)).map(|name| format!("'{name}'")).collect()
    };
    let (gone, new) = (only(&in_first, &in_second), only(&in_second, &in_first));
    if !gone.is_empty() || !new.is_empty() {
        let mut parts = Vec::new();
        for (names, place) in [(gone, "first"), (new, "second")] {
            if !names.is_empty() {
                parts.push(format!("columns only in the {place}: {}", names.join(", ")));
            }
        }
        return Some(parts.join("; "));
    }
    if in_first != in_second {
        return Some("the columns are in another order".to_owned());
    }
    let same_type = |one: &Column, other: &Column| std::mem::discriminant(one) == std::mem::discriminant(other);
    let retyped = first.columns().iter().zip(second.columns()).find(|((_, one), (_, other))| !same_type(one, other));
    if let Some(((name, _), _)) = retyped {
        return Some(format!("column '{name}' has another type"));
    }
    (first.height() != second.height()).then(|| format!("{} and {} rows", first.height(), second.height()))
}

fn column_difference(one: &Column, other: &Column, tolerance: f64) -> Difference {
    let mut difference = Difference::default();
    match (one, other) {
        (Column::Float(one), Column::Float(other)) => {
            for pair in one.iter().zip(other) {
                match pair {
                    (Some(a), Some(b)) => {
                        let relative = relative_difference(*a, *b);
                        difference.largest = difference.largest.max(relative);
                        difference.rows += usize::from(relative > tolerance);
                    }
                    (a, b) => difference.rows += usize::from(a.is_some() != b.is_some()),
                }
            }
        }
        (Column::Int(one), Column::Int(other)) => difference.rows = unequal(one, other),
        (Column::Text(one), Column::Text(other)) => difference.rows = unequal(one, other),
        (Column::Bool(one), Column::Bool(other)) => difference.rows = unequal(one, other),
        _ => difference.rows = usize::MAX,
    }
    difference
}

fn unequal<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).filter(|(a, b)| a != b).count()
}

/// |a − b| over the larger of |a| and |b|; infinite when one of them is not finite and they are not the same.
fn relative_difference(a: f64, b: f64) -> f64 {
    if a == b || a.to_bits() == b.to_bits() {
        return 0.0;
    }
    let relative = (a - b).abs() / a.abs().max(b.abs());
    if relative.is_nan() { f64::INFINITY } else { relative }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Record;

    fn table(rows: &[(f64, &str)]) -> Table {
        let records: Vec<Record> =
            rows.iter().map(|(x, word)| Record::new().with("x", *x).with("word", *word)).collect();
        Table::from_records(&records).unwrap()
    }

    #[test]
    fn verdicts_tell_equal_close_and_different_apart() {
        let base = table(&[(1.0, "a"), (2.0, "b")]);
        assert_eq!(compare_tables(&base, &base.clone(), 0.0), Verdict::Identical);
        let near = table(&[(1.0, "a"), (2.0 + 1e-10, "b")]);
        let Verdict::Close { largest, column } = compare_tables(&base, &near, 1e-9) else { panic!() };
        assert_eq!(column, "x");
        assert!((largest - 5e-11).abs() < 1e-13, "{largest}");
        let differs = |other: &Table| compare_tables(&base, other, 1e-9).describe();
        assert_eq!(differs(&table(&[(1.0, "a"), (4.0, "b")])), "differs: column 'x' in 1 row (by up to 5.0e-1)");
        assert_eq!(differs(&table(&[(1.0, "c"), (2.0, "d")])), "differs: column 'word' in 2 rows");
        assert_eq!(differs(&table(&[(1.0, "a")])), "differs: 2 and 1 rows");
        let other = Table::from_records(&[Record::new().with("y", 1.0).with("word", "a")]).unwrap();
        assert_eq!(differs(&other), "differs: columns only in the first: 'x'; columns only in the second: 'y'");
    }

    #[test]
    fn folders_are_compared_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        assert_eq!(compare(&one, &two, 0.0).unwrap_err().exit_code(), 2);
        table(&[(1.0, "a")]).write_parquet(&one.join("smoke/both.parquet")).unwrap();
        table(&[(1.0, "a")]).write_parquet(&two.join("smoke/both.parquet")).unwrap();
        assert!(compare(&one, &two, 0.0).unwrap().agrees());
        table(&[(1.0, "a")]).write_parquet(&one.join("gone.parquet")).unwrap();
        table(&[(1.0, "a")]).write_parquet(&two.join("new.parquet")).unwrap();
        let comparison = compare(&one, &two, 0.0).unwrap();
        assert!(!comparison.agrees());
        let names: Vec<(&str, &str)> =
            comparison.tables.iter().map(|(name, verdict)| (name.as_str(), verdict.name())).collect();
        assert_eq!(
            names,
            [("gone.parquet", "only in first"), ("new.parquet", "only in second"), ("smoke/both.parquet", "identical")]
        );
    }
}
