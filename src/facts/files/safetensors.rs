//! `.safetensors` files: named tensors.

use safetensors::tensor::{Dtype, Metadata};

use super::content::{Content, cut_off};
use super::dense::{Dense, Element, Layout, wrong_element};
use crate::error::{Error, Result, unknown};

/// Longest list of tensors that is read; models of hundreds of layers need a hundredth of it.
const LONGEST_HEADER: u64 = 16 << 20;

/// Opens a tensor by name; without one the file must hold a single tensor of two axes.
pub fn open(content: Content, member: Option<&str>) -> Result<Dense> {
    let (metadata, start) = read_header(&content)?;
    let name = choose(&metadata, member)?;
    let info = metadata.info(&name).ok_or_else(|| damaged("a tensor is listed and not described"))?;
    let element = match info.dtype {
        Dtype::F16 => Element::F16,
        Dtype::BF16 => Element::Bf16,
        Dtype::F32 => Element::F32,
        Dtype::F64 => Element::F64,
        other => return Err(wrong_element(&format!("{other:?}"))),
    };
    let (from, to) = info.data_offsets;
    let data = content.part(start + from as u64, (to - from) as u64)?;
    Dense::new(data, Layout { element, big_endian: false, by_columns: false }, &info.shape)
}

/// The list of tensors, whose places the library checks against their shapes, and where the numbers begin.
fn read_header(content: &Content) -> Result<(Metadata, u64)> {
    let mut length = [0; 8];
    if content.length() < 8 {
        return Err(damaged("it has fewer than 8 bytes"));
    }
    content.read_at(0, &mut length)?;
    let length = u64::from_le_bytes(length);
    let start = length.saturating_add(8);
    if start > content.length() {
        return Err(cut_off(start, content.length()));
    }
    if length > LONGEST_HEADER {
        return Err(damaged(format!("its header has {length} bytes")));
    }
    let header = content.part(8, length)?.to_vec()?;
    let metadata: Metadata = serde_json::from_slice(&header).map_err(damaged)?;
    let end = start.saturating_add(metadata.data_len() as u64);
    if end != content.length() {
        return Err(cut_off(end, content.length()));
    }
    Ok((metadata, start))
}

fn choose(metadata: &Metadata, member: Option<&str>) -> Result<String> {
    let mut names = metadata.offset_keys();
    names.sort();
    let listed = || names.iter().map(String::as_str);
    if let Some(wanted) = member {
        let found = names.iter().find(|name| *name == wanted);
        return found.cloned().ok_or_else(|| unknown("tensor", wanted, listed()));
    }
    let is_table = |name: &&String| metadata.info(name).is_some_and(|info| info.shape.len() == 2);
    let tables: Vec<&String> = names.iter().filter(is_table).collect();
    match (&tables[..], &names[..]) {
        ([only], _) => Ok((*only).clone()),
        ([], [only]) => Ok(only.clone()),
        ([], []) => Err(damaged("it holds no tensor")),
        ([], _) => Err(Error::input("the file holds no tensor of two axes").fix("save one vector per row")),
        _ => Err(super::source::several("tensors of two axes", tables.iter().map(|name| name.as_str()))),
    }
}

fn damaged(how: impl std::fmt::Display) -> Error {
    Error::input(format!("not a readable .safetensors file: {how}")).fix("save it again with safetensors")
}
