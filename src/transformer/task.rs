//! Synthetic Sequential Factual Recall: junk, a key, junk, and the value is to follow (2512.00207, A.2.1).

use std::ops::RangeInclusive;

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use rand::RngExt;

use crate::error::{Error, Result};
use crate::rng::Rng;

/// What the junk of the task is like.
#[derive(Debug, Clone, PartialEq)]
pub struct Junk {
    /// Tokens that are neither keys nor values.
    pub tokens: usize,
    /// Pairs of a prefix and a suffix.
    pub templates: usize,
    /// Lengths of a prefix or suffix.
    pub lengths: RangeInclusive<usize>,
}

impl Default for Junk {
    /// As the paper has it.
    fn default() -> Self {
        Self { tokens: 16, templates: 16, lengths: 8..=16 }
    }
}

/// A prefix and a suffix of junk tokens, counted from 0 among the junk; the last token of the suffix asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub prefix: Vec<usize>,
    pub suffix: Vec<usize>,
}

impl Template {
    /// Junk tokens with their positions in the sequence; the key is at position `prefix.len()`.
    pub fn junk(&self) -> impl Iterator<Item = (usize, usize)> {
        let key = self.prefix.len();
        let suffix = self.suffix.iter().enumerate().map(move |(place, token)| (*token, key + 1 + place));
        self.prefix.iter().enumerate().map(|(place, token)| (*token, place)).chain(suffix)
    }

    /// The position of the query: the last of the sequence.
    pub fn last(&self) -> usize {
        self.prefix.len() + self.suffix.len()
    }

    /// The junk token at the query's position.
    pub fn asking(&self) -> usize {
        *self.suffix.last().expect("a suffix has at least one token: the task checks it")
    }
}

/// The tokens and templates of one task. Tokens `0..facts` are keys and values, the rest is junk.
#[derive(Debug, Clone)]
pub struct Task {
    /// Embeddings that the first layer reads, (F + junk)×d.
    pub inputs: Array2<f64>,
    /// Embeddings that the logits are taken with, (F + junk)×d; those of the inputs unless they are untied.
    pub heads: Array2<f64>,
    pub facts: usize,
    pub templates: Vec<Template>,
}

impl Task {
    /// A task on tied embeddings: `tokens` (F×d) for keys and values, junk drawn like the paper's, from a standard normal.
    ///
    /// # Errors
    /// When there is no junk token, no template or an empty suffix.
    pub fn new(tokens: &Array2<f64>, junk: &Junk, rng: &mut Rng) -> Result<Self> {
        if junk.tokens == 0 || junk.templates == 0 || *junk.lengths.start() == 0 || junk.lengths.is_empty() {
            return Err(Error::input(format!(
                "{} templates of {:?} junk tokens of {} kinds",
                junk.templates, junk.lengths, junk.tokens
            ))
            .fix("use at least one template, one kind and one token"));
        }
        let junk_table = crate::facts::embeddings::gaussian((junk.tokens, tokens.ncols()), rng);
        let inputs = concatenate(Axis(0), &[tokens.view(), junk_table.view()]).expect("one dimension");
        let words = |rng: &mut Rng| -> Vec<usize> {
            let length = rng.random_range(junk.lengths.clone());
            (0..length).map(|_| rng.random_range(0..junk.tokens)).collect()
        };
        let templates = (0..junk.templates).map(|_| Template { prefix: words(rng), suffix: words(rng) }).collect();
        Ok(Self { heads: inputs.clone(), inputs, facts: tokens.nrows(), templates })
    }

    /// Embeddings of keys and values as the first layer reads them.
    pub fn tokens(&self) -> ArrayView2<'_, f64> {
        self.inputs.slice(s![..self.facts, ..])
    }

    pub fn dimension(&self) -> usize {
        self.inputs.ncols()
    }

    /// The longest sequence, without the value.
    pub fn longest(&self) -> usize {
        self.templates.iter().map(|template| template.last() + 1).max().unwrap_or(0)
    }

    /// Number of pairs of template and key.
    pub fn pairs(&self) -> usize {
        self.templates.len() * self.facts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    #[test]
    fn templates_are_as_the_task_asks() {
        let mut rng = StreamName::new("test").rng();
        let tokens = draw(Kind::Gaussian, 20, 4, &mut rng).unwrap();
        let task = Task::new(&tokens, &Junk::default(), &mut rng).unwrap();
        assert_eq!((task.inputs.nrows(), task.pairs(), task.tokens()), (36, 320, tokens.view()));
        for template in &task.templates {
            assert!((8..=16).contains(&template.prefix.len()) && (8..=16).contains(&template.suffix.len()));
            let positions: Vec<usize> = template.junk().map(|(_, position)| position).collect();
            assert!(!positions.contains(&template.prefix.len()), "the key's place is free");
            assert_eq!((positions.len(), positions.last()), (template.last(), Some(&template.last())));
            assert_eq!(template.junk().last().unwrap().0, template.asking());
        }
        let without = Junk { lengths: 0..=3, ..Junk::default() };
        assert_eq!(Task::new(&tokens, &without, &mut rng).unwrap_err().exit_code(), 2);
    }
}
