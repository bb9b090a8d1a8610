//! From facts in words to a trained language model: embeddings, an MLP that stores the facts, and a model trained around it.

use std::collections::HashMap;

use ndarray::Axis;

use super::corpus::Corpus;
use super::editing::study::Study;
use super::model::{Model, uniform_embeddings};
use super::relation::Relation;
use super::templates::Template;
use super::training::{self, Trained, train};
use crate::error::{Error, Result};
use crate::facts::embeddings::normalise_rows;
use crate::facts::fact_set::FactSet;
use crate::methods::family::refuse_beyond_memory;
use crate::mlp::frozen::FrozenMlp;
use crate::mlp::{gradient_descent, regression};
use crate::rng::StreamName;

/// What a language model is made like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Embedding dimension d.
    pub dimension: usize,
    /// Hidden units of the MLP that stores the facts.
    pub hidden: usize,
    /// Steps of the MLP's own training.
    pub mlp_steps: usize,
    pub training: training::Settings,
    /// Names everything that is drawn.
    pub seed: u64,
}

/// A trained model, ready for edits.
pub struct Trial {
    pub study: Study,
    pub trained: Trained,
    /// Facts that the MLP stores by itself.
    pub stored: usize,
    /// Mean squared error of the MLP, as a share of the values' mean square.
    pub mlp_loss: f64,
}

impl Recipe {
    fn stream(&self, purpose: &str, facts: usize) -> StreamName {
        StreamName::new(purpose).with(self.dimension as u64).with(facts as u64).with(self.seed)
    }

    /// An MLP fitted to facts, its random parts named by a purpose.
    ///
    /// # Errors
    /// As [`regression::train`].
    pub fn fit(&self, facts: &FactSet, purpose: &str) -> Result<gradient_descent::Trained> {
        let settings =
            gradient_descent::Settings { steps: self.mlp_steps, learning_rate: 1e-2, final_learning_rate: 1e-5 };
        regression::train(facts, self.hidden, settings, self.stream(purpose, facts.len()).with(self.hidden as u64))
    }

    /// Predicted bytes for so many facts in sixteen sentences each: streams of all positions, and what training holds. Measured
    /// at d = 128: 55 MB at F = 512, 181 MB at F = 2048.
    pub fn bytes(&self, facts: usize) -> f64 {
        let (facts, dimension, hidden) = (facts as f64, self.dimension as f64, self.hidden as f64);
        let streams = 16.0 * facts * 4.2 * 8.0 * dimension;
        let vocabulary = 140.0 + 2.0 * facts;
        let training = 4.0 * facts * (4.0 * hidden + 3.0 * dimension) + 128.0 * 4.0 * vocabulary * 2.0;
        let parameters = 72.0 * dimension * hidden + 72.0 * dimension * dimension;
        1.6e7 + streams + training + parameters + 8.0 * vocabulary * dimension * 3.0
    }

    /// Trains a language model on all sentences about the facts.
    ///
    /// ```
    /// use factsmith::language::recipe::Recipe;
    /// use factsmith::language::training::Settings;
    /// use factsmith::language::{films, templates};
    /// let training = Settings { learning_rate: 3e-3, most_steps: 100, ..Settings::default() };
    /// let recipe = Recipe { dimension: 16, hidden: 16, mlp_steps: 300, training, seed: 0 };
    /// let trial = recipe.make(&films::one_per_director()?.first(8)?, &templates::films()?)?;
    /// assert_eq!((trial.stored, trial.study.templates()), (8, 16));
    /// # Ok::<(), factsmith::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a size is 0, there is no template, or a training diverges.
    pub fn make(&self, relation: &Relation, templates: &[Template]) -> Result<Trial> {
        if self.dimension == 0 {
            return Err(Error::input("embeddings of dimension 0").fix("use at least 1"));
        }
        let count = relation.facts().len();
        refuse_beyond_memory(&format!("a language model of dimension {}", self.dimension), self.bytes(count))?;
        let corpus = Corpus::new(relation, templates)?;
        let mut rng = self.stream("language embeddings", count).rng();
        let embeddings = uniform_embeddings(corpus.tokens.len(), self.dimension, &mut rng);
        let mut keys = embeddings.select(Axis(0), &corpus.subjects);
        normalise_rows(&mut keys);
        let (objects, map) = distinct_objects(&corpus.objects);
        let facts = FactSet::new(keys, embeddings.select(Axis(0), &objects), map)?;
        let fitted = self.fit(&facts, "facts of the language model")?;
        let frozen = FrozenMlp::new(&fitted.mlp);
        let mut rng = self.stream("language model", count).rng();
        let mut model = Model::new(corpus, &embeddings, &mut rng)?;
        let trained = train(&mut model, &frozen, self.training, &mut rng)?;
        let study = Study::new(&mut model, facts, objects, fitted.mlp);
        Ok(Trial { study, trained, stored: fitted.stored, mlp_loss: fitted.loss })
    }
}

/// The tokens of all objects in the order of their first fact, and the place of every fact's object among them.
fn distinct_objects(objects: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let (mut tokens, mut places) = (Vec::new(), HashMap::new());
    let map = objects.iter().map(|token| {
        *places.entry(*token).or_insert_with(|| {
            tokens.push(*token);
            tokens.len() - 1
        })
    });
    let map = map.collect();
    (tokens, map)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::language::films;
    use crate::language::templates;

    /// A model of 24 films.
    pub fn small() -> Trial {
        recipe().make(&films::one_per_director().unwrap().first(24).unwrap(), &templates::films().unwrap()).unwrap()
    }

    fn recipe() -> Recipe {
        let training = training::Settings { learning_rate: 5e-3, most_steps: 800, ..training::Settings::default() };
        Recipe { dimension: 24, hidden: 16, mlp_steps: 500, training, seed: 1 }
    }

    /// The promise of the experiment: a model recalls its facts, and those of another MLP in the place of its own.
    #[test]
    fn facts_are_recalled_and_an_mlp_of_other_facts_brings_its_own() {
        let trial = small();
        let study = &trial.study;
        let mut other = study.facts.clone();
        other.map.rotate_left(1);
        let fitted = recipe().fit(&other, "other facts").unwrap();
        let (own, adapted, stale) = (
            study.recall(&study.mlp, &study.facts.map),
            study.recall(&fitted.mlp, &other.map),
            study.recall(&study.mlp, &other.map),
        );
        assert!(own > 0.8 && adapted > 0.8 && stale < 0.2, "{own} {adapted} {stale}");
        assert_eq!(own, trial.trained.recall);
    }

    #[test]
    fn facts_may_share_an_object() {
        assert_eq!(distinct_objects(&[7, 9, 7, 8]), (vec![7, 9, 8], vec![0, 1, 0, 2]));
        let trial = recipe().make(&films::all().unwrap().first(24).unwrap(), &templates::films().unwrap()).unwrap();
        assert_eq!(trial.study.facts.len(), 24);
        let error = recipe().make(&films::all().unwrap().first(24).unwrap(), &[]);
        assert_eq!(error.err().unwrap().exit_code(), 2);
    }
}
