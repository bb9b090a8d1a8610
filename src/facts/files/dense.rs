//! Tables whose numbers lie one after the other in a file.

use half::{bf16, f16};
use ndarray::Array2;

use super::content::{Content, cut_off};
use crate::error::{Error, Result};

/// A floating-point format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    fn size(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The number in `bytes`, which are as many as its size.
    fn decode(self, bytes: &[u8], big_endian: bool) -> f64 {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        if big_endian {
            word[..bytes.len()].reverse();
        }
        let [a, b, c, d, ..] = word;
        match self {
            Self::F16 => f16::from_le_bytes([a, b]).to_f64(),
            Self::Bf16 => bf16::from_le_bytes([a, b]).to_f64(),
            Self::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
            Self::F64 => f64::from_le_bytes(word),
        }
    }
}

/// How the numbers of a table lie in its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub element: Element,
    pub big_endian: bool,
    /// Column after column (Fortran order) instead of row after row.
    pub by_columns: bool,
}

/// A table in consecutive bytes.
pub struct Dense {
    content: Content,
    layout: Layout,
    rows: usize,
    columns: usize,
}

/// Bytes read at a time.
const BLOCK: usize = 1 << 20;

impl Dense {
    /// A table of this shape at the start of `content`.
    ///
    /// # Errors
    /// When the shape has not two axes, or stands for more bytes than there are.
    pub fn new(content: Content, layout: Layout, shape: &[usize]) -> Result<Self> {
        let &[rows, columns] = shape else { return Err(wrong_rank(shape)) };
        let promised = rows.checked_mul(columns).and_then(|count| count.checked_mul(layout.element.size()));
        let promised = promised.map_or(u64::MAX, |bytes| bytes as u64);
        if promised > content.length() {
            return Err(cut_off(promised, content.length()));
        }
        Ok(Self { content, layout, rows, columns })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows by number; each must be there.
    pub fn read(&self, rows: &[usize]) -> Result<Array2<f64>> {
        if self.layout.by_columns { self.read_by_columns(rows) } else { self.read_by_rows(rows) }
    }

    /// Neighbouring rows are read together.
    fn read_by_rows(&self, rows: &[usize]) -> Result<Array2<f64>> {
        let width = self.columns * self.layout.element.size();
        let most = (BLOCK / width).max(1);
        let mut numbers = Vec::with_capacity(rows.len() * self.columns);
        let mut rest = rows;
        while let Some(&first) = rest.first() {
            let run = rest.iter().zip(first..).take(most).take_while(|(row, next)| *row == next).count();
            self.decode(first * self.columns, run * self.columns, |number| numbers.push(number))?;
            rest = &rest[run..];
        }
        Ok(Array2::from_shape_vec((rows.len(), self.columns), numbers).expect("as many numbers as the shape says"))
    }

    /// Every column is read in windows that begin and end at a wanted row.
    fn read_by_columns(&self, rows: &[usize]) -> Result<Array2<f64>> {
        let most = BLOCK / self.layout.element.size();
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&place| rows[place]);
        let mut table = Array2::zeros((rows.len(), self.columns));
        let mut window = Vec::new();
        for column in 0..self.columns {
            let mut rest = &order[..];
            while let Some(&place) = rest.first() {
                let first = rows[place];
                let inside = rest.partition_point(|&place| rows[place] - first < most);
                let length = rows[rest[inside - 1]] - first + 1;
                window.clear();
                self.decode(column * self.rows + first, length, |number| window.push(number))?;
                for &place in &rest[..inside] {
                    table[[place, column]] = window[rows[place] - first];
                }
                rest = &rest[inside..];
            }
        }
        Ok(table)
    }

    /// The `count` numbers from number `first` on.
    fn decode(&self, first: usize, count: usize, mut take: impl FnMut(f64)) -> Result<()> {
        let Layout { element, big_endian, .. } = self.layout;
        let mut bytes = vec![0; count * element.size()];
        self.content.read_at((first * element.size()) as u64, &mut bytes)?;
        bytes.chunks_exact(element.size()).for_each(|word| take(element.decode(word, big_endian)));
        Ok(())
    }
}

fn wrong_rank(shape: &[usize]) -> Error {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    let axes = if shape.len() == 1 { "axis" } else { "axes" };
    Error::input(format!("the array has {} {axes} ({}), not 2", shape.len(), extents.join(" × ")))
        .fix("save one vector per row, for example values.reshape(-1, d)")
}

/// The error of numbers that are not floats.
pub fn wrong_element(held: &str) -> Error {
    Error::input(format!("the array holds numbers of type '{held}'"))
        .fix("save floats of 16, 32 or 64 bits, for example values.astype('float32')")
}
