//! Attention without positions whose query is a token of its own (2607.10034): only how often each kind of junk occurs matters.
//!
//! There is one query `q = W_Q·x_query/√d`, so one direction `W_Kᵀ·q`, and token t has the score `s_t = ⟨direction, x_t⟩`
//! wherever it stands. With counts n_t the junk of a sequence comes down to `mean = Σ n_t·e^{s_t}·x_t / Σ n_t·e^{s_t}` and
//! `log_sum = log Σ n_t·e^{s_t}`, the query token counted once among them.

use ndarray::{Array1, Array2, ArrayViewMut2, Axis};

use super::attention::{Sight, Weights, across, add_outer};
use super::task::Template;

/// What is fixed during training.
#[derive(Debug, Clone)]
pub struct Counted {
    /// Junk embeddings as the attention reads them, (junk)×d; the last row is the query token.
    pub junk: Array2<f32>,
}

/// What the way back needs.
#[derive(Debug, Clone)]
pub struct Shares {
    query: Array1<f32>,
    /// Share of each kind of junk in what is not attention on the key, (sequences)×(junk).
    shares: Array2<f32>,
}

impl Counted {
    fn asking(&self) -> Array1<f32> {
        self.junk.row(self.junk.nrows() - 1).to_owned()
    }

    fn scale(&self) -> f32 {
        1.0 / (self.junk.ncols() as f32).sqrt()
    }

    /// What the query sees in every sequence.
    pub fn look(&self, templates: &[Template], weights: Weights) -> (Sight, Shares) {
        let (kinds, dimension) = self.junk.dim();
        let query = weights.query.dot(&self.asking()) * self.scale();
        let direction = across(weights.key, &query);
        let scores = self.junk.dot(&direction);
        let mut shares = Array2::<f32>::zeros((templates.len(), kinds));
        let mut log_sums = Vec::with_capacity(templates.len());
        for (template, mut row) in templates.iter().zip(shares.rows_mut()) {
            template.junk().for_each(|(token, _)| row[token] += 1.0);
            let is_there = row.iter().zip(&scores).filter(|(count, _)| **count > 0.0);
            let top = is_there.map(|(_, score)| *score).fold(f32::NEG_INFINITY, f32::max);
            row.zip_mut_with(&scores, |share, score| *share *= (score - top).min(0.0).exp());
            let total = row.sum();
            row /= total;
            log_sums.push(top + total.ln());
        }
        let directions = direction.into_shape_with_order((1, dimension)).expect("one row");
        (Sight { means: shares.dot(&self.junk), log_sums, directions }, Shares { query, shares })
    }

    /// Adds the gradients of both matrices, given that of what the query sees.
    pub fn back(
        &self,
        weights: Weights,
        (sight, seen): (&Sight, &Shares),
        gradient: &Sight,
        (query_weights, key_weights): (&mut ArrayViewMut2<f32>, &mut ArrayViewMut2<f32>),
    ) {
        let mut of_scores = gradient.means.dot(&self.junk.t());
        for (row, mut of_scores) in of_scores.rows_mut().into_iter().enumerate() {
            let along_mean = gradient.means.row(row).dot(&sight.means.row(row));
            let shift = gradient.log_sums[row] - along_mean;
            of_scores.zip_mut_with(&seen.shares.row(row), |score, share| *score = share * (*score + shift));
        }
        let of_direction = gradient.directions.row(0).to_owned() + of_scores.sum_axis(Axis(0)).dot(&self.junk);
        add_outer(key_weights, &seen.query, &of_direction);
        add_outer(query_weights, &(weights.key.dot(&of_direction) * self.scale()), &self.asking());
    }
}
