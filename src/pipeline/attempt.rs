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
use crate::table::{Record, Table};

thread_local! {
    /// `Some` while this thread computes a cell; a panic leaves its place here.
    static PLACE_OF_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Computes a cell. A panic, an error, a value that is not finite, rows that do not fit together and a file that changed
/// meanwhile are errors.
pub fn attempt(experiment: &dyn Experiment, point: &Point, seed: u64) -> Result<Vec<Record>> {
    let params = point.with_paths();
    install_hook();
    PLACE_OF_PANIC.set(Some(String::new()));
    let outcome = catch_unwind(AssertUnwindSafe(|| experiment.run(&params, seed)));
    let place = PLACE_OF_PANIC.take().unwrap_or_default();
    let records = outcome.map_err(|panic| Error::failure(format!("panicked{place}: {}", message(&*panic))))??;
    check(&records)?;
    point.files.iter().try_for_each(InputFile::check_unchanged)?;
    Ok(records)
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
