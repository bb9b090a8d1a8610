//! Tables of a user on the command line: which rows are read, and what rows are called.

use clap::Args;
use ndarray::Axis;

use crate::error::{Error, Result};
use crate::facts::files::names::Names;
use crate::facts::files::rows::{Pick, RowList};
use crate::facts::files::{Picked, Source, TableFile};
use crate::memory;
use crate::num::statistics::largest_magnitude;

/// Which rows of a table are read.
#[derive(Args, Debug)]
pub struct RowOptions {
    /// Rows to read, such as 0..100,200 (rows 0 to 99 and row 200) [default: all]
    #[arg(long, value_name = "LIST")]
    rows: Option<RowList>,
    /// Read a random sample of N rows, of all or of --rows
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
}

impl RowOptions {
    pub fn pick(&self) -> Pick {
        Pick { rows: self.rows.clone(), sample: self.sample.map(|count| (count, self.seed)) }
    }
}

/// A table in memory, and what its rows are called.
pub struct Input {
    pub source: Source,
    /// Rows in the file.
    pub total: usize,
    pub picked: Picked,
    names: Option<Names>,
}

/// Copies of a table that a measurement holds at a time: as read, scaled, centred, whitened, its outputs and one spare.
const COPIES: u64 = 6;

impl Input {
    /// Reads the rows that `pick` chooses, after a look at how much memory there is for them.
    pub fn read(source: &Source, names: Option<&Source>, pick: &Pick) -> Result<Self> {
        let file = TableFile::open(source)?;
        let names = names.map(|names| Names::read(names, file.rows())).transpose()?;
        let rows = pick.resolve(file.rows()).map_err(|error| error.at(source))?;
        check_memory(rows.len(), file.columns(), memory::available()).map_err(|error| error.at(source))?;
        let picked = Picked { table: file.read(&rows)?, rows };
        check_magnitude(&picked).map_err(|error| error.at(source))?;
        Ok(Self { source: source.clone(), total: file.rows(), picked, names })
    }

    /// The row of the file that row `place` of the table in memory is.
    pub fn row(&self, place: usize) -> usize {
        self.picked.rows[place]
    }

    pub fn name(&self, place: usize) -> Option<&str> {
        self.names.as_ref()?.of(self.row(place))
    }

    /// A row for people: its number in the file and its name.
    pub fn label(&self, place: usize) -> String {
        match self.name(place) {
            Some(name) => format!("{} '{name}'", self.row(place)),
            None => self.row(place).to_string(),
        }
    }
}

/// Beyond these, products of a few numbers are no numbers any more.
const LARGEST: f64 = 1e50;
const SMALLEST: f64 = 1e-50;

fn check_magnitude(picked: &Picked) -> Result<()> {
    let advice = "scale the table, for example to rows of lengths around 1";
    if let Some(((place, column), number)) = picked.table.indexed_iter().find(|(_, number)| number.abs() > LARGEST) {
        let row = picked.rows[place];
        return Err(Error::input(format!(
            "the number at row {row}, column {column} is {number:e}: too large to compute with"
        ))
        .fix(format!("leave out row {row}, or {advice}")));
    }
    for (place, entries) in picked.table.rows().into_iter().enumerate() {
        let largest = largest_magnitude(entries.insert_axis(Axis(0)));
        if largest > 0.0 && largest < SMALLEST {
            let row = picked.rows[place];
            return Err(Error::input(format!(
                "no number of row {row} is larger than {largest:e}: too small to compute with"
            ))
            .fix(format!("leave out row {row}, or {advice}")));
        }
    }
    Ok(())
}

fn check_memory(rows: usize, columns: usize, available: Option<u64>) -> Result<()> {
    let needed = (rows as u64).saturating_mul(columns as u64).saturating_mul(8 * COPIES);
    match available {
        Some(available) if needed > available => Err(Error::input(format!(
            "{rows} rows of {columns} numbers need about {:.0} GB of memory, and {:.0} GB are free",
            needed as f64 / 1e9,
            available as f64 / 1e9
        ))
        .fix("read a sample, for example with --sample 16384")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn numbers_that_products_cannot_hold_are_refused_with_their_row() {
        let picked = |table| Picked { table, rows: vec![4, 9] };
        let error = check_magnitude(&picked(array![[1.0, 2.0], [1.0, -1e200]])).unwrap_err();
        assert!(error.to_string().contains("row 9, column 1 is -1e200"), "{error}");
        assert_eq!(error.exit_code(), 2);
        let error = check_magnitude(&picked(array![[1e-200, 2e-200], [0.0, 1e-210]])).unwrap_err();
        assert!(error.to_string().contains("no number of row 4 is larger than 2e-200"), "{error}");
        let error = check_magnitude(&picked(array![[1.0, 0.0], [0.0, -1e-210]])).unwrap_err();
        assert!(error.to_string().contains("no number of row 9 is larger than 1e-210"), "{error}");
        assert!(check_magnitude(&picked(array![[1e-200, 1.0], [1e-210, 1e40]])).is_ok());
        assert!(check_magnitude(&picked(array![[0.0, 0.0], [0.0, 0.0]])).is_ok());
    }

    #[test]
    fn a_table_larger_than_the_memory_is_refused_before_it_is_read() {
        let error = check_memory(500_000, 1024, Some(8_000_000_000)).unwrap_err();
        assert!(error.to_string().contains("need about 25 GB of memory, and 8 GB are free"), "{error}");
        assert!(check_memory(16_384, 1024, Some(2_000_000_000)).is_ok());
        assert!(check_memory(500_000, 1024, None).is_ok());
    }
}
