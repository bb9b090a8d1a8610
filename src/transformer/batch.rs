//! Sequences that go through a model together.

use rand::RngExt;

use super::task::{Task, Template};
use crate::rng::Rng;

/// A template and a key.
pub type Pair = (usize, usize);

/// Pairs of one of the batch's templates and a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub templates: Vec<Template>,
    pub pairs: Vec<Pair>,
}

impl Batch {
    /// Every key in every template of a task, template by template.
    pub fn every_pair(task: &Task) -> Self {
        let with_every_key = |template| (0..task.facts).map(move |key| (template, key));
        Self { pairs: (0..task.templates.len()).flat_map(with_every_key).collect(), templates: task.templates.clone() }
    }

    /// Room for a number of sequences; nothing is drawn yet.
    pub fn of(task: &Task, sequences: usize) -> Self {
        Self { templates: task.templates.clone(), pairs: vec![(0, 0); sequences] }
    }

    /// Draws the sequences: keys at random, in templates of the task at random or each with junk of its own.
    pub fn draw(&mut self, task: &Task, rng: &mut Rng) {
        if task.junk.is_fresh {
            self.templates.resize_with(self.pairs.len(), Template::default);
            self.templates.iter_mut().for_each(|template| template.redraw(&task.junk, rng));
            let pairs = self.pairs.iter_mut().enumerate();
            pairs.for_each(|(sequence, pair)| *pair = (sequence, rng.random_range(0..task.facts)));
        } else {
            let templates = self.templates.len();
            self.pairs.fill_with(|| (rng.random_range(0..templates), rng.random_range(0..task.facts)));
        }
    }
}
