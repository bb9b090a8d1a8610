//! MLPs and encoders trained by gradient descent: the size is the number of hidden units.

use std::collections::BTreeMap;

use super::codes::{self, CodeBook, Codes};
use super::family::{Built, Family, Ground};
use crate::capacity::Range;
use crate::error::Result;
use crate::facts::fact_set::FactSet;
use crate::mlp::gradient_descent::{self, Settings, Trained};
use crate::mlp::gradient_encoder;
use crate::mlp::trainable::Architecture;

/// The smallest MLPs so far that store every fact: what a search comes back to for building.
#[derive(Default)]
struct Kept(BTreeMap<usize, Trained>);

impl Kept {
    /// How many facts what was trained at a size stores; keeps it, and nothing larger, when that is all of them.
    fn stored(&mut self, size: usize, trained: Trained, facts: usize) -> usize {
        let stored = trained.stored;
        if stored == facts {
            self.0.split_off(&size);
            self.0.insert(size, trained);
        }
        stored
    }

    /// What was kept of a size.
    fn take(&mut self, size: usize) -> Option<Trained> {
        self.0.remove(&size)
    }
}

/// Bytes of training a size: units and their gradients on every key, parameters, moments and gradients.
fn training_bytes(facts: &FactSet, size: usize) -> f64 {
    let (facts, dimension) = facts.keys.dim();
    4.0 * size as f64 * (4 * facts + 16 * dimension) as f64
}

/// The whole MLP trained on the facts.
pub struct GradientDescent<'a> {
    ground: &'a Ground<'a>,
    architecture: Architecture,
    settings: Settings,
    kept: Kept,
}

impl<'a> GradientDescent<'a> {
    /// `steps` of the cosine schedule from 2e-2 to 1e-4.
    pub fn new(ground: &'a Ground<'a>, architecture: Architecture, steps: usize) -> Self {
        let settings = Settings { steps, learning_rate: 2e-2, final_learning_rate: 1e-4 };
        Self { ground, architecture, settings, kept: Kept::default() }
    }

    fn train(&self, size: usize) -> Result<Trained> {
        let name = self.ground.stream("training").with(size as u64);
        gradient_descent::train(self.ground.facts, self.architecture, size, self.settings, name)
    }
}

impl Family for GradientDescent<'_> {
    /// From 0.4 parameters a bit upwards: too small costs little, too large costs a giant.
    fn sizes(&self) -> Range {
        let dimension = self.ground.facts.dimension();
        let per_unit = self.architecture.parameters_per_unit(dimension, dimension) as f64;
        let predicted = (0.4 * self.ground.bits() / per_unit).ceil() as usize;
        Range { smallest: 1, largest: 4 * self.ground.facts.len(), predicted, step: 1.25, precision: 0.0 }
    }

    fn bytes(&self, size: usize) -> f64 {
        training_bytes(self.ground.facts, size)
    }

    fn stored(&mut self, size: usize) -> Result<usize> {
        let trained = self.train(size)?;
        Ok(self.kept.stored(size, trained, self.ground.facts.len()))
    }

    fn build(&mut self, size: usize) -> Result<Built> {
        let trained = self.kept.take(size).map_or_else(|| self.train(size), Ok)?;
        let (facts, values) = (self.ground.facts.len(), self.ground.facts.values.nrows());
        let dimension = self.ground.facts.dimension();
        let rows = self.architecture.rows_per_unit();
        let step = facts * dimension * ((2 * rows + 3) * size + 2 * values);
        Ok(Built::plain(trained.mlp, (trained.steps * step) as f64))
    }
}

/// Codes of a trained encoder are this much longer than the shortest that decode: an encoder that is a little off needs room.
const ROOM: f64 = 1.5;

/// An encoder trained to codes of one length, under their decoder.
pub struct TrainedEncoder<'a> {
    ground: &'a Ground<'a>,
    book: CodeBook,
    codes_work: f64,
    settings: Settings,
    kept: Kept,
}

impl<'a> TrainedEncoder<'a> {
    /// Finds the shortest codes that decode every value, and takes codes longer by half (at most d).
    ///
    /// # Errors
    /// When no codes of any length decode every value.
    pub fn new(ground: &'a Ground<'a>, mut codes: Box<dyn Codes + 'a>, steps: usize) -> Result<Self> {
        let shortest = codes::shortest(codes.as_mut(), ground)?;
        let roomy = (ROOM * shortest as f64).ceil() as usize;
        let length = roomy.min(codes.lengths().largest).min(ground.facts.dimension().max(shortest));
        let settings = Settings { steps, ..gradient_encoder::SETTINGS };
        Ok(Self { ground, book: codes.book(length)?, codes_work: codes.work(length), settings, kept: Kept::default() })
    }

    fn length(&self) -> usize {
        self.book.map.ncols()
    }

    fn train(&self, size: usize) -> Result<Trained> {
        let name = self.ground.stream("training the encoder").with(size as u64);
        gradient_encoder::train(self.ground.facts, &self.book.codes, &self.book.map, size, self.settings, name)
    }
}

impl Family for TrainedEncoder<'_> {
    /// An encoder has 2d + m numbers a unit and m·F to fit; a third of the units that takes is where searches end.
    fn sizes(&self) -> Range {
        let facts = self.ground.facts;
        let needed = (self.length() * facts.len()) as f64 / (2 * facts.dimension() + self.length()) as f64;
        Range {
            smallest: 1,
            largest: 4 * facts.len(),
            predicted: (0.3 * needed).ceil() as usize,
            step: 1.25,
            precision: 0.02,
        }
    }

    fn bytes(&self, size: usize) -> f64 {
        training_bytes(self.ground.facts, size)
    }

    fn stored(&mut self, size: usize) -> Result<usize> {
        let trained = self.train(size)?;
        Ok(self.kept.stored(size, trained, self.ground.facts.len()))
    }

    fn build(&mut self, size: usize) -> Result<Built> {
        let trained = self.kept.take(size).map_or_else(|| self.train(size), Ok)?;
        let (facts, dimension) = self.ground.facts.keys.dim();
        let step = facts * size * (4 * dimension + 3 * self.length());
        let work = self.codes_work + (trained.steps * step) as f64;
        Ok(Built { mlp: trained.mlp, code_length: Some(self.length()), relative_residual: None, work })
    }
}
