//! A mixture of two experts in place of the MLP (2512.00207, A.3.2), a row of x at a time:
//! `y = (1 − w)·x·U·V + w·MLP(x/‖x‖)` with the router `w = sigmoid(⟨w₂, gelu(W·x + b)⟩ + b₂)`.
//!
//! The fact expert MLP is frozen; the language expert has a low rank r: U is d×r and V is r×d.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Zip, s};

use super::layout::{Layout, Part};
use crate::mlp::frozen::{FrozenMlp, Pass};
use crate::num::gates::{gelu, gelu_gradient};
use crate::num::products::general_mat_mul;

/// The parts that do not depend on the fact expert, and what the backward pass needs; a row a position.
#[derive(Debug, Clone)]
pub struct Routed {
    projected: Array2<f32>,
    hidden: Array2<f32>,
    low: Array2<f32>,
    /// w, the share of the fact expert.
    pub weights: Vec<f32>,
    /// x·U·V.
    pub language: Array2<f32>,
    /// x/‖x‖.
    pub unit: Array2<f32>,
    lengths: Vec<f32>,
    /// The output of the fact expert.
    pub facts: Array2<f32>,
    gradient: Array2<f32>,
    low_gradient: Array2<f32>,
}

impl Routed {
    /// For up to so many rows.
    pub fn new(rows: usize, dimension: usize, rank: usize) -> Self {
        let table = || Array2::zeros((rows, dimension));
        Self {
            projected: table(),
            hidden: table(),
            low: Array2::zeros((rows, rank)),
            weights: vec![0.0; rows],
            language: table(),
            unit: table(),
            lengths: vec![0.0; rows],
            facts: table(),
            gradient: table(),
            low_gradient: Array2::zeros((rows, rank)),
        }
    }

    /// Router and language expert, and the input of the fact expert.
    pub fn route(&mut self, layout: &Layout, parameters: &[f32], inputs: ArrayView2<f32>) {
        let rows = s![..inputs.nrows(), ..];
        let mut projected = self.projected.slice_mut(rows);
        general_mat_mul(1.0, &inputs, &layout.matrix(parameters, Part::RouterIn).t(), 0.0, &mut projected);
        projected += &layout.vector(parameters, Part::RouterInBias);
        let mut hidden = self.hidden.slice_mut(rows);
        gelu(projected.as_slice().expect("whole rows"), hidden.as_slice_mut().expect("whole rows"));
        let (out, bias) =
            (layout.vector(parameters, Part::RouterOut), parameters[layout.range(Part::RouterOutBias).start]);
        for (weight, hidden) in self.weights.iter_mut().zip(hidden.rows()) {
            *weight = 1.0 / (1.0 + (-(hidden.dot(&out) + bias)).exp());
        }
        let (into, out) = (layout.matrix(parameters, Part::LowRankIn), layout.matrix(parameters, Part::LowRankOut));
        general_mat_mul(1.0, &inputs, &into, 0.0, &mut self.low.slice_mut(rows));
        general_mat_mul(1.0, &self.low.slice(rows), &out, 0.0, &mut self.language.slice_mut(rows));
        for ((input, unit), length) in inputs.rows().into_iter().zip(self.unit.rows_mut()).zip(&mut self.lengths) {
            *length = input.dot(&input).sqrt().max(f32::MIN_POSITIVE);
            Zip::from(unit).and(input).for_each(|unit, entry| *unit = entry / *length);
        }
    }

    /// The outputs y, after [`Routed::route`].
    pub fn mix(&mut self, mlp: &FrozenMlp, pass: &mut Pass, mut outputs: ArrayViewMut2<f32>) {
        let rows = s![..outputs.nrows(), ..];
        mlp.forward(self.unit.slice(rows), pass, self.facts.slice_mut(rows));
        for (row, mut output) in outputs.rows_mut().into_iter().enumerate() {
            let weight = self.weights[row];
            Zip::from(&mut output)
                .and(self.language.row(row))
                .and(self.facts.row(row))
                .for_each(|out, language, fact| *out = (1.0 - weight) * language + weight * fact);
        }
    }

    /// Adds the gradients of the parameters and leaves that of the inputs, given that of the outputs and the inputs themselves.
    pub fn back(
        &mut self,
        layout: &Layout,
        (parameters, gradient): (&[f32], &mut [f32]),
        (mlp, pass): (&FrozenMlp, &mut Pass),
        (inputs, output_gradient): (ArrayView2<f32>, ArrayView2<f32>),
        mut input_gradient: ArrayViewMut2<f32>,
    ) {
        let rows = s![..inputs.nrows(), ..];
        let of_logits = self.back_through_facts(mlp, pass, output_gradient, input_gradient.view_mut());
        self.back_through_language(
            layout,
            (parameters, gradient),
            (inputs, output_gradient),
            input_gradient.view_mut(),
        );
        let out = layout.vector(parameters, Part::RouterOut);
        for (row, of_logit) in of_logits.iter().enumerate() {
            layout.vector_mut(gradient, Part::RouterOut).scaled_add(*of_logit, &self.hidden.row(row));
            self.gradient.row_mut(row).zip_mut_with(&out, |g, out| *g = of_logit * out);
        }
        gradient[layout.range(Part::RouterOutBias).start] += of_logits.iter().sum::<f32>();
        let mut projected = self.projected.slice_mut(rows);
        let of_hidden = self.gradient.slice(rows);
        gelu_gradient(projected.as_slice_mut().expect("whole rows"), of_hidden.to_slice().expect("whole rows"));
        let mut of_weights = layout.matrix_mut(gradient, Part::RouterIn);
        general_mat_mul(1.0, &projected.t(), &inputs, 1.0, &mut of_weights);
        let mut of_bias = layout.vector_mut(gradient, Part::RouterInBias);
        of_bias += &projected.sum_axis(Axis(0));
        let weights = layout.matrix(parameters, Part::RouterIn);
        general_mat_mul(1.0, &projected, &weights, 1.0, &mut input_gradient);
    }

    /// Leaves the part of the inputs' gradient that comes through the fact expert; returns the gradient of the router's logits.
    fn back_through_facts(
        &mut self,
        mlp: &FrozenMlp,
        pass: &mut Pass,
        output_gradient: ArrayView2<f32>,
        mut input_gradient: ArrayViewMut2<f32>,
    ) -> Vec<f32> {
        let rows = s![..output_gradient.nrows(), ..];
        let mut of_logits = Vec::with_capacity(output_gradient.nrows());
        for (row, gradient) in output_gradient.rows().into_iter().enumerate() {
            let weight = self.weights[row];
            let difference = gradient.dot(&self.facts.row(row)) - gradient.dot(&self.language.row(row));
            of_logits.push(difference * weight * (1.0 - weight));
            self.gradient.row_mut(row).zip_mut_with(&gradient, |out, g| *out = weight * g);
        }
        mlp.backward(self.gradient.slice(rows), pass, input_gradient.view_mut());
        for (row, mut gradient) in input_gradient.rows_mut().into_iter().enumerate() {
            let (unit, length) = (self.unit.row(row), self.lengths[row]);
            let along = unit.dot(&gradient);
            Zip::from(&mut gradient).and(unit).for_each(|g, unit| *g = (*g - along * unit) / length);
        }
        of_logits
    }

    fn back_through_language(
        &mut self,
        layout: &Layout,
        (parameters, gradient): (&[f32], &mut [f32]),
        (inputs, output_gradient): (ArrayView2<f32>, ArrayView2<f32>),
        mut input_gradient: ArrayViewMut2<f32>,
    ) {
        let rows = s![..inputs.nrows(), ..];
        for (row, of_output) in output_gradient.rows().into_iter().enumerate() {
            let share = 1.0 - self.weights[row];
            self.gradient.row_mut(row).zip_mut_with(&of_output, |out, g| *out = share * g);
        }
        let of_language = self.gradient.slice(rows);
        let mut of_out = layout.matrix_mut(gradient, Part::LowRankOut);
        general_mat_mul(1.0, &self.low.slice(rows).t(), &of_language, 1.0, &mut of_out);
        let mut of_low = self.low_gradient.slice_mut(rows);
        general_mat_mul(1.0, &of_language, &layout.matrix(parameters, Part::LowRankOut).t(), 0.0, &mut of_low);
        general_mat_mul(1.0, &inputs.t(), &of_low, 1.0, &mut layout.matrix_mut(gradient, Part::LowRankIn));
        let into = layout.matrix(parameters, Part::LowRankIn);
        general_mat_mul(1.0, &of_low, &into.t(), 1.0, &mut input_gradient);
    }
}
