//! Synthetic Sequential Factual Recall: junk, a key, junk, and the value is to follow (2512.00207, A.2.1).

use std::ops::RangeInclusive;

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use rand::RngExt;

use crate::error::{Error, Result};
use crate::facts::embeddings::{gaussian, normalise_rows};
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
    /// A token of its own after the suffix asks; the last token of the suffix otherwise.
    pub has_query_token: bool,
    /// In training each sequence has junk of its own, and the templates are for evaluation alone.
    pub is_fresh: bool,
}

impl Default for Junk {
    /// As the paper has it.
    fn default() -> Self {
        Self { tokens: 16, templates: 16, lengths: 8..=16, has_query_token: false, is_fresh: false }
    }
}

impl Junk {
    /// As the successor has it (2607.10034): junk of one length on both sides, drawn for every sequence, then a query token.
    pub fn around_a_key(tokens: usize, length: usize, templates: usize) -> Self {
        Self { tokens, templates, lengths: length..=length, has_query_token: true, is_fresh: true }
    }

    /// Rows of the junk's embeddings; the query token is the last.
    pub fn rows(&self) -> usize {
        self.tokens + usize::from(self.has_query_token)
    }
}

/// A prefix and a suffix of junk tokens, counted from 0 among the junk; the last token of the suffix asks, be it junk or a
/// query token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    pub prefix: Vec<usize>,
    pub suffix: Vec<usize>,
}

impl Template {
    /// Draws prefix and suffix.
    pub fn redraw(&mut self, junk: &Junk, rng: &mut Rng) {
        for side in [&mut self.prefix, &mut self.suffix] {
            let length = rng.random_range(junk.lengths.clone());
            side.clear();
            side.extend((0..length).map(|_| rng.random_range(0..junk.tokens)));
        }
        self.suffix.extend(junk.has_query_token.then_some(junk.tokens));
    }

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
    pub junk: Junk,
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
        let junk_table = gaussian((junk.rows(), tokens.ncols()), rng);
        let inputs = concatenate(Axis(0), &[tokens.view(), junk_table.view()]).expect("one dimension");
        let mut templates = vec![Template::default(); junk.templates];
        templates.iter_mut().for_each(|template| template.redraw(junk, rng));
        Ok(Self { heads: inputs.clone(), inputs, facts: tokens.nrows(), junk: junk.clone(), templates })
    }

    /// The same task with all embeddings on the unit sphere (2607.10034).
    pub fn on_the_sphere(mut self) -> Self {
        normalise_rows(&mut self.inputs);
        normalise_rows(&mut self.heads);
        self
    }

    /// Embeddings of keys and values as the first layer reads them.
    pub fn tokens(&self) -> ArrayView2<'_, f64> {
        self.inputs.slice(s![..self.facts, ..])
    }

    pub fn dimension(&self) -> usize {
        self.inputs.ncols()
    }

    /// The longest sequence that can be drawn, without the value.
    pub fn longest(&self) -> usize {
        2 * self.junk.lengths.end() + 1 + usize::from(self.junk.has_query_token)
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
        assert!(task.templates.iter().all(|template| template.last() < task.longest()));
        let without = Junk { lengths: 0..=3, ..Junk::default() };
        assert_eq!(Task::new(&tokens, &without, &mut rng).unwrap_err().exit_code(), 2);
    }
    #[test]
    fn the_query_token_asks_after_the_suffix_and_is_no_junk() {
        let mut rng = StreamName::new("test").rng();
        let tokens = draw(Kind::Sphere, 20, 4, &mut rng).unwrap();
        let task = Task::new(&tokens, &Junk::around_a_key(3, 5, 40), &mut rng).unwrap();
        assert_eq!((task.inputs.nrows(), task.longest()), (24, 12));
        for template in &task.templates {
            assert_eq!((template.prefix.len(), template.suffix.len(), template.asking()), (5, 6, 3));
            let junk = template.junk().filter(|(token, _)| *token < 3).count();
            assert_eq!((template.last(), junk), (11, 10));
        }
        assert_ne!(task.templates[0], task.templates[1]);
    }
}
