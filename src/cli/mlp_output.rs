//! The MLP file that a command writes.

use crate::error::{Result, unknown};
use crate::mlp::saved::Precision;

/// The precision called `name`.
pub fn precision(name: &str) -> Result<Precision> {
    match name {
        "single" => Ok(Precision::Single),
        "double" => Ok(Precision::Double),
        other => Err(unknown("precision", other, ["single", "double"])),
    }
}
