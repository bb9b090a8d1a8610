//! Attention of the last position, by the structure of the task.
//!
//! The query of a template is `q = R_last·W_Q·x_asking`; a junk token t has the score `⟨q, R_t·W_K·x_t⟩/√d`, and so the junk
//! of a template comes down to two things: `mean = Σ p_t·x_t` with `p = softmax(scores)`, and `log_sum = log Σ e^scores`. The
//! key's score is `⟨direction, x_key⟩` with `direction = W_Kᵀ·R_keyᵀ·q/√d`. What attention puts out for a key is
//! `w·x_key + (1 − w)·mean` with `w = sigmoid(⟨direction, x_key⟩ − log_sum)`.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2};

use super::rotary::Rotary;
use super::task::Template;
use crate::num::products::general_mat_mul;
use crate::num::rows::{add_scaled, entries, entries_mut};

/// What is fixed during training: normalised junk embeddings and positions.
#[derive(Debug, Clone)]
pub struct Attention {
    /// Junk embeddings as the attention reads them, (junk)×d.
    pub junk: Array2<f32>,
    /// None: no positional encoding.
    pub rotary: Option<Rotary>,
}

/// What the queries of templates see, a row a template; also the gradient of the loss with respect to that.
#[derive(Debug, Clone)]
pub struct Sight {
    pub means: Array2<f32>,
    pub log_sums: Vec<f32>,
    /// A row a template, or one row where it is the same for all.
    pub directions: Array2<f32>,
}

impl Sight {
    pub fn zeros(templates: usize, directions: usize, dimension: usize) -> Self {
        Self {
            means: Array2::zeros((templates, dimension)),
            log_sums: vec![0.0; templates],
            directions: Array2::zeros((directions, dimension)),
        }
    }

    /// A gradient of this shape, 0 so far.
    pub fn no_gradient(&self) -> Self {
        Self::zeros(self.means.nrows(), self.directions.nrows(), self.means.ncols())
    }

    pub fn direction(&self, template: usize) -> ArrayView1<'_, f32> {
        self.directions.row(self.direction_row(template))
    }

    pub fn direction_mut(&mut self, template: usize) -> ArrayViewMut1<'_, f32> {
        let row = self.direction_row(template);
        self.directions.row_mut(row)
    }

    fn direction_row(&self, template: usize) -> usize {
        template.min(self.directions.nrows() - 1)
    }
}

/// What the way back needs of one template.
#[derive(Debug, Clone)]
pub struct Look {
    query: Array1<f32>,
    probabilities: Vec<f32>,
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
    fn junk_keys(&self, weights: Weights) -> Array2<f32> {
        self.junk.dot(&weights.key.t())
    }

    /// What the queries of all templates see.
    pub fn look(&self, templates: &[Template], weights: Weights) -> (Sight, Vec<Look>) {
        let junk_keys = self.junk_keys(weights);
        let mut sight = Sight::zeros(templates.len(), templates.len(), self.junk.ncols());
        let look = |(row, template)| self.look_from(template, weights, &junk_keys, (&mut sight, row));
        let looks = templates.iter().enumerate().map(look).collect();
        (sight, looks)
    }

    /// What the query of one template sees: a row of `sight`.
    fn look_from(
        &self,
        template: &Template,
        weights: Weights,
        junk_keys: &Array2<f32>,
        (sight, row): (&mut Sight, usize),
    ) -> Look {
        let query = weights.query.dot(&self.junk.row(template.asking()));
        let query = self.turned(&query, template.last()) * self.scale();
        let score = |(token, position)| junk_keys.row(token).dot(&self.turned_back(&query, position));
        let mut probabilities: Vec<f32> = template.junk().map(score).collect();
        let top = probabilities.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        probabilities.iter_mut().for_each(|score| *score = (*score - top).exp());
        let total: f32 = probabilities.iter().sum();
        probabilities.iter_mut().for_each(|share| *share /= total);
        let mut mean = sight.means.row_mut(row);
        for ((token, _), share) in template.junk().zip(&probabilities) {
            mean.scaled_add(*share, &self.junk.row(token));
        }
        sight.log_sums[row] = top + total.ln();
        let direction = across(weights.key, &self.turned_back(&query, template.prefix.len()));
        sight.directions.row_mut(row).assign(&direction);
        Look { query, probabilities }
    }

    /// Adds the gradients of both matrices, given that of what the queries see.
    pub fn back(
        &self,
        templates: &[Template],
        weights: Weights,
        (sight, looks): (&Sight, &[Look]),
        gradient: &Sight,
        (query_weights, key_weights): (&mut ArrayViewMut2<f32>, &mut ArrayViewMut2<f32>),
    ) {
        let junk_keys = self.junk_keys(weights);
        for (row, (template, look)) in templates.iter().zip(looks).enumerate() {
            let (at_key, of_mean) = (template.prefix.len(), gradient.means.row(row));
            let of_direction = gradient.direction(row).to_owned();
            add_outer(key_weights, &self.turned_back(&look.query, at_key), &of_direction);
            let mut query = self.turned(&weights.key.dot(&of_direction), at_key);
            let along_mean = of_mean.dot(&sight.means.row(row));
            let mut of_junk_keys = Array2::<f32>::zeros(junk_keys.dim());
            for ((token, position), share) in template.junk().zip(&look.probabilities) {
                let score = share * (gradient.log_sums[row] + of_mean.dot(&self.junk.row(token)) - along_mean);
                query.scaled_add(score, &self.turned(&junk_keys.row(token).to_owned(), position));
                of_junk_keys.row_mut(token).scaled_add(score, &self.turned_back(&look.query, position));
            }
            general_mat_mul(1.0, &of_junk_keys.t(), &self.junk, 1.0, key_weights);
            let query = self.turned_back(&query, template.last()) * self.scale();
            add_outer(query_weights, &query, &self.junk.row(template.asking()).to_owned());
        }
    }
}

/// `matrixᵀ·vector`, row by row of the matrix.
pub(super) fn across(matrix: ArrayView2<f32>, vector: &Array1<f32>) -> Array1<f32> {
    let mut sum = vec![0.0; matrix.ncols()];
    for (row, factor) in matrix.rows().into_iter().zip(vector) {
        add_scaled(&mut sum, *factor, entries(row));
    }
    sum.into()
}

/// `matrix += left·rightᵀ`.
pub(super) fn add_outer(matrix: &mut ArrayViewMut2<f32>, left: &Array1<f32>, right: &Array1<f32>) {
    let right = right.as_slice().expect("a vector of its own");
    for (row, factor) in matrix.rows_mut().into_iter().zip(left) {
        add_scaled(entries_mut(row), *factor, right);
    }
}
