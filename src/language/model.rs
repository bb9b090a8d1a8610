//! A one-layer language model around a frozen fact-storing MLP (2512.00207, A.3.2; 2607.10034 and its released code).
//!
//! Token embeddings E (V×d) are frozen and tied to the logits. `n = gain ⊙ e/rms(e)`; queries and keys of n by small MLPs
//! ([`super::projection`]), values n themselves; attention without residual ([`super::attention`]); a mixture of experts
//! ([`super::mixture`]); logits `(gain ⊙ y/rms(y))·Eᵀ`. Gradients are derived by hand.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2, Zip, s};
use rand::RngExt;

use super::attention::{Tokens, TokensGradient, attend, attend_back};
use super::batch::{Batch, Pair};
use super::corpus::Corpus;
use super::layout::{Layout, Part};
use super::mixture::Routed;
use super::projection::{KEY, QUERY, Trace};
use crate::error::{Error, Result};
use crate::mlp::frozen::{FrozenMlp, Pass};
use crate::num::products::general_mat_mul;
use crate::num::softmax::counted_cross_entropy_gradient;
use crate::rng::Rng;
use crate::transformer::rotary::Rotary;

/// Rows that go through the mixture and the logits at once.
pub const ROWS: usize = 128;

/// Rank of the language expert.
pub const RANK: usize = 8;

/// Standard deviation of matrices at the start. The code of 2607.10034 starts the language expert at 1: its output is then a
/// thousand times as long as the fact expert's, the router saturates, and some templates are never learned.
const INITIAL: f64 = 0.02;

/// What a step found: cross-entropy in nats, summed over predictions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    pub loss: f64,
    pub predictions: f64,
}

/// A language model; its fact expert is handed to each call.
pub struct Model {
    corpus: Arc<Corpus>,
    embeddings: Array2<f32>,
    /// Embeddings divided by the root of the mean of their squares.
    normalised: Array2<f32>,
    rotary: Rotary,
    pub(super) layout: Layout,
    pub parameters: Vec<f32>,
    pub gradient: Vec<f32>,
    buffers: Buffers,
}

/// One row a token of the batch.
struct TokenBuffers {
    inputs: Array2<f32>,
    input_gradient: Array2<f32>,
    query: Trace,
    key: Trace,
    query_gradient: Array2<f32>,
    key_gradient: Array2<f32>,
}

/// One row a position of the present block.
struct RowBuffers {
    routed: Routed,
    mixed: Array2<f32>,
    lengths: Vec<f32>,
    scaled: Array2<f32>,
    gradient: Array2<f32>,
    logits: Vec<f32>,
}

struct Buffers {
    tokens: TokenBuffers,
    rows: RowBuffers,
    shares: Vec<Vec<f32>>,
    attended: Array2<f32>,
    attended_gradient: Array2<f32>,
}

impl Model {
    /// A model that has not been trained. `embeddings` has a row for every token of the corpus.
    ///
    /// # Errors
    /// When there are not as many embeddings as tokens.
    pub fn new(corpus: Corpus, embeddings: &Array2<f64>, rng: &mut Rng) -> Result<Self> {
        let (tokens, dimension) = embeddings.dim();
        if tokens != corpus.tokens.len() {
            return Err(Error::input(format!("{tokens} embeddings for {} tokens", corpus.tokens.len()))
                .fix("give one row of embeddings for each token"));
        }
        let layout = Layout::new(dimension, RANK);
        let root = (dimension as f64).sqrt();
        let normalised = embeddings.rows().into_iter().flat_map(|row| {
            let length = row.dot(&row).sqrt().max(f64::MIN_POSITIVE);
            row.into_iter().map(move |entry| (root * entry / length) as f32)
        });
        let normalised = Array2::from_shape_vec((tokens, dimension), normalised.collect()).expect("row by row");
        let longest =
            corpus.templates.iter().map(|words| words.prefix.len() + words.suffix.len() + 1).max().unwrap_or(0);
        Ok(Self {
            rotary: Rotary::with_base(10_000f64.powf(dimension as f64 / 1024.0), dimension, longest),
            parameters: initial(&layout, rng),
            gradient: vec![0.0; layout.parameters()],
            buffers: Buffers::new(dimension, tokens),
            embeddings: embeddings.mapv(|entry| entry as f32),
            normalised,
            layout,
            corpus: Arc::new(corpus),
        })
    }

    pub fn corpus(&self) -> Arc<Corpus> {
        Arc::clone(&self.corpus)
    }

    pub fn dimension(&self) -> usize {
        self.embeddings.ncols()
    }

    /// The table that the logits are taken with, V×d: embeddings times the gain of the last norm.
    pub fn heads(&self) -> Array2<f32> {
        &self.embeddings * &self.layout.vector(&self.parameters, Part::OutputGain)
    }

    /// Computes the loss over all positions of some sentences and leaves the gradient of its mean in `gradient`.
    pub fn step(&mut self, mlp: &FrozenMlp, pass: &mut Pass, pairs: &[Pair]) -> Found {
        let corpus = Arc::clone(&self.corpus);
        let batch = Batch::sentences(&corpus, pairs);
        self.attend(&batch);
        self.gradient.fill(0.0);
        let mut found = Found { loss: 0.0, predictions: batch.predictions() };
        for start in (0..batch.rows()).step_by(ROWS) {
            let end = (start + ROWS).min(batch.rows());
            self.forward(mlp, pass, start, end);
            self.score(&batch, start, end, &mut found);
            self.backward(mlp, pass, start, end);
        }
        self.back_through_attention(&batch);
        found
    }

    /// The streams x that reach the mixture at the rows of a batch, after [`super::attention`].
    pub(super) fn attend(&mut self, batch: &Batch) -> ArrayView2<'_, f32> {
        let (dimension, tokens) = (self.dimension(), batch.tokens());
        self.buffers.grow(tokens, batch.rows(), dimension);
        let Buffers { tokens: buffers, shares, attended, .. } = &mut self.buffers;
        let gain = self.layout.vector(&self.parameters, Part::InputGain);
        for slot in 0..tokens {
            Zip::from(buffers.inputs.row_mut(slot))
                .and(self.normalised.row(batch.token(slot)))
                .and(&gain)
                .for_each(|input, entry, gain| *input = entry * gain);
        }
        let inputs = buffers.inputs.slice(s![..tokens, ..]);
        QUERY.forward(&self.layout, &self.parameters, inputs, &mut buffers.query);
        KEY.forward(&self.layout, &self.parameters, inputs, &mut buffers.key);
        let seen = buffers.seen();
        for (row, shares) in shares.iter_mut().enumerate().take(batch.rows()) {
            attend(&self.rotary, seen, batch.context(row), shares, attended.row_mut(row));
        }
        self.buffers.attended.slice(s![..batch.rows(), ..])
    }

    /// From streams to logits, in the buffers.
    fn forward(&mut self, mlp: &FrozenMlp, pass: &mut Pass, start: usize, end: usize) {
        let inputs = self.buffers.attended.slice(s![start..end, ..]);
        let buffers = &mut self.buffers.rows;
        let rows = s![..end - start, ..];
        buffers.routed.route(&self.layout, &self.parameters, inputs);
        buffers.routed.mix(mlp, pass, buffers.mixed.slice_mut(rows));
        let gain = self.layout.vector(&self.parameters, Part::OutputGain);
        for row in 0..end - start {
            let mut mixed = buffers.mixed.row_mut(row);
            let length = root_mean_square(mixed.view());
            buffers.lengths[row] = length;
            mixed /= length;
            Zip::from(buffers.scaled.row_mut(row))
                .and(&mixed)
                .and(&gain)
                .for_each(|out, entry, gain| *out = entry * gain);
        }
        let vocabulary = self.embeddings.nrows();
        let logits = &mut buffers.logits[..(end - start) * vocabulary];
        let mut logits = crate::mlp::trainable::matrix_mut(logits, end - start, vocabulary);
        general_mat_mul(1.0, &buffers.scaled.slice(rows), &self.embeddings.t(), 0.0, &mut logits);
    }

    /// Turns logits into their gradient.
    fn score(&mut self, batch: &Batch, start: usize, end: usize, found: &mut Found) {
        let scale = (1.0 / found.predictions) as f32;
        let logits = self.buffers.rows.logits.chunks_exact_mut(self.embeddings.nrows());
        for (row, logits) in (start..end).zip(logits) {
            found.loss += counted_cross_entropy_gradient(logits, batch.targets(row), scale);
        }
    }

    /// From the gradient of the logits, which lies in their place, to those of parameters and streams.
    fn backward(&mut self, mlp: &FrozenMlp, pass: &mut Pass, start: usize, end: usize) {
        let vocabulary = self.embeddings.nrows();
        let Buffers { rows: buffers, attended, attended_gradient, .. } = &mut self.buffers;
        let rows = s![..end - start, ..];
        let logits =
            crate::mlp::trainable::matrix(&buffers.logits[..(end - start) * vocabulary], end - start, vocabulary);
        general_mat_mul(1.0, &logits, &self.embeddings, 0.0, &mut buffers.gradient.slice_mut(rows));
        let gain = self.layout.vector(&self.parameters, Part::OutputGain);
        for row in 0..end - start {
            let (mut gradient, unit) = (buffers.gradient.row_mut(row), buffers.mixed.row(row));
            Zip::from(self.layout.vector_mut(&mut self.gradient, Part::OutputGain))
                .and(&gradient)
                .and(unit)
                .for_each(|sum, g, unit| *sum += g * unit);
            gradient *= &gain;
            let (along, length) = (gradient.dot(&unit) / unit.len() as f32, buffers.lengths[row]);
            Zip::from(&mut gradient).and(unit).for_each(|g, unit| *g = (*g - along * unit) / length);
        }
        let inputs = attended.slice(s![start..end, ..]);
        let of_inputs = attended_gradient.slice_mut(s![start..end, ..]);
        let parameters = (self.parameters.as_slice(), self.gradient.as_mut_slice());
        let of_outputs = buffers.gradient.slice(rows);
        buffers.routed.back(&self.layout, parameters, (mlp, pass), (inputs, of_outputs), of_inputs);
    }

    fn back_through_attention(&mut self, batch: &Batch) {
        let Buffers { tokens: buffers, shares, attended_gradient, .. } = &mut self.buffers;
        let rows = s![..batch.tokens(), ..];
        buffers.query_gradient.slice_mut(rows).fill(0.0);
        buffers.key_gradient.slice_mut(rows).fill(0.0);
        buffers.input_gradient.slice_mut(rows).fill(0.0);
        let mut sums = TokensGradient {
            queries: buffers.query_gradient.slice_mut(rows),
            keys: buffers.key_gradient.slice_mut(rows),
            values: buffers.input_gradient.slice_mut(rows),
        };
        let seen = Tokens {
            queries: buffers.query.outputs.view(),
            keys: buffers.key.outputs.view(),
            values: buffers.inputs.view(),
        };
        for (row, shares) in shares.iter().enumerate().take(batch.rows()) {
            let gradient = attended_gradient.row(row);
            attend_back(&self.rotary, seen, batch.context(row), shares, gradient, &mut sums);
        }
        for (projection, trace, output_gradient) in
            [(QUERY, &mut buffers.query, &buffers.query_gradient), (KEY, &mut buffers.key, &buffers.key_gradient)]
        {
            let parameters = (self.parameters.as_slice(), self.gradient.as_mut_slice());
            let of_inputs = buffers.input_gradient.slice_mut(rows);
            projection.backward(&self.layout, parameters, output_gradient.slice(rows), trace, of_inputs);
        }
        for slot in 0..batch.tokens() {
            Zip::from(self.layout.vector_mut(&mut self.gradient, Part::InputGain))
                .and(buffers.input_gradient.row(slot))
                .and(self.normalised.row(batch.token(slot)))
                .for_each(|sum, g, entry| *sum += g * entry);
        }
    }
}

impl TokenBuffers {
    fn new(tokens: usize, dimension: usize) -> Self {
        let table = || Array2::zeros((tokens, dimension));
        Self {
            inputs: table(),
            input_gradient: table(),
            query: Trace::new(tokens, dimension),
            key: Trace::new(tokens, dimension),
            query_gradient: table(),
            key_gradient: table(),
        }
    }

    fn seen(&self) -> Tokens<'_> {
        Tokens { queries: self.query.outputs.view(), keys: self.key.outputs.view(), values: self.inputs.view() }
    }
}

impl Buffers {
    fn new(dimension: usize, vocabulary: usize) -> Self {
        let table = |rows| Array2::zeros((rows, dimension));
        Self {
            tokens: TokenBuffers::new(0, dimension),
            rows: RowBuffers {
                routed: Routed::new(ROWS, dimension, RANK),
                mixed: table(ROWS),
                lengths: vec![0.0; ROWS],
                scaled: table(ROWS),
                gradient: table(ROWS),
                logits: vec![0.0; ROWS * vocabulary],
            },
            shares: vec![],
            attended: table(0),
            attended_gradient: table(0),
        }
    }

    /// Makes room for the largest batch so far.
    fn grow(&mut self, tokens: usize, rows: usize, dimension: usize) {
        if self.tokens.inputs.nrows() < tokens {
            self.tokens = TokenBuffers::new(tokens, dimension);
        }
        if self.attended.nrows() < rows {
            self.attended = Array2::zeros((rows, dimension));
            self.attended_gradient = Array2::zeros((rows, dimension));
            self.shares.resize(rows, vec![]);
        }
    }
}

/// Matrices normal, biases and shifts 0, gains 1.
fn initial(layout: &Layout, rng: &mut Rng) -> Vec<f32> {
    let drawn = crate::facts::embeddings::gaussian((1, layout.matrices()), rng);
    let mut parameters: Vec<f32> = drawn.iter().map(|entry| (INITIAL * entry) as f32).collect();
    parameters.resize(layout.parameters(), 0.0);
    for part in [Part::QueryGain, Part::KeyGain, Part::InputGain, Part::OutputGain] {
        parameters[layout.range(part)].fill(1.0);
    }
    parameters
}

/// Embeddings uniform on ±1/√d, as the paper draws them for this task.
pub fn uniform_embeddings(tokens: usize, dimension: usize, rng: &mut Rng) -> Array2<f64> {
    let bound = 1.0 / (dimension as f64).sqrt();
    Array2::from_shape_simple_fn((tokens, dimension), || bound * (2.0 * rng.random::<f64>() - 1.0))
}

/// `√(mean of squares)`, never 0.
pub(super) fn root_mean_square(row: ndarray::ArrayView1<f32>) -> f32 {
    (row.dot(&row) / row.len() as f32).sqrt().max(f32::MIN_POSITIVE)
}
