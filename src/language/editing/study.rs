//! A trained language model with what is needed to try any number of edits on it.

use super::accuracies::Accuracies;
use super::task::EditTask;
use crate::facts::fact_set::FactSet;
use crate::language::batch::{Batch, Positions};
use crate::language::model::Model;
use crate::language::stream::Stream;
use crate::mlp::frozen::FrozenMlp;
use crate::mlp::network::Mlp;
use ndarray::Array2;

/// The streams of a trained model: edits change the fact expert alone.
pub struct Study {
    /// Keys are the normalised embeddings of the subjects, values those of the objects.
    pub facts: FactSet,
    /// The fact expert before any edit.
    pub mlp: Mlp,
    /// The token of every value.
    pub objects: Vec<usize>,
    pub heads: Array2<f32>,
    /// The positions that objects follow, fact by fact and template by template.
    pub asked: Stream,
    words: [Stream; 2],
}

impl Study {
    /// Computes the streams of a model; `objects` has the token of every value of the facts.
    pub fn new(model: &mut Model, facts: FactSet, objects: Vec<usize>, mlp: Mlp) -> Self {
        let corpus = model.corpus();
        let prefixes = Batch::prefixes(&corpus);
        Self {
            facts,
            mlp,
            objects,
            heads: model.heads(),
            asked: Stream::of(model, Positions::Object),
            words: [Stream::of_batch(model, &prefixes), Stream::of(model, Positions::Words)],
        }
    }

    /// Number of sentences about a fact.
    pub fn templates(&self) -> usize {
        self.asked.positions() / self.facts.len()
    }

    /// The token predicted after every sentence with an MLP as the fact expert.
    pub fn predicted(&self, mlp: &Mlp) -> Vec<usize> {
        self.asked.predictions(&FrozenMlp::new(mlp), &self.heads)
    }

    /// Share of sentences after which the object comes that a fact set maps the subject to.
    pub fn recall(&self, mlp: &Mlp, map: &[usize]) -> f64 {
        let objects: Vec<usize> = map.iter().map(|value| self.objects[*value]).collect();
        self.asked.recall(&FrozenMlp::new(mlp), &self.heads, &objects)
    }

    /// The recall of the worst template.
    pub fn worst_template(&self, mlp: &Mlp) -> f64 {
        let (predicted, templates) = (self.predicted(mlp), self.templates());
        let recall = |template: usize| {
            let own = predicted.iter().skip(template).step_by(templates).zip(&self.facts.map);
            own.filter(|(predicted, value)| **predicted == self.objects[**value]).count() as f64
                / self.facts.len() as f64
        };
        (0..templates).map(recall).fold(f64::INFINITY, f64::min)
    }

    /// The mean weight of the fact expert where words follow the subject or a word after it; positions before it are left out.
    pub fn word_weight(&self) -> f64 {
        self.words[1].mean_weight()
    }

    /// Mean cross-entropy of all tokens but the objects.
    pub fn cross_entropy(&self, mlp: &Mlp) -> f64 {
        let frozen = FrozenMlp::new(mlp);
        let parts = self.words.iter().map(|stream| stream.cross_entropy(&frozen, &self.heads));
        let (sum, number) = parts.fold((0.0, 0.0), |(sum, number), (loss, count)| (sum + loss, number + count));
        sum / number
    }

    /// How an edit did, given what is predicted after it, over the facts that `counts` picks.
    pub fn accuracies(&self, task: &EditTask, predicted: &[usize], counts: impl Fn(usize) -> bool) -> Accuracies {
        let objects: Vec<usize> = task.map.iter().map(|value| self.objects[*value]).collect();
        Accuracies::new(task, predicted, &objects, counts)
    }

    /// The rows of `asked` that an edit of some facts is made with.
    pub fn shown(&self, task: &EditTask, facts: std::ops::Range<usize>) -> Stream {
        let rows: Vec<usize> = facts.map(|fact| fact * self.templates() + task.shown[fact]).collect();
        self.asked.rows(&rows)
    }
}
