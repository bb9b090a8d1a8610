//! A file that a command writes beside those that it reads.

use std::path::Path;

use crate::durable;
use crate::error::{Error, Result};

/// The file to write has to have a place, and may be none of those that are read.
pub fn check_output(output: &Path, inputs: &[&Path]) -> Result<()> {
    durable::check_writable(output)?;
    check_not_read(output, inputs)
}

/// The file to write may be none of those that are read.
pub fn check_not_read(output: &Path, inputs: &[&Path]) -> Result<()> {
    match inputs.iter().find(|input| is_same(input, output)) {
        Some(input) => Err(Error::input(format!("'{}' is read and would be overwritten", input.display()))
            .fix("name another file to write")),
        None => Ok(()),
    }
}

/// Whether two paths name one file that is there.
pub fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}
