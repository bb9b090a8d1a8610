//! One try at a cell: whatever goes wrong in it is the failure of this cell and of no other.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use super::experiment::Experiment;
use super::grid::Point;
use super::input_files::InputFile;
use super::segment;
use crate::error::{Error, Result};
use crate::memory;
use crate::table::{Record, Table};

thread_local! {
    /// `Some` while this thread computes a cell; a panic leaves its place here.
    static PLACE_OF_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Computes a cell. A panic, an error, a value that is not finite, rows that do not fit together and a file that changed
/// meanwhile are errors.
pub fn attempt(experiment: &dyn Experiment, point: &Point, seed: u64) -> Result<Vec<Record>> {
    let params = point.with_paths();
    refuse_beyond_memory(experiment.memory(&params))?;
    install_hook();
    PLACE_OF_PANIC.set(Some(String::new()));
    let outcome = catch_unwind(AssertUnwindSafe(|| experiment.run(&params, seed)));
    let place = PLACE_OF_PANIC.take().unwrap_or_default();
    let records = outcome.map_err(|panic| Error::failure(format!("panicked{place}: {}", message(&*panic))))??;
    check(&records)?;
    point.files.iter().try_for_each(InputFile::check_unchanged)?;
    Ok(records)
}

/// What a prediction of memory may be off by (`plan` shows the same range).
const UNCERTAINTY: f64 = 2.0;

/// A cell that cannot fit into memory is a failure of its own, before it takes the run with it.
fn refuse_beyond_memory(predicted: f64) -> Result<()> {
    let Some((needed, free)) = memory::shortage(predicted, UNCERTAINTY) else { return Ok(()) };
    Err(Error::failure(format!("needs about {needed:.1} GiB of memory, and {free:.1} GiB are free"))
        .fix("use a smaller grid point, or a machine with more memory"))
}

/// Keeps panics of cells off the screen: they are reported with their cell. Other panics are shown as ever.
fn install_hook() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let in_cell = PLACE_OF_PANIC.with_borrow_mut(|place| {
                let location = info.location().map(|at| format!(" at {}:{}", at.file(), at.line()));
                place.as_mut().map(|place| *place = location.unwrap_or_default()).is_some()
            });
            if !in_cell {
                usual(info);
            }
        }));
    });
}

fn message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => text,
        (_, Some(text)) => text,
        _ => "no message",
    }
}

fn check(records: &[Record]) -> Result<()> {
    for (row, record) in records.iter().enumerate() {
        if let Some(name) = record.non_finite() {
            return Err(Error::failure(format!("column '{name}' of row {row} is not a finite number")));
        }
    }
    let mut names = HashSet::new();
    for (name, _) in records.first().map_or(&[][..], Record::values) {
        if name.starts_with(segment::RESERVED) {
            return Err(Error::failure(format!("column '{name}': names that start with 'cell_' are the store's own")));
        }
        if !names.insert(name) {
            return Err(Error::failure(format!("column '{name}' is there twice")));
        }
    }
    Table::from_records(records).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_cannot_fit_is_refused_before_it_starts() {
        assert!(refuse_beyond_memory(1e6).is_ok());
        let error = refuse_beyond_memory(1e18).unwrap_err();
        assert!(error.exit_code() == 1 && error.to_string().contains("931322574.6 GiB"), "{error}");
    }
}
