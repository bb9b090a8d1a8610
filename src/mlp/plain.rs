//! The MLP without gates: `g(x) = W_down·σ(W·x + b) + c` (2512.00207, B.4.3).

use ndarray::{Array1, Array2, ArrayView2, s};

use super::gated::Activation;
use crate::num::products::product;

/// Weights of an MLP without gates: `weights` is H×d, `down` is d×H, `bias` (H) and `output_bias` (d) are there when needed.
#[derive(Debug, Clone)]
pub struct PlainMlp {
    pub weights: Array2<f64>,
    pub bias: Option<Array1<f64>>,
    pub down: Array2<f64>,
    pub output_bias: Option<Array1<f64>>,
    pub activation: Activation,
}

impl PlainMlp {
    /// An MLP that puts out what it is given.
    pub fn identity(dimension: usize) -> Self {
        let eye = Array2::eye(dimension);
        Self { weights: eye.clone(), bias: None, down: eye, output_bias: None, activation: Activation::Identity }
    }

    /// Number of parameters: every entry of the matrices and of the biases there are.
    pub fn parameters(&self) -> usize {
        let biases = self.bias.as_ref().map_or(0, Array1::len) + self.output_bias.as_ref().map_or(0, Array1::len);
        self.weights.len() + self.down.len() + biases
    }

    /// `σ(W·x + b)` of the units in `range`: (n×d) → (n×|range|).
    pub fn hidden_units(&self, inputs: ArrayView2<f64>, range: std::ops::Range<usize>) -> Array2<f64> {
        let mut units = product(&inputs, &self.weights.slice(s![range.clone(), ..]).t());
        if let Some(bias) = &self.bias {
            units += &bias.slice(s![range]);
        }
        self.activation.apply_to(&mut units);
        units
    }
}
