//! A one-hidden-layer MLP in training: forward and backward passes over all keys at once, in buffers made once.
//!
//! Shapes: keys K (F×d), input weights (a·h×d, a = 2 for gated units, 1 for plain ones), down (h×o, the transpose of `W_down`).
//! Forward: `P = K·W_inᵀ` (F×a·h), `H` = units of P (F×h), `Y = H·D` (F×o). Backward from `∂Y`: `∂D = Hᵀ·∂Y`,
//! `∂H = ∂Y·Dᵀ`, `∂W_in = ∂Pᵀ·K`. Gradients are derived by hand; single precision; nothing is allocated in a step but the
//! packing buffers of the products.

use ndarray::{Array2, ArrayView2, ArrayViewMut2};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::gated::{Activation, GatedMlp};
use super::network::Mlp;
use super::plain::PlainMlp;
use crate::num::gates::{bilinear, bilinear_gradient, gated_silu, gated_silu_gradient, relu, relu_gradient};
use crate::num::products::general_mat_mul;
use crate::num::rows::{entries, entries_mut};
use crate::rng::StreamName;

/// The kind of hidden unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// `silu(g·x)·(u·x)`.
    SwiGlu,
    /// `(g·x)·(u·x)`.
    Bilinear,
    /// `max(w·x, 0)`: no gate.
    Relu,
}

impl Architecture {
    /// Input weight rows per hidden unit.
    pub fn rows_per_unit(self) -> usize {
        match self {
            Self::SwiGlu | Self::Bilinear => 2,
            Self::Relu => 1,
        }
    }

    /// Parameters per hidden unit for `inputs` and `outputs` dimensions.
    pub fn parameters_per_unit(self, inputs: usize, outputs: usize) -> usize {
        self.rows_per_unit() * inputs + outputs
    }
}

/// Parameters, their gradient and every buffer of a step.
pub struct Trainable {
    keys: Array2<f32>,
    architecture: Architecture,
    hidden: usize,
    /// Input weights (gates before ups), then down, row by row.
    pub parameters: Vec<f32>,
    /// Gradient of the loss, in the same order.
    pub gradient: Vec<f32>,
    projected: Array2<f32>,
    activations: Array2<f32>,
    activation_gradient: Array2<f32>,
    /// Outputs on the keys, F×o.
    pub outputs: Array2<f32>,
    /// Gradient of the loss with respect to the outputs, F×o.
    pub output_gradient: Array2<f32>,
}

impl Trainable {
    /// Weights uniform on `±1/√fan_in`.
    pub fn new(
        keys: &Array2<f64>,
        architecture: Architecture,
        hidden: usize,
        outputs: usize,
        name: StreamName,
    ) -> Self {
        let (count, dimension) = keys.dim();
        let mut rng = name.rng();
        let mut uniform = |count: usize, fan_in: usize| -> Vec<f32> {
            let bound = 1.0 / (fan_in as f64).sqrt();
            (0..count).map(|_| (bound * (2.0 * rng.random::<f64>() - 1.0)) as f32).collect()
        };
        let rows = architecture.rows_per_unit() * hidden;
        let mut parameters = uniform(rows * dimension, dimension);
        parameters.extend(uniform(hidden * outputs, hidden));
        Self {
            keys: keys.mapv(|x| x as f32),
            architecture,
            hidden,
            gradient: vec![0.0; parameters.len()],
            parameters,
            projected: Array2::zeros((count, rows)),
            activations: Array2::zeros((count, hidden)),
            activation_gradient: Array2::zeros((count, hidden)),
            outputs: Array2::zeros((count, outputs)),
            output_gradient: Array2::zeros((count, outputs)),
        }
    }

    fn rows(&self) -> usize {
        self.projected.ncols()
    }

    /// Multiply–adds of the matrix products of a forward and a backward pass (no gradient with respect to the keys).
    pub fn products(&self) -> usize {
        let (count, dimension) = self.keys.dim();
        count * (2 * self.rows() * dimension + 3 * self.hidden * self.outputs.ncols())
    }

    /// Computes `outputs` at the present parameters.
    pub fn forward(&mut self) {
        let (hidden, rows, dimension) = (self.hidden, self.rows(), self.keys.ncols());
        let (input, down) = self.parameters.split_at(rows * dimension);
        general_mat_mul(1.0, &self.keys, &matrix(input, rows, dimension).t(), 0.0, &mut self.projected);
        for (row, activation) in self.projected.rows().into_iter().zip(self.activations.rows_mut()) {
            let (row, activation) = (entries(row), entries_mut(activation));
            match self.architecture {
                Architecture::SwiGlu => gated_silu(&row[..hidden], &row[hidden..], activation),
                Architecture::Bilinear => bilinear(&row[..hidden], &row[hidden..], activation),
                Architecture::Relu => relu(row, activation),
            }
        }
        let down = matrix(down, hidden, self.outputs.ncols());
        general_mat_mul(1.0, &self.activations, &down, 0.0, &mut self.outputs);
    }

    /// Computes `gradient` from `output_gradient`, after [`Trainable::forward`].
    pub fn backward(&mut self) {
        let (hidden, rows, dimension, width) = (self.hidden, self.rows(), self.keys.ncols(), self.outputs.ncols());
        let (_, down) = self.parameters.split_at(rows * dimension);
        let down = matrix(down, hidden, width);
        let (input_gradient, down_gradient) = self.gradient.split_at_mut(rows * dimension);
        let mut down_gradient = matrix_mut(down_gradient, hidden, width);
        general_mat_mul(1.0, &self.activations.t(), &self.output_gradient, 0.0, &mut down_gradient);
        general_mat_mul(1.0, &self.output_gradient, &down.t(), 0.0, &mut self.activation_gradient);
        for (row, gradient) in self.projected.rows_mut().into_iter().zip(self.activation_gradient.rows()) {
            let (row, gradient) = (entries_mut(row), entries(gradient));
            if self.architecture == Architecture::Relu {
                relu_gradient(row, gradient);
                continue;
            }
            let (gate, up) = row.split_at_mut(hidden);
            match self.architecture {
                Architecture::SwiGlu => gated_silu_gradient(gate, up, gradient),
                Architecture::Bilinear | Architecture::Relu => bilinear_gradient(gate, up, gradient),
            }
        }
        let mut input_gradient = matrix_mut(input_gradient, rows, dimension);
        general_mat_mul(1.0, &self.projected.t(), &self.keys, 0.0, &mut input_gradient);
    }

    /// The present parameters as an MLP in double precision, d → o.
    pub fn mlp(&self) -> Mlp {
        let (hidden, rows, dimension) = (self.hidden, self.rows(), self.keys.ncols());
        let (input, down) = self.parameters.split_at(rows * dimension);
        let input = matrix(input, rows, dimension).mapv(f64::from);
        let down = matrix(down, hidden, self.outputs.ncols()).mapv(f64::from).reversed_axes();
        let gated = |activation| {
            let (gate, up) = input.view().split_at(ndarray::Axis(0), hidden);
            GatedMlp { gate: gate.to_owned(), gate_bias: None, up: up.to_owned(), down: down.clone(), activation }
        };
        match self.architecture {
            Architecture::SwiGlu => gated(Activation::Silu).into(),
            Architecture::Bilinear => gated(Activation::Identity).into(),
            Architecture::Relu => {
                PlainMlp { weights: input, bias: None, down, output_bias: None, activation: Activation::Relu }.into()
            }
        }
    }
}

/// A buffer seen as a matrix.
pub fn matrix(entries: &[f32], rows: usize, columns: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((rows, columns), entries).expect("a buffer made for this shape")
}

/// A buffer seen as a matrix that can be written.
pub fn matrix_mut(entries: &mut [f32], rows: usize, columns: usize) -> ArrayViewMut2<'_, f32> {
    ArrayViewMut2::from_shape((rows, columns), entries).expect("a buffer made for this shape")
}
