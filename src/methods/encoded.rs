//! Exact encoders under a decoder: the size is the code length m.

use ndarray::{Array2, ArrayView2};

use super::codes::Codes;
use super::family::{Built, Family, Ground};
use crate::capacity::Range;
use crate::error::Result;
use crate::mlp::encoder_gadget::{self, gadget_hidden};
use crate::mlp::network::Mlp;
use crate::mlp::{paired, staircase};
use crate::num::statistics::largest_magnitude;
use crate::rng::Rng;

/// An encoder that gives the codes exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoder {
    Gadget,
    Staircase,
    SiluPairs,
    ReluPairs,
}

/// Half the distance of SiLU pairs, and the slack of their gadgets: without slack the weights, whose third power the error goes
/// with, are hundreds.
const PAIR_DISTANCE: f64 = 1e-4;
const PAIR_SLACK: f64 = 0.25;

impl Encoder {
    /// The encoder to `codes` (F×m) under the decoder `map` (d×m).
    fn fit(self, keys: &Array2<f64>, codes: ArrayView2<f64>, map: &Array2<f64>, rng: &mut Rng) -> Result<Mlp> {
        Ok(match self {
            Self::Gadget => encoder_gadget::fit(keys, codes, 0.0, rng)?.under(map).into(),
            Self::Staircase => staircase::fit(keys, codes, rng)?.under(map).into(),
            Self::SiluPairs => paired::silu_under(map, keys, codes, PAIR_SLACK, PAIR_DISTANCE, rng)?.into(),
            Self::ReluPairs => paired::relu_under(map, keys, codes, rng)?.into(),
        })
    }

    /// Hidden units per key and code number, at most.
    fn hidden_per_number(self, dimension: f64) -> f64 {
        match self {
            Self::Gadget | Self::Staircase | Self::ReluPairs => 1.5 / dimension,
            Self::SiluPairs => 2.5 / dimension,
        }
    }

    /// Multiply–adds of fitting m codes to F keys.
    fn work(self, facts: f64, dimension: f64, length: f64) -> f64 {
        match self {
            Self::Gadget | Self::SiluPairs => {
                let hidden = gadget_hidden(facts as usize, dimension as usize, 0.0) as f64;
                // The kernel, its Cholesky factor, three solves and two residuals, the weights.
                facts * facts * (hidden + dimension)
                    + facts.powi(3) / 6.0
                    + 5.0 * facts * facts * length
                    + facts * dimension * length * hidden
            }
            // One singular value decomposition per bin.
            Self::Staircase | Self::ReluPairs => 12.0 * facts * dimension * dimension + facts * dimension * length,
        }
    }
}

/// The MLPs of one encoder and one kind of codes.
pub struct Encoded<'a> {
    ground: &'a Ground<'a>,
    encoder: Encoder,
    codes: Box<dyn Codes + 'a>,
}

impl<'a> Encoded<'a> {
    pub fn new(ground: &'a Ground<'a>, encoder: Encoder, codes: Box<dyn Codes + 'a>) -> Self {
        Self { ground, encoder, codes }
    }
}

/// Draws of random gates before an encoder counts as impossible: a square random system is singular to working precision
/// now and then.
const DRAWS: usize = 5;

impl Encoded<'_> {
    fn fit(&self, codes: &Array2<f64>, map: &Array2<f64>) -> Result<Mlp> {
        let (keys, mut rng) = (&self.ground.facts.keys, self.ground.stream("gates").rng());
        let mut fitted = self.encoder.fit(keys, codes.view(), map, &mut rng);
        for _ in 1..DRAWS {
            if fitted.is_ok() {
                break;
            }
            fitted = self.encoder.fit(keys, codes.view(), map, &mut rng);
        }
        fitted
    }
}

impl Family for Encoded<'_> {
    fn sizes(&self) -> Range {
        self.codes.lengths()
    }

    /// The encoder is exact, so the codes decide: all facts when every value is decoded, else fewer than all.
    fn stored(&mut self, size: usize) -> Result<usize> {
        let missing = self.ground.facts.values.nrows() - self.codes.decoded(size)?;
        Ok(self.ground.facts.len().saturating_sub(missing))
    }

    fn bytes(&self, size: usize) -> f64 {
        let [facts, dimension, length] =
            [self.ground.facts.len(), self.ground.facts.dimension(), size].map(|x| x as f64);
        let hidden = self.encoder.hidden_per_number(dimension) * facts * length;
        8.0 * (6.0 * hidden * dimension + 4.0 * facts * length + 3.0 * facts * facts)
    }

    fn build(&mut self, size: usize) -> Result<Built> {
        let facts = self.ground.facts;
        let book = self.codes.book(size)?;
        let codes = facts.by_key(&book.codes);
        let mlp = self.fit(&codes, &book.map)?;
        let wanted = codes.dot(&book.map.t());
        let missing = mlp.forward(facts.keys.view()) - &wanted;
        let residual = largest_magnitude(missing.view()) / largest_magnitude(wanted.view()).max(f64::MIN_POSITIVE);
        let shapes = [facts.len(), facts.dimension(), size].map(|count| count as f64);
        let work = self.codes.work(size) + self.encoder.work(shapes[0], shapes[1], shapes[2]);
        Ok(Built { mlp, code_length: Some(size), relative_residual: Some(residual), work })
    }
}
