//! `.npz` files: a zip archive of `.npy` arrays.

use std::io::Read;

use zip::{CompressionMethod, ZipArchive};

use super::content::{Content, ContentReader};
use super::dense::Dense;
use super::npy;
use crate::error::{Error, Result, unknown};

/// A member that grows more than this when inflated is refused: vectors compress to a tenth at best.
const MOST_GROWTH: u64 = 16;

/// Opens an array by name; without one the archive must hold a single array.
///
/// Members that are only stored are read in place, compressed ones are inflated into memory.
pub fn open(content: Content, member: Option<&str>) -> Result<Dense> {
    let mut archive = ZipArchive::new(content.reader()).map_err(damaged)?;
    let entry = choose(&archive, member)?;
    let file = archive.by_index(entry).map_err(damaged)?;
    let (packed, size) = (file.compressed_size(), file.size());
    match file.compression() {
        CompressionMethod::Stored => {
            let start = file.data_start().ok_or_else(|| damaged("a member has no place"))?;
            npy::open(content.part(start, size)?)
        }
        _ if size > packed.min(content.length()).saturating_mul(MOST_GROWTH) => Err(Error::input(format!(
            "a compressed array of {packed} bytes promises {size}, over {MOST_GROWTH} times as many"
        ))
        .fix("save it uncompressed, with numpy.savez")),
        _ => {
            let mut bytes = Vec::with_capacity(size as usize);
            file.take(size).read_to_end(&mut bytes).map_err(damaged)?;
            npy::open(Content::from(bytes))
        }
    }
}

/// The index of the wanted array.
fn choose(archive: &ZipArchive<ContentReader>, member: Option<&str>) -> Result<usize> {
    let names: Vec<String> = archive.file_names_raw().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let array_name = |name: &str| name.strip_suffix(".npy").map(str::to_owned);
    let arrays: Vec<(usize, String)> =
        names.iter().enumerate().filter_map(|(index, name)| Some((index, array_name(name)?))).collect();
    let listed = || arrays.iter().map(|(_, name)| name.as_str());
    match (member, &arrays[..]) {
        (_, []) => Err(damaged("it holds no .npy array")),
        (None, [(index, _)]) => Ok(*index),
        (None, _) => Err(super::source::several("arrays", listed())),
        (Some(wanted), _) => {
            let wanted = wanted.strip_suffix(".npy").unwrap_or(wanted);
            let found = arrays.iter().find(|(_, name)| name == wanted);
            found.map(|(index, _)| *index).ok_or_else(|| unknown("array", wanted, listed()))
        }
    }
}

fn damaged(how: impl std::fmt::Display) -> Error {
    Error::input(format!("not a readable .npz archive: {how}")).fix("save it again with numpy.savez")
}
