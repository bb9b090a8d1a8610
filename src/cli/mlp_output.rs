//! The MLP file that a command writes.

use std::path::Path;

use crate::durable;
use crate::error::{Error, Result, unknown};
use crate::mlp::saved::Precision;

/// The file to write has to have a place, and may be none of those that are read.
pub fn check_output(output: &Path, inputs: &[&Path]) -> Result<()> {
    durable::check_writable(output)?;
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    match inputs.iter().find(|input| input.canonicalize().is_ok_and(|input| input == output)) {
        Some(input) => Err(Error::input(format!("'{}' is read and would be overwritten", input.display()))
            .fix("name another file with --output")),
        None => Ok(()),
    }
}

/// The precision called `name`.
pub fn precision(name: &str) -> Result<Precision> {
    match name {
        "single" => Ok(Precision::Single),
        "double" => Ok(Precision::Double),
        other => Err(unknown("precision", other, ["single", "double"])),
    }
}
