//! What reaches the mixture at given positions of all sentences. It depends on neither the facts nor the MLP that holds them, so
//! it is computed once for a model, and any number of MLPs are evaluated on it exactly.

use ndarray::{Array2, ArrayViewMut1, Axis, Zip, s};

use super::batch::{Batch, Pair, Positions};
use super::mixture::Routed;
use super::model::{Model, RANK, ROWS, root_mean_square};
use crate::mlp::frozen::FrozenMlp;
use crate::mlp::trainable::matrix_mut;
use crate::num::products::general_mat_mul;
use crate::num::softmax::{log_sum, maximum};

/// Facts whose sentences are attended at once.
const FACTS: usize = 32;

/// Streams at some positions; a row a position.
#[derive(Debug, Clone)]
pub struct Stream {
    /// Inputs of the fact expert, n×d.
    pub unit: Array2<f32>,
    /// What the language expert adds to the output, n×d: its output times `1 − w`.
    pub language: Array2<f32>,
    /// w, the weight of the fact expert.
    pub weights: Vec<f32>,
    /// The token that follows each row, and how often; a row may have several.
    targets: Vec<(usize, f32)>,
    ends: Vec<usize>,
}

impl Stream {
    /// Positions of all sentences, fact by fact and for each fact template by template.
    pub fn of(model: &mut Model, positions: Positions) -> Self {
        let corpus = model.corpus();
        let (facts, templates) = (corpus.subjects.len(), corpus.templates.len());
        let pairs: Vec<Pair> =
            (0..facts).flat_map(|fact| (0..templates).map(move |template| (template, fact))).collect();
        let mut stream = Self::empty(model.dimension());
        for block in pairs.chunks(FACTS * templates) {
            stream.add(model, &Batch::at(positions, &corpus, block));
        }
        stream
    }

    /// Rows of a batch alone.
    pub fn of_batch(model: &mut Model, batch: &Batch) -> Self {
        let mut stream = Self::empty(model.dimension());
        stream.add(model, batch);
        stream
    }

    fn empty(dimension: usize) -> Self {
        let table = || Array2::zeros((0, dimension));
        Self { unit: table(), language: table(), weights: vec![], targets: vec![], ends: vec![] }
    }

    fn add(&mut self, model: &mut Model, batch: &Batch) {
        let mut routed = Routed::new(ROWS, model.dimension(), RANK);
        let inputs = model.attend(batch).to_owned();
        for block in inputs.axis_chunks_iter(Axis(0), ROWS) {
            let rows = s![..block.nrows(), ..];
            routed.route(&model.layout, &model.parameters, block);
            self.weights.extend(&routed.weights[..block.nrows()]);
            let mut language = routed.language.slice_mut(rows);
            for (mut row, weight) in language.rows_mut().into_iter().zip(&routed.weights) {
                row *= 1.0 - weight;
            }
            self.language.append(Axis(0), language.view()).expect("rows of one dimension");
            self.unit.append(Axis(0), routed.unit.slice(rows)).expect("rows of one dimension");
        }
        for row in 0..batch.rows() {
            self.targets.extend(batch.targets(row));
            self.ends.push(self.targets.len());
        }
    }

    /// Number of rows.
    pub fn positions(&self) -> usize {
        self.weights.len()
    }

    /// The rows of some places, in their order.
    pub fn rows(&self, places: &[usize]) -> Self {
        let mut chosen = Self {
            unit: self.unit.select(Axis(0), places),
            language: self.language.select(Axis(0), places),
            weights: places.iter().map(|place| self.weights[*place]).collect(),
            targets: vec![],
            ends: vec![],
        };
        for place in places {
            chosen.targets.extend(self.targets_of(*place));
            chosen.ends.push(chosen.targets.len());
        }
        chosen
    }

    fn targets_of(&self, row: usize) -> &[(usize, f32)] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.targets[start..self.ends[row]]
    }

    /// The mean of w over the rows.
    pub fn mean_weight(&self) -> f64 {
        f64::from(self.weights.iter().sum::<f32>()) / self.weights.len() as f64
    }

    /// Mixes an output of the fact expert, in place, with the language expert's of a row: `(language + w·output)/rms`. Returns the
    /// root mean square that was divided by.
    pub fn mix(&self, row: usize, mut output: ArrayViewMut1<f32>) -> f32 {
        let weight = self.weights[row];
        Zip::from(&mut output).and(self.language.row(row)).for_each(|out, language| *out = language + weight * *out);
        let length = root_mean_square(output.view());
        output /= length;
        length
    }

    /// Hands the logits of each row to `see`. `heads` as [`Model::heads`] gives them.
    pub fn logits(&self, mlp: &FrozenMlp, heads: &Array2<f32>, mut see: impl FnMut(usize, &mut [f32])) {
        let dimension = self.unit.ncols();
        let mut pass = mlp.pass(ROWS);
        let mut mixed = Array2::zeros((ROWS, dimension));
        let mut logits = vec![0.0; ROWS * heads.nrows()];
        for start in (0..self.positions()).step_by(ROWS) {
            let end = (start + ROWS).min(self.positions());
            let mut mixed = mixed.slice_mut(s![..end - start, ..]);
            mlp.forward(self.unit.slice(s![start..end, ..]), &mut pass, mixed.view_mut());
            for (row, output) in (start..end).zip(mixed.rows_mut()) {
                self.mix(row, output);
            }
            let logits = &mut logits[..(end - start) * heads.nrows()];
            general_mat_mul(1.0, &mixed, &heads.t(), 0.0, &mut matrix_mut(logits, end - start, heads.nrows()));
            for (row, logits) in (start..end).zip(logits.chunks_exact_mut(heads.nrows())) {
                see(row, logits);
            }
        }
    }

    /// The token with the largest logit in each row; the first one of equals.
    pub fn predictions(&self, mlp: &FrozenMlp, heads: &Array2<f32>) -> Vec<usize> {
        let mut predicted = Vec::with_capacity(self.positions());
        self.logits(mlp, heads, |_, logits| {
            let top = maximum(logits);
            predicted.push(logits.iter().position(|logit| *logit == top).unwrap_or(0));
        });
        predicted
    }

    /// Share of rows, template by template for each fact, that predict the fact's object.
    pub fn recall(&self, mlp: &FrozenMlp, heads: &Array2<f32>, objects: &[usize]) -> f64 {
        let predicted = self.predictions(mlp, heads);
        let templates = predicted.len() / objects.len();
        let right = predicted.iter().enumerate().filter(|(row, token)| **token == objects[row / templates]).count();
        right as f64 / predicted.len() as f64
    }

    /// Cross-entropy of what follows in nats, summed, and the number of predictions.
    pub fn cross_entropy(&self, mlp: &FrozenMlp, heads: &Array2<f32>) -> (f64, f64) {
        let (mut sum, mut number) = (0.0, 0.0);
        self.logits(mlp, heads, |row, logits| {
            let targets = self.targets_of(row);
            let own: f64 = targets.iter().map(|(token, count)| f64::from(*count) * f64::from(logits[*token])).sum();
            let count: f64 = targets.iter().map(|(_, count)| f64::from(*count)).sum();
            sum += count * log_sum(logits) - own;
            number += count;
        });
        (sum, number)
    }
}
