//! Attention of the last position, by the structure of the task.
//!
//! The query of a template is `q = R_last·W_Q·x_asking`; a junk token t has the score `⟨q, R_t·W_K·x_t⟩/√d`, and so the junk
//! of a template comes down to two things: `mean = Σ p_t·x_t` with `p = softmax(scores)`, and `log_sum = log Σ e^scores`. The
//! key's score is `⟨direction, x_key⟩` with `direction = W_Kᵀ·R_keyᵀ·q/√d`. What attention puts out for a key is
//! `w·x_key + (1 − w)·mean` with `w = sigmoid(⟨direction, x_key⟩ − log_sum)`.

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2};

use super::rotary::Rotary;
use super::task::Template;

/// What is fixed during training: normalised junk embeddings and positions.
#[derive(Debug, Clone)]
pub struct Attention {
    /// Junk embeddings as the attention reads them, (junk)×d.
    pub junk: Array2<f32>,
    /// None: no positional encoding.
    pub rotary: Option<Rotary>,
}

/// What the query of one template sees.
#[derive(Debug, Clone)]
pub struct Seen {
    pub mean: Array1<f32>,
    pub log_sum: f32,
    pub direction: Array1<f32>,
    query: Array1<f32>,
    probabilities: Vec<f32>,
}

/// Gradient of the loss with respect to what a query sees.
#[derive(Debug, Clone)]
pub struct SeenGradient {
    pub mean: Array1<f32>,
    pub log_sum: f32,
    pub direction: Array1<f32>,
}

impl SeenGradient {
    pub fn zeros(dimension: usize) -> Self {
        Self { mean: Array1::zeros(dimension), log_sum: 0.0, direction: Array1::zeros(dimension) }
    }
}

/// The matrices W_Q and W_K, d×d.
#[derive(Debug, Clone, Copy)]
pub struct Weights<'a> {
    pub query: ArrayView2<'a, f32>,
    pub key: ArrayView2<'a, f32>,
}

impl Attention {
    fn turned(&self, vector: &Array1<f32>, position: usize) -> Array1<f32> {
        let mut turned = vector.clone();
        if let Some(rotary) = &self.rotary {
            rotary.turn(turned.view_mut(), position);
        }
        turned
    }

    fn turned_back(&self, vector: &Array1<f32>, position: usize) -> Array1<f32> {
        let mut turned = vector.clone();
        if let Some(rotary) = &self.rotary {
            rotary.turn_back(turned.view_mut(), position);
        }
        turned
    }

    fn scale(&self) -> f32 {
        1.0 / (self.junk.ncols() as f32).sqrt()
    }

    /// Keys of the junk tokens before they are turned to their positions, (junk)×d.
    pub fn junk_keys(&self, weights: Weights) -> Array2<f32> {
        self.junk.dot(&weights.key.t())
    }

    /// What the query of a template sees; `junk_keys` as [`Attention::junk_keys`] gives them.
    pub fn look(&self, template: &Template, weights: Weights, junk_keys: &Array2<f32>) -> Seen {
        let query = weights.query.dot(&self.junk.row(template.asking()));
        let query = self.turned(&query, template.last()) * self.scale();
        let score = |(token, position)| junk_keys.row(token).dot(&self.turned_back(&query, position));
        let mut probabilities: Vec<f32> = template.junk().map(score).collect();
        let top = probabilities.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        probabilities.iter_mut().for_each(|score| *score = (*score - top).exp());
        let total: f32 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|share| *share /= total);
        let mut mean = Array1::zeros(self.junk.ncols());
        for ((token, _), share) in template.junk().zip(&probabilities) {
            mean.scaled_add(*share, &self.junk.row(token));
        }
        let direction = weights.key.t().dot(&self.turned_back(&query, template.prefix.len()));
        Seen { mean, log_sum: top + total.ln(), direction, query, probabilities }
    }

    /// Adds the gradients of both matrices, given that of what the query of a template sees.
    pub fn back(
        &self,
        template: &Template,
        weights: Weights,
        junk_keys: &Array2<f32>,
        (seen, gradient): (&Seen, &SeenGradient),
        (query_weights, key_weights): (&mut ArrayViewMut2<f32>, &mut ArrayViewMut2<f32>),
    ) {
        let at_key = template.prefix.len();
        add_outer(key_weights, &self.turned_back(&seen.query, at_key), &gradient.direction);
        let mut query = self.turned(&weights.key.dot(&gradient.direction), at_key);
        let along_mean = gradient.mean.dot(&seen.mean);
        let mut of_junk_keys = Array2::<f32>::zeros(junk_keys.dim());
        for ((token, position), share) in template.junk().zip(&seen.probabilities) {
            let score = share * (gradient.log_sum + gradient.mean.dot(&self.junk.row(token)) - along_mean);
            query.scaled_add(score, &self.turned(&junk_keys.row(token).to_owned(), position));
            of_junk_keys.row_mut(token).scaled_add(score, &self.turned_back(&seen.query, position));
        }
        ndarray::linalg::general_mat_mul(1.0, &of_junk_keys.t(), &self.junk, 1.0, key_weights);
        let query = self.turned_back(&query, template.last()) * self.scale();
        add_outer(query_weights, &query, &self.junk.row(template.asking()).to_owned());
    }
}

/// `matrix += left·rightᵀ`.
fn add_outer(matrix: &mut ArrayViewMut2<f32>, left: &Array1<f32>, right: &Array1<f32>) {
    for (mut row, factor) in matrix.rows_mut().into_iter().zip(left) {
        row.scaled_add(*factor, right);
    }
}
