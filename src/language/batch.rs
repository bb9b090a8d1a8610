//! A batch by its structure: which positions of which sentences are computed, and what is to follow there.
//!
//! All positions before the subject are the same for all facts of a template, so they are computed once; only the subject and
//! the words after it are rows of their own.

use std::collections::BTreeMap;

use super::corpus::Corpus;

/// A template and a fact: one sentence.
pub type Pair = (usize, usize);

/// Positions that differ between the facts of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Positions {
    /// The last one, which the object follows.
    Object,
    /// From the subject to the last but one: words follow.
    Words,
}

/// One position of a sentence: its tokens up to there are `slots[start..=start + position]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    start: usize,
    position: usize,
}

/// Rows over slots: slot w is template word w, and slot `words + i` is the subject of `facts[i]`.
#[derive(Debug, Clone)]
pub struct Batch<'a> {
    corpus: &'a Corpus,
    pub facts: Vec<usize>,
    slots: Vec<usize>,
    rows: Vec<Row>,
    /// What follows, with how often, row by row; `ends[row]` is where the row's part ends.
    targets: Vec<(usize, f32)>,
    ends: Vec<usize>,
}

impl<'a> Batch<'a> {
    fn new(corpus: &'a Corpus) -> Self {
        Self { corpus, facts: vec![], slots: vec![], rows: vec![], targets: vec![], ends: vec![] }
    }

    /// Every position of some sentences.
    pub fn sentences(corpus: &'a Corpus, pairs: &[Pair]) -> Self {
        let mut batch = Self::new(corpus);
        let mut by_template: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (template, fact) in pairs {
            by_template.entry(*template).or_default().push(*fact);
        }
        for (template, facts) in by_template {
            batch.add_prefix(template, &facts);
            for fact in facts {
                let after = corpus.templates[template].suffix.len();
                batch.add_rest(template, fact, 0..after + 1);
            }
        }
        batch
    }

    /// Some positions of some sentences, sentence by sentence.
    pub fn at(positions: Positions, corpus: &'a Corpus, pairs: &[Pair]) -> Self {
        let mut batch = Self::new(corpus);
        for (template, fact) in pairs {
            let last = corpus.templates[*template].suffix.len();
            batch.add_rest(*template, *fact, if positions == Positions::Object { last..last + 1 } else { 0..last });
        }
        batch
    }

    /// The positions before the subject, which all facts share.
    pub fn prefixes(corpus: &'a Corpus) -> Self {
        let mut batch = Self::new(corpus);
        let facts: Vec<usize> = (0..corpus.subjects.len()).collect();
        for template in 0..corpus.templates.len() {
            batch.add_prefix(template, &facts);
        }
        batch
    }

    fn add_prefix(&mut self, template: usize, facts: &[usize]) {
        let corpus = self.corpus;
        let prefix = &corpus.templates[template].prefix;
        let start = self.slots.len();
        self.slots.extend(prefix);
        for (position, next) in prefix.iter().skip(1).enumerate() {
            self.add_row(Row { start, position }, [(*next, facts.len() as f32)]);
        }
        if !prefix.is_empty() {
            let subjects = facts.iter().map(|fact| (corpus.subjects[*fact], 1.0));
            self.add_row(Row { start, position: prefix.len() - 1 }, subjects);
        }
    }

    /// Positions counted from the subject.
    fn add_rest(&mut self, template: usize, fact: usize, positions: std::ops::Range<usize>) {
        let sentence = &self.corpus.templates[template];
        let (start, subject) = (self.slots.len(), self.slot(fact));
        self.slots.extend(sentence.prefix.iter().chain([&subject]).chain(&sentence.suffix));
        for position in positions {
            let next = sentence.suffix.get(position).copied().unwrap_or(self.corpus.objects[fact]);
            self.add_row(Row { start, position: sentence.prefix.len() + position }, [(next, 1.0)]);
        }
    }

    fn slot(&mut self, fact: usize) -> usize {
        let known = self.facts.iter().rposition(|other| *other == fact);
        let place = known.unwrap_or_else(|| {
            self.facts.push(fact);
            self.facts.len() - 1
        });
        self.corpus.words + place
    }

    fn add_row(&mut self, row: Row, targets: impl IntoIterator<Item = (usize, f32)>) {
        self.rows.push(row);
        self.targets.extend(targets);
        self.ends.push(self.targets.len());
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Number of slots: words and subjects.
    pub fn tokens(&self) -> usize {
        self.corpus.words + self.facts.len()
    }

    /// The token in a slot.
    pub fn token(&self, slot: usize) -> usize {
        let words = self.corpus.words;
        if slot < words { slot } else { self.corpus.subjects[self.facts[slot - words]] }
    }

    /// The slots of a row: the tokens of its sentence up to its position.
    pub fn context(&self, row: usize) -> &[usize] {
        let Row { start, position } = self.rows[row];
        &self.slots[start..=start + position]
    }

    /// The tokens that follow a row, each with how often.
    pub fn targets(&self, row: usize) -> &[(usize, f32)] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.targets[start..self.ends[row]]
    }

    /// Predictions that the rows stand for.
    pub fn predictions(&self) -> f64 {
        self.targets.iter().map(|(_, count)| f64::from(*count)).sum()
    }
}

/// Every sentence, template by template.
pub fn all_pairs(corpus: &Corpus) -> Vec<Pair> {
    let facts = corpus.subjects.len();
    (0..corpus.templates.len()).flat_map(|template| (0..facts).map(move |fact| (template, fact))).collect()
}
