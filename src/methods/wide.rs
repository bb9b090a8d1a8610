//! Gadgets with more units than their equations need: the size is the number of units of one gadget.
//!
//! As many unknowns as equations (the least that fits) makes weights of hundreds, and the MLP changes wildly between the keys.
//! Some more units make the solution of least norm small, and the MLP smooth.

use super::codes::{self, CodeBook, Codes};
use super::family::{Built, Family, Ground};
use crate::capacity::Range;
use crate::error::Result;
use crate::mlp::encoder_gadget::{self, gadget_hidden};
use crate::mlp::network::Mlp;

/// Gated gadgets of any width under the shortest codes that decode every value.
pub struct WideGadgets<'a> {
    ground: &'a Ground<'a>,
    book: CodeBook,
    codes_work: f64,
}

/// The widest gadgets searched, as a multiple of the narrowest.
const WIDEST: usize = 32;

impl<'a> WideGadgets<'a> {
    /// # Errors
    /// When no codes of any length decode every value.
    pub fn new(ground: &'a Ground<'a>, mut codes: Box<dyn Codes + 'a>) -> Result<Self> {
        let length = codes::shortest(codes.as_mut(), ground)?;
        Ok(Self { ground, book: codes.book(length)?, codes_work: codes.work(length) })
    }

    fn mlp(&self, units: usize) -> Result<(Mlp, f64)> {
        let facts = self.ground.facts;
        // The slack that gives this many units; a hair less, as the number of units is rounded up.
        let slack = (units * facts.dimension()) as f64 / facts.len() as f64 * (1.0 - 1e-12) - 1.0;
        let codes = facts.by_key(&self.book.codes);
        let gates = &mut self.ground.stream("gates").with(units as u64).rng();
        let gadgets = encoder_gadget::fit(&facts.keys, codes.view(), slack, gates)?;
        let residual = gadgets.relative_residual;
        Ok((gadgets.under(&self.book.map).into(), residual))
    }
}

impl Family for WideGadgets<'_> {
    fn sizes(&self) -> Range {
        let smallest = gadget_hidden(self.ground.facts.len(), self.ground.facts.dimension(), 0.0);
        Range { smallest, largest: WIDEST * smallest, predicted: smallest + 1, step: 1.25, precision: 0.0 }
    }

    fn bytes(&self, size: usize) -> f64 {
        let (facts, dimension) = self.ground.facts.keys.dim();
        let hidden = (size * self.book.map.ncols()) as f64;
        8.0 * (6.0 * hidden * dimension as f64 + 3.0 * (facts * facts) as f64)
    }

    fn stored(&mut self, size: usize) -> Result<usize> {
        Ok(self.mlp(size)?.0.stored(self.ground.facts))
    }

    fn build(&mut self, size: usize) -> Result<Built> {
        let (facts, dimension) = self.ground.facts.keys.dim();
        let (mlp, residual) = self.mlp(size)?;
        let (length, facts) = (self.book.map.ncols(), facts as f64);
        let kernel = facts * facts * (size + dimension) as f64 + facts.powi(3) / 6.0;
        let solves = facts * length as f64 * (5.0 * facts + (dimension * size) as f64);
        let work = self.codes_work + kernel + solves;
        Ok(Built { mlp, code_length: Some(length), relative_residual: Some(residual), work })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::{FactSet, random_bijection};
    use crate::methods::codes::JohnsonLindenstrauss;
    use crate::mlp::lipschitz::lipschitz;
    use crate::rng::StreamName;

    #[test]
    fn wider_gadgets_store_as_much_and_are_smoother() {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
        let facts = FactSet::new(table.clone(), table, random_bijection(64, &mut rng)).unwrap();
        let ground = Ground::new(&facts, 1);
        let mut family = WideGadgets::new(&ground, Box::new(JohnsonLindenstrauss::new(&ground).unwrap())).unwrap();
        assert_eq!(family.sizes().smallest, 4);
        let mut steepness = |size: usize| {
            let built = family.build(size).unwrap();
            assert_eq!(built.mlp.stored(&facts), 64);
            assert_eq!(built.mlp.hidden(), size * built.code_length.unwrap());
            lipschitz(&built.mlp, &facts, 64).unwrap()
        };
        assert!(3.0 * steepness(8) < steepness(4));
    }
}
