//! Random features with a readout in closed form: the size is the number of hidden units.

use super::family::{Built, Family, Ground};
use crate::capacity::Range;
use crate::error::Result;
use crate::mlp::hebbian::{Features, NestedHebbian, RIDGE, ridge_readout};
use crate::mlp::hebbian_fitted;
use crate::mlp::network::Mlp;
use crate::mlp::ntk::{NestedNtk, Settings};
use ndarray::Array2;

/// Units of the widest MLP searched.
pub const WIDEST: usize = 1 << 14;

/// Families whose MLP of size m is the first m units of a larger one, so that a probe costs the new units only.
pub struct RandomFeatures<'a> {
    ground: &'a Ground<'a>,
    nested: Nested<'a>,
}

enum Nested<'a> {
    Ntk(NestedNtk<'a>),
    Hebbian(NestedHebbian<'a>),
}

impl<'a> RandomFeatures<'a> {
    /// The Hermite construction on `targets` (n×d).
    pub fn ntk(ground: &'a Ground<'a>, targets: &'a Array2<f64>, settings: Settings) -> Self {
        let nested = NestedNtk::new(ground.facts, targets, settings, ground.stream("features"));
        Self { ground, nested: Nested::Ntk(nested) }
    }

    /// The Hebbian construction without whitening.
    pub fn hebbian(ground: &'a Ground<'a>) -> Self {
        Self { ground, nested: Nested::Hebbian(NestedHebbian::new(ground.facts, ground.stream("features"))) }
    }
}

impl Family for RandomFeatures<'_> {
    fn sizes(&self) -> Range {
        let predicted = 2 * self.ground.facts.len() / self.ground.facts.dimension();
        Range { smallest: 1, largest: WIDEST, predicted, step: 2.0, precision: 0.01 }
    }

    fn bytes(&self, size: usize) -> f64 {
        let (facts, dimension) = self.ground.facts.keys.dim();
        8.0 * (size as f64 * (6 * dimension) as f64 + (20 * facts * dimension) as f64)
    }

    fn stored(&mut self, size: usize) -> Result<usize> {
        Ok(match &mut self.nested {
            Nested::Ntk(family) => family.stored(size),
            Nested::Hebbian(family) => family.stored(size),
        })
    }

    fn build(&mut self, size: usize) -> Result<Built> {
        let (facts, dimension) = self.ground.facts.keys.dim();
        let products = (facts * dimension * size) as f64;
        Ok(match &mut self.nested {
            Nested::Ntk(family) => Built::plain(family.mlp(size), 3.0 * products),
            Nested::Hebbian(family) => Built::plain(family.mlp(size), 3.0 * products),
        })
    }
}

/// Sizes around `per_fact` parameters a fact, up to as many features as facts: more do not add to the span of the features.
fn near(ground: &Ground, per_fact: f64) -> Range {
    let (facts, dimension) = ground.facts.keys.dim();
    let predicted = (per_fact * facts as f64 / (3 * dimension) as f64).ceil() as usize;
    Range { smallest: 1, largest: facts, predicted, step: 1.3, precision: 0.01 }
}

/// Random bilinear features with a ridge readout.
pub struct WhitenedFeatures<'a> {
    pub ground: &'a Ground<'a>,
}

impl WhitenedFeatures<'_> {
    fn mlp(&self, size: usize) -> Result<Mlp> {
        let dimension = self.ground.facts.dimension();
        let features = Features::random(size, dimension, &mut self.ground.stream("features").rng());
        let readout = ridge_readout(&features, self.ground.facts, RIDGE)?;
        Ok(features.with_readout(readout).into())
    }
}

impl Family for WhitenedFeatures<'_> {
    fn sizes(&self) -> Range {
        near(self.ground, 60.0)
    }

    fn bytes(&self, size: usize) -> f64 {
        let (facts, dimension) = self.ground.facts.keys.dim();
        let side = size.min(facts) as f64;
        8.0 * (2.0 * side * side + size as f64 * (6 * dimension + 512) as f64)
    }

    fn stored(&mut self, size: usize) -> Result<usize> {
        Ok(self.mlp(size)?.stored(self.ground.facts))
    }

    fn build(&mut self, size: usize) -> Result<Built> {
        let (facts, dimension) = self.ground.facts.keys.dim();
        let (side, other) = (size.min(facts) as f64, size.max(facts) as f64);
        let work = (3 * facts * dimension * size) as f64 + 0.5 * side * side * other + side.powi(3) / 6.0;
        Ok(Built::plain(self.mlp(size)?, work))
    }
}

/// Bilinear features fitted to the facts, with a ridge readout.
pub struct FittedFeatures<'a> {
    pub ground: &'a Ground<'a>,
    /// The last build that stored every fact, with its size.
    pub built: Option<(usize, Built)>,
}

impl FittedFeatures<'_> {
    fn fit(&self, size: usize) -> Result<Built> {
        let facts = self.ground.facts;
        let fitted = hebbian_fitted::fit(facts, size, RIDGE, &mut self.ground.stream("features").rng())?;
        let products = (facts.keys.len() * size) as f64;
        let work = (4.0 * fitted.iterations as f64 + 9.0) * products + 0.5 * (size * size * facts.len()) as f64;
        Ok(Built::plain(fitted.mlp, work))
    }
}

impl Family for FittedFeatures<'_> {
    fn sizes(&self) -> Range {
        near(self.ground, 25.0)
    }

    fn bytes(&self, size: usize) -> f64 {
        let (facts, dimension) = self.ground.facts.keys.dim();
        hebbian_fitted::bytes(facts as f64, size as f64) + 80.0 * (size as f64) * dimension as f64
    }

    fn stored(&mut self, size: usize) -> Result<usize> {
        let built = self.fit(size)?;
        let stored = built.mlp.stored(self.ground.facts);
        if stored == self.ground.facts.len() {
            self.built = Some((size, built));
        }
        Ok(stored)
    }

    fn build(&mut self, size: usize) -> Result<Built> {
        match self.built.take() {
            Some((known, built)) if known == size => Ok(built),
            _ => self.fit(size),
        }
    }
}
