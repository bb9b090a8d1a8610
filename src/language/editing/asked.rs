//! Questions whose answers are to change: the last positions of one sentence per fact, with the object that is to follow.

use ndarray::{Array2, Zip, s};

use crate::language::model::ROWS;
use crate::language::stream::Stream;
use crate::mlp::trainable::matrix_mut;
use crate::num::products::general_mat_mul;
use crate::num::softmax::cross_entropy_gradient;

/// Questions with their new answers; a row a fact.
pub struct Asked<'a> {
    pub stream: &'a Stream,
    /// The token that is to follow each row.
    pub answers: &'a [usize],
    /// As `Model::heads` gives them, V×d.
    pub heads: &'a Array2<f32>,
}

impl Asked<'_> {
    /// The cross-entropy (in nats) of each answer, given the outputs of the fact expert (n×d, a row for each of the stream and of
    /// the answers); leaves its gradient with respect to them, n×d.
    pub fn losses(&self, outputs: &Array2<f32>, gradient: &mut Array2<f32>) -> Vec<f32> {
        let (count, dimension) = outputs.dim();
        let vocabulary = self.heads.nrows();
        let mut logits = vec![0.0; ROWS.min(count) * vocabulary];
        let mut unit = Array2::zeros((ROWS.min(count), dimension));
        let mut losses = Vec::with_capacity(count);
        for start in (0..count).step_by(ROWS) {
            let end = (start + ROWS).min(count);
            let mut lengths = Vec::with_capacity(ROWS);
            for (row, mut mixed) in (start..end).zip(unit.rows_mut()) {
                mixed.assign(&outputs.row(row));
                lengths.push(self.stream.mix(row, mixed));
            }
            let unit = unit.slice(s![..end - start, ..]);
            let logits = &mut logits[..(end - start) * vocabulary];
            general_mat_mul(1.0, &unit, &self.heads.t(), 0.0, &mut matrix_mut(logits, end - start, vocabulary));
            for (logits, answer) in logits.chunks_exact_mut(vocabulary).zip(&self.answers[start..end]) {
                losses.push(cross_entropy_gradient(logits, vocabulary, &[*answer], 1.0).loss as f32);
            }
            let mut gradient = gradient.slice_mut(s![start..end, ..]);
            general_mat_mul(1.0, &matrix_mut(logits, end - start, vocabulary), self.heads, 0.0, &mut gradient);
            for (row, mut gradient) in gradient.rows_mut().into_iter().enumerate() {
                let unit = unit.row(row);
                let along = gradient.dot(&unit) / dimension as f32;
                let factor = self.stream.weights[start + row] / lengths[row];
                Zip::from(&mut gradient).and(unit).for_each(|g, unit| *g = factor * (*g - along * unit));
            }
        }
        losses
    }
}
