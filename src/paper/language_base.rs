//! The language models that the experiments of §5.4 start from: facts, an MLP that stores them, and a model trained around it.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::language::recipe::{Recipe, Trial};
use crate::language::relation::Relation;
use crate::language::{films, synthetic, templates, training};

/// Where the facts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Films and their directors: one film each up to 7,563 facts, several beyond.
    Films,
    /// Books and authors made up by a generator.
    Synthetic,
}

/// A trained language model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BasePoint {
    pub source: Source,
    /// Embedding dimension d.
    pub dimension: usize,
    pub facts: usize,
    /// Hidden units of the MLP that stores the facts.
    pub hidden: usize,
    /// Steps of the MLP's own training.
    pub mlp_steps: usize,
    pub learning_rate: f64,
    /// Sentences in a step.
    pub batch: usize,
    /// The most steps of the model's training.
    pub steps: usize,
}

/// Their names, as grids give them.
pub const BASE_FIELDS: [&str; 8] =
    ["source", "dimension", "facts", "hidden", "mlp_steps", "learning_rate", "batch", "steps"];

/// The recall at which the training of the model ends (released code of 2607.10034).
const ENOUGH: f64 = 0.99;

impl BasePoint {
    /// Refuses what cannot be trained.
    ///
    /// # Errors
    /// When a number is 0, the learning rate is not positive, or there are not as many facts.
    pub fn check(&self) -> Result<()> {
        let sizes = [
            ("dimension", self.dimension, 1),
            ("facts", self.facts, 2),
            ("hidden", self.hidden, 1),
            ("mlp_steps", self.mlp_steps, 1),
            ("batch", self.batch, 1),
            ("steps", self.steps, 1),
        ];
        if let Some((name, value, least)) = sizes.into_iter().find(|(_, value, least)| value < least) {
            return Err(Error::input(format!("{name} is {value}")).fix(format!("use at least {least}")));
        }
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return Err(Error::input(format!("learning_rate is {}", self.learning_rate)).fix("use a positive number"));
        }
        self.relation(0).map(|_| ())
    }

    fn relation(&self, seed: u64) -> Result<Relation> {
        match self.source {
            Source::Films => films::first(self.facts),
            Source::Synthetic => synthetic::relation(self.facts, seed),
        }
    }

    /// How the model is made.
    pub fn recipe(&self, seed: u64) -> Recipe {
        let training = training::Settings {
            learning_rate: self.learning_rate,
            batch: self.batch,
            most_steps: self.steps,
            enough: ENOUGH,
            ..training::Settings::default()
        };
        Recipe { dimension: self.dimension, hidden: self.hidden, mlp_steps: self.mlp_steps, training, seed }
    }

    fn train(&self, seed: u64) -> Result<Trial> {
        let sentences = match self.source {
            Source::Films => templates::films()?,
            Source::Synthetic => templates::books()?,
        };
        self.recipe(seed).make(&self.relation(seed)?, &sentences)
    }

    /// Predicted seconds of training.
    pub fn seconds(&self) -> f64 {
        let (facts, dimension, hidden) = (self.facts as f64, self.dimension as f64, self.hidden as f64);
        let mlp = self.mlp_steps as f64 * (1e-5 + 2.5e-11 * facts * 9.0 * dimension * hidden);
        let (rows, tokens) = (80.0 + 4.2 * self.batch as f64, 90.0 + self.batch as f64);
        let vocabulary = 140.0 + 2.0 * facts;
        let products = 2.0 * rows * vocabulary * dimension
            + (12.0 * tokens + 3.0 * rows) * dimension * dimension
            + 6.0 * rows * dimension * hidden;
        mlp + 0.7 * self.steps as f64 * (3e-4 + 2.5e-11 * products)
    }

    /// Predicted seconds of predicting the object after every sentence.
    pub fn evaluation_seconds(&self) -> f64 {
        let (facts, dimension) = (self.facts as f64, self.dimension as f64);
        2.5e-11 * 16.0 * facts * dimension * (140.0 + 2.0 * facts + 3.0 * self.hidden as f64)
    }

    /// Predicted bytes.
    pub fn bytes(&self) -> f64 {
        self.recipe(0).bytes(self.facts)
    }
}

/// A model that is being trained or was.
type Kept = Arc<OnceLock<Result<Arc<Trial>>>>;

/// Models of the last cells, by what they were made from: the cells of one model come one after the other.
static KEPT: LazyLock<Mutex<VecDeque<(String, Kept)>>> = LazyLock::new(Mutex::default);

/// Models kept at once.
const MOST_KEPT: usize = 4;

/// The model of a point and seed: trained once for all cells that ask for it in a row. Nothing else depends on the order.
///
/// # Errors
/// As training; an error is kept as well.
pub fn base(point: &BasePoint, seed: u64) -> Result<Arc<Trial>> {
    let name = format!("{point:?} {seed}");
    let slot = {
        let mut kept = KEPT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match kept.iter().find(|(other, _)| *other == name) {
            Some((_, slot)) => Arc::clone(slot),
            None => {
                let slot = Kept::default();
                kept.push_back((name, Arc::clone(&slot)));
                if kept.len() > MOST_KEPT {
                    kept.pop_front();
                }
                slot
            }
        }
    };
    slot.get_or_init(|| point.train(seed).map(Arc::new)).clone()
}
