//! Constructions of one size: a hidden unit per key.

use super::family::{Built, Family, Ground};
use crate::capacity::Range;
use crate::error::{Error, Result};
use crate::mlp::naive;
use crate::mlp::network::Mlp;

/// The naive construction, for keys of one norm or in general position.
pub struct Naive<'a> {
    pub ground: &'a Ground<'a>,
    pub one_norm: bool,
}

impl Naive<'_> {
    fn mlp(&self, size: usize) -> Result<Mlp> {
        let facts = self.ground.facts;
        if size != facts.len() {
            return Err(Error::input(format!("{size} hidden units for {} keys", facts.len()))
                .fix("the naive construction has one hidden unit per key"));
        }
        let outputs = self.ground.outputs()?;
        Ok(if self.one_norm {
            naive::unit_norm(facts, outputs)?.into()
        } else {
            naive::general_position(facts, outputs, &mut self.ground.stream("direction").rng())?.into()
        })
    }
}

impl Family for Naive<'_> {
    fn sizes(&self) -> Range {
        let size = self.ground.facts.len();
        Range { smallest: size, largest: size, predicted: size, step: 2.0, precision: 0.0 }
    }

    fn bytes(&self, size: usize) -> f64 {
        8.0 * (4 * size * self.ground.facts.dimension()) as f64
    }

    fn stored(&mut self, size: usize) -> Result<usize> {
        Ok(self.mlp(size)?.stored(self.ground.facts))
    }

    fn build(&mut self, size: usize) -> Result<Built> {
        let (facts, dimension) = self.ground.facts.keys.dim();
        let comparisons = if self.one_norm { facts * facts * dimension } else { facts * dimension };
        Ok(Built::plain(self.mlp(size)?, self.ground.outputs_work() + comparisons as f64))
    }
}
