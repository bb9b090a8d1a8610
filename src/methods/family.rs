//! The MLPs of one method for one fact set, by size.

use std::cell::OnceCell;

use ndarray::Array2;

use crate::capacity::{Found, Range, smallest_size};
use crate::error::{Error, Result};
use crate::facts::decodability::{Cores, Decodability, decodability};
use crate::facts::fact_set::FactSet;
use crate::memory;
use crate::mlp::network::Mlp;
use crate::rng::StreamName;

/// What a method starts from: a fact set, its margin-optimal outputs once they are asked for, and named random streams.
pub struct Ground<'a> {
    pub facts: &'a FactSet,
    seed: u64,
    decodability: OnceCell<Decodability>,
}

impl<'a> Ground<'a> {
    /// A ground on which everything random is named by `seed`.
    pub fn new(facts: &'a FactSet, seed: u64) -> Self {
        Self { facts, seed, decodability: OnceCell::new() }
    }

    /// The stream for one purpose.
    pub fn stream(&self, purpose: &str) -> StreamName {
        StreamName::new(purpose).with(self.facts.dimension() as u64).with(self.facts.len() as u64).with(self.seed)
    }

    /// ρ of the values and the margin-optimal outputs, computed once.
    pub fn decodability(&self) -> Result<&Decodability> {
        if let Some(known) = self.decodability.get() {
            return Ok(known);
        }
        let found = decodability(&self.facts.values, Cores::One)?;
        Ok(self.decodability.get_or_init(|| found))
    }

    /// The margin-optimal outputs U*, n×d.
    ///
    /// # Errors
    /// When a value cannot be decoded at all: it lies within the hull of the others, or is there twice.
    pub fn outputs(&self) -> Result<&Array2<f64>> {
        let found = self.decodability()?;
        if found.rho > 0.0 {
            return Ok(&found.outputs);
        }
        let weakest = &found.certificates[found.weakest];
        let reason = match weakest.duplicate {
            Some(twin) => format!("values {} and {twin} are equal", found.weakest),
            None => format!("no direction separates value {} from all others", found.weakest),
        };
        Err(Error::input(reason).fix("leave such values out"))
    }

    /// F·log₂(n) bits: what the facts hold.
    pub fn bits(&self) -> f64 {
        self.facts.len() as f64 * (self.facts.values.nrows() as f64).log2()
    }

    /// Multiply–adds of finding U*: about 60 products of all values with all values (measured from 1,024 to 4,096 values).
    pub fn outputs_work(&self) -> f64 {
        60.0 * (self.facts.values.nrows() as f64).powi(2) * self.facts.dimension() as f64
    }
}

/// A built MLP and what was measured on the way.
#[derive(Debug, Clone)]
pub struct Built {
    pub mlp: Mlp,
    /// Length of the codes between encoder and decoder, where there are any.
    pub code_length: Option<usize>,
    /// How far the encoder is off on the keys, where it is exact.
    pub relative_residual: Option<f64>,
    /// Multiply–adds of building this size, counted from the shapes.
    pub work: f64,
}

impl Built {
    /// A build of which nothing but the work is to be said.
    pub fn plain(mlp: impl Into<Mlp>, work: f64) -> Self {
        Self { mlp: mlp.into(), code_length: None, relative_residual: None, work }
    }
}

/// The MLPs of one method for one fact set.
pub trait Family {
    /// The sizes there are, and where a search should start.
    fn sizes(&self) -> Range;

    /// Bytes of memory that building a size takes, about.
    fn bytes(&self, size: usize) -> f64;

    /// How many facts the MLP of a size stores.
    fn stored(&mut self, size: usize) -> Result<usize>;

    /// The MLP of a size.
    fn build(&mut self, size: usize) -> Result<Built>;
}

/// Searches a family for the smallest size that stores every fact; a size that memory cannot hold is an error.
///
/// # Errors
/// As [`smallest_size`], and when a probed size needs more memory than is free.
pub fn search(family: &mut dyn Family, facts: usize, mut tell: impl FnMut(usize, usize)) -> Result<Found> {
    smallest_size(family.sizes(), facts, |size| {
        refuse_beyond_memory(&format!("an MLP of size {size}"), family.bytes(size))?;
        let stored = family.stored(size)?;
        tell(size, stored);
        Ok(stored)
    })
}

/// Refuses what memory cannot hold, before anything is allocated.
///
/// # Errors
/// When `bytes` exceed the memory that the system says is free; where it says nothing, never.
pub fn refuse_beyond_memory(what: &str, bytes: f64) -> Result<()> {
    let Some((needed, free)) = memory::shortage(bytes, 1.0) else { return Ok(()) };
    Err(Error::input(format!("{what} needs {needed:.1} GiB of memory, and {free:.1} GiB are free"))
        .fix("use a smaller size or fewer facts"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_sizes_are_refused_with_the_bytes_they_need() {
        assert!(refuse_beyond_memory("a small MLP", 1e6).is_ok());
        let error = refuse_beyond_memory("an MLP of 10^15 units", 1e18).unwrap_err();
        assert!(error.to_string().contains("931322574.6 GiB"), "{error}");
    }

    #[test]
    fn values_that_cannot_be_decoded_are_named() {
        let mut values = Array2::<f64>::eye(4);
        let twin = values.row(1).to_owned();
        values.row_mut(3).assign(&twin);
        let facts = FactSet::new(Array2::eye(4), values, vec![0, 1, 2, 3]).unwrap();
        let message = Ground::new(&facts, 0).outputs().unwrap_err().to_string();
        assert!(message.contains("equal") && message.contains('1') && message.contains('3'), "{message}");
    }
}
