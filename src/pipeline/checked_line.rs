//! A line of JSON that shows whether it is what was written: the BLAKE3 of the JSON, a space, the JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// The line of a value, with its end.
pub fn write(value: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(value)
        .map_err(|error| Error::failure(format!("cannot write the cell as JSON: {error}")))?;
    Ok(format!("{} {json}\n", blake3::hash(json.as_bytes()).to_hex()))
}

/// The value of a line without its end; `None` when it is not what was written.
pub fn read<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (checksum, json) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    if blake3::hash(json.as_bytes()).to_hex().as_str() != checksum {
        return None;
    }
    serde_json::from_str(json).ok()
}
