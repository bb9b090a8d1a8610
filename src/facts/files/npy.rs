//! `.npy` files: one array of NumPy.

use super::content::{Content, cut_off};
use super::dense::{Dense, Element, Layout, wrong_element};
use crate::error::{Error, Result};

const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy itself takes a header longer than 10,000 bytes for hostile.
const LONGEST_HEADER: u64 = 10_000;

/// Opens the array of a `.npy` file of floats in C or Fortran order and either byte order.
pub fn open(content: Content) -> Result<Dense> {
    let header = Header::read(&content)?;
    let layout = header.layout()?;
    let data = content.part(header.end, content.length() - header.end)?;
    Dense::new(data, layout, &header.shape()?)
}

/// The Python dictionary at the start of the file, such as `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
///
/// NumPy writes these three entries and no others. They are looked up as text: a parser of Python literals would follow a
/// hostile header into any depth of brackets.
struct Header {
    text: String,
    /// Where the numbers begin.
    end: u64,
}

impl Header {
    fn read(content: &Content) -> Result<Self> {
        let mut start = [0; 12];
        let known = content.length().min(12) as usize;
        content.read_at(0, &mut start[..known])?;
        if known < 10 || start[..6] != *MAGIC {
            return Err(damaged("it does not begin like a .npy file"));
        }
        let (begin, length) = match start[6] {
            1 => (10, u64::from(u16::from_le_bytes([start[8], start[9]]))),
            2 | 3 if known == 12 => (12, u64::from(u32::from_le_bytes([start[8], start[9], start[10], start[11]]))),
            version => return Err(damaged(&format!("its format version is {version}"))),
        };
        if begin + length > content.length() {
            return Err(cut_off(begin + length, content.length()));
        }
        if length > LONGEST_HEADER {
            return Err(damaged(&format!("its header has {length} bytes")));
        }
        let text = content.part(begin, length)?.to_vec()?;
        Ok(Self { text: String::from_utf8_lossy(&text).into_owned(), end: begin + length })
    }

    /// What follows `'name':`.
    fn entry(&self, name: &str) -> Result<&str> {
        let key = format!("'{name}':");
        let place = self.text.find(&key).ok_or_else(|| damaged(&format!("its header has no entry '{name}'")))?;
        Ok(self.text[place + key.len()..].trim_start())
    }

    fn layout(&self) -> Result<Layout> {
        let entry = self.entry("descr")?;
        let Some(kind) = entry.strip_prefix('\'').and_then(|rest| rest.split('\'').next()) else {
            return Err(wrong_element("record"));
        };
        let (big_endian, kind) = match kind.split_at_checked(1) {
            Some((">", kind)) => (true, kind),
            Some(("<" | "=" | "|", kind)) => (false, kind),
            _ => return Err(wrong_element(kind)),
        };
        let element = match kind {
            "f2" => Element::F16,
            "f4" => Element::F32,
            "f8" => Element::F64,
            _ if kind.starts_with('O') => return Err(pickled()),
            _ => return Err(wrong_element(kind)),
        };
        let order = self.entry("fortran_order")?;
        let by_columns = order.starts_with("True");
        if !by_columns && !order.starts_with("False") {
            return Err(damaged("its header does not say in which order the numbers are"));
        }
        Ok(Layout { element, big_endian, by_columns })
    }

    fn shape(&self) -> Result<Vec<usize>> {
        let faulty = || damaged("its header has no readable shape");
        let inside = self.entry("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(faulty)?.0;
        let extents = inside.split(',').map(str::trim).filter(|extent| !extent.is_empty());
        // Python 2 wrote long integers as 3L.
        extents.map(|extent| extent.trim_end_matches('L').parse().map_err(|_| faulty())).collect()
    }
}

fn damaged(how: &str) -> Error {
    Error::input(format!("not a readable .npy array: {how}")).fix("save it again with numpy.save")
}

fn pickled() -> Error {
    Error::input("the array holds pickled Python objects, which can run any program when they are loaded")
        .fix("save plain numbers: numpy.save(path, numpy.stack(values).astype('float32'))")
}
