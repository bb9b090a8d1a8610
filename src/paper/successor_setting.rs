//! The setting of the successor (2607.10034): junk of one length on both sides of the key, drawn for every sequence, a query
//! token after it, no positions, all embeddings on the unit sphere.

use ndarray::Array2;

use crate::error::{Error, Result};
use crate::facts::embeddings::{Kind, draw};
use crate::facts::fact_set::{FactSet, random_bijection};
use crate::mlp::frozen::FrozenMlp;
use crate::mlp::plain::PlainMlp;
use crate::rng::{Rng, StreamName};
use crate::transformer::model::{Design, Model};
use crate::transformer::task::{Junk, Task};
use crate::transformer::training;

/// What identifies a setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub dimension: usize,
    pub facts: usize,
    /// Junk tokens on each side of the key.
    pub junk_length: usize,
    /// Kinds of junk.
    pub junk_tokens: usize,
    /// Draws of the junk that every key is evaluated with.
    pub draws: usize,
    pub attention_residual: bool,
    pub trained_values: bool,
    pub seed: u64,
}

impl Setting {
    /// Refuses numbers that make no task.
    pub fn check(&self) -> Result<()> {
        if self.dimension == 0 || !(2..=1_000_000).contains(&self.facts) {
            return Err(Error::input(format!("{} facts in {} dimensions", self.facts, self.dimension))
                .fix("use 2 to 1,000,000 facts and at least one dimension"));
        }
        if self.junk_length == 0 || self.junk_tokens == 0 {
            return Err(Error::input(format!("{} junk tokens of {} kinds", self.junk_length, self.junk_tokens))
                .fix("use at least one junk token and one kind"));
        }
        Ok(())
    }

    /// The random stream for one purpose.
    pub fn stream(&self, purpose: &str) -> StreamName {
        StreamName::new(purpose).with(self.dimension as u64).with(self.facts as u64).with(self.seed)
    }

    /// The stream of the sequences, apart for each junk length.
    pub fn sequences(&self) -> Rng {
        self.stream("batches").with(self.junk_length as u64).rng()
    }

    /// Embeddings of keys and values, on the sphere.
    pub fn tokens(&self) -> Result<Array2<f64>> {
        draw(Kind::Sphere, self.facts, self.dimension, &mut self.stream("token embeddings").rng())
    }

    /// The fact set of a name: a random bijection of the tokens to themselves.
    pub fn facts(&self, tokens: &Array2<f64>, name: &str) -> Result<FactSet> {
        FactSet::new(tokens.clone(), tokens.clone(), random_bijection(self.facts, &mut self.stream(name).rng()))
    }

    /// A transformer that has not learned anything.
    pub fn model(&self, tokens: &Array2<f64>) -> Result<Model> {
        let junk = Junk::around_a_key(self.junk_tokens, self.junk_length, self.draws);
        let mut rng = self.stream("task").with(self.junk_tokens as u64).with(self.junk_length as u64).rng();
        let design = Design {
            rotary: false,
            attention_residual: self.attention_residual,
            mlp_residual: false,
            trains_values: self.trained_values,
            trains_norm: false,
            unit_output: true,
        };
        Ok(Model::new(Task::new(tokens, &junk, &mut rng)?.on_the_sphere(), design, &mut self.stream("attention").rng()))
    }

    /// No MLP at all: what comes in goes out.
    pub fn no_mlp(&self) -> FrozenMlp {
        FrozenMlp::new(&PlainMlp::identity(self.dimension).into())
    }

    /// The map that no MLP stores: every key to itself.
    pub fn copying(&self) -> Vec<usize> {
        (0..self.facts).collect()
    }

    /// Seconds of one core for a training step and for an evaluation, around an MLP of some parameters.
    pub fn predicted_seconds(&self, parameters: f64) -> (f64, f64) {
        let (facts, dimension) = (self.facts as f64, self.dimension as f64);
        let batch = training::Settings::default().batch as f64;
        let tokens = batch * 2.0 * self.junk_length as f64;
        let values = if self.trained_values { 4.0 * dimension * dimension } else { 0.0 };
        let products = 2.0 * facts * dimension + 2.0 * parameters + values;
        let step = 4e-4 + 5e-9 * tokens + batch * (2e-11 * products + 2e-9 * facts + 1e-9 * dimension);
        let rows = self.draws as f64 * facts;
        (step, rows * (1e-11 * products + 5e-10 * facts + 1e-9 * dimension))
    }

    /// Bytes of a transformer with its batch and what an evaluation keeps.
    pub fn predicted_bytes(&self) -> f64 {
        let (facts, dimension) = (self.facts as f64, self.dimension as f64);
        let vocabulary = facts + self.junk_tokens as f64 + 1.0;
        let rows = self.draws as f64 * facts;
        let batch = training::Settings::default().batch as f64;
        let tables = 32.0 * vocabulary * dimension + 4.0 * 128.0 * vocabulary + 16.0 * 4.0 * dimension * dimension;
        tables + batch * (16.0 * self.junk_length as f64 + 16.0 * dimension + 100.0) + 40.0 * rows + 8e6
    }
}
