//! The gated MLP `g(x) = W_down·(σ(W_gate·x + b) ⊙ (W_up·x))` (2512.00207, §4.1).

use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use serde::{Deserialize, Serialize};

use crate::facts::decoding;
use crate::facts::fact_set::FactSet;
use crate::facts::whitening::Whitening;
use crate::num::products::{general_mat_mul, product};

/// The gate's nonlinearity σ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// `z/(1 + e^(−z))`, the gate of SwiGLU.
    Silu,
    /// `max(z, 0)`.
    Relu,
    /// `1` for `z > 0`, else `0`.
    Step,
    /// `z`: a bilinear MLP.
    Identity,
    /// The derivative of SiLU: the gate whose limit pairs of SiLU units are (2512.00207, B.4.3).
    SiluSlope,
}

impl Activation {
    /// σ(z).
    pub fn apply(self, z: f64) -> f64 {
        match self {
            Self::Silu => z / (1.0 + (-z).exp()),
            Self::Relu => z.max(0.0),
            Self::Step => f64::from(u8::from(z > 0.0)),
            Self::Identity => z,
            Self::SiluSlope => Self::Silu.slope(z),
        }
    }

    /// σ of every entry, in place; the match stands outside the loop so that the loop can be vectorised.
    pub fn apply_to(self, table: &mut Array2<f64>) {
        match self {
            Self::Identity => {}
            Self::Relu => table.mapv_inplace(|z| if z > 0.0 { z } else { 0.0 }),
            Self::Step => table.mapv_inplace(|z| if z > 0.0 { 1.0 } else { 0.0 }),
            Self::Silu => table.mapv_inplace(|z| Self::Silu.apply(z)),
            Self::SiluSlope => table.mapv_inplace(|z| Self::SiluSlope.apply(z)),
        }
    }

    /// σ′(z); 0 where a step is.
    pub fn slope(self, z: f64) -> f64 {
        let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
        match self {
            Self::Silu => sigmoid(z) * (1.0 + z * (1.0 - sigmoid(z))),
            Self::Relu => f64::from(u8::from(z > 0.0)),
            Self::Step => 0.0,
            Self::Identity => 1.0,
            Self::SiluSlope => sigmoid(z) * (1.0 - sigmoid(z)) * (2.0 + z * (1.0 - 2.0 * sigmoid(z))),
        }
    }

    /// The largest |σ′|; infinite for the step.
    pub fn lipschitz(self) -> f64 {
        match self {
            Self::Silu => 1.1,
            Self::Relu | Self::Identity => 1.0,
            Self::Step => f64::INFINITY,
            Self::SiluSlope => 0.5,
        }
    }
}

/// Weights of a gated MLP: `gate` and `up` are H×d, `down` is d×H; `gate_bias` (H) is there when the gates have one.
#[derive(Debug, Clone)]
pub struct GatedMlp {
    pub gate: Array2<f64>,
    pub gate_bias: Option<Array1<f64>>,
    pub up: Array2<f64>,
    pub down: Array2<f64>,
    pub activation: Activation,
}

/// Inputs and hidden units computed at once: a block of hidden values stays in cache.
const INPUTS: usize = 256;
const UNITS: usize = 512;

/// `W_down·hidden` for a table of inputs, with `hidden(inputs, units)` (n×|units|) asked for in blocks.
pub(super) fn forward_in_blocks(
    inputs: ArrayView2<f64>,
    down: &Array2<f64>,
    hidden: impl Fn(ArrayView2<f64>, std::ops::Range<usize>) -> Array2<f64>,
) -> Array2<f64> {
    let mut outputs = Array2::zeros((inputs.nrows(), down.nrows()));
    for (rows, mut outputs) in
        inputs.axis_chunks_iter(Axis(0), INPUTS).zip(outputs.axis_chunks_iter_mut(Axis(0), INPUTS))
    {
        for start in (0..down.ncols()).step_by(UNITS) {
            let stop = (start + UNITS).min(down.ncols());
            let units = hidden(rows, start..stop);
            general_mat_mul(1.0, &units, &down.slice(s![.., start..stop]).t(), 1.0, &mut outputs);
        }
    }
    outputs
}

impl GatedMlp {
    /// Hidden size H.
    pub fn hidden(&self) -> usize {
        self.gate.nrows()
    }

    /// Number of parameters: the entries of the three matrices (the paper's `3dH`), plus the gate biases where there are any.
    pub fn parameters(&self) -> usize {
        self.gate.len() + self.up.len() + self.down.len() + self.gate_bias.as_ref().map_or(0, Array1::len)
    }

    /// `σ(W_gate·x + b) ⊙ (W_up·x)` of the units in `range`: (n×d) → (n×|range|).
    pub fn hidden_units(&self, inputs: ArrayView2<f64>, range: std::ops::Range<usize>) -> Array2<f64> {
        let mut units = product(&inputs, &self.gate.slice(s![range.clone(), ..]).t());
        if let Some(bias) = &self.gate_bias {
            units += &bias.slice(s![range.clone()]);
        }
        self.activation.apply_to(&mut units);
        units *= &product(&inputs, &self.up.slice(s![range, ..]).t());
        units
    }

    /// Outputs for a table of inputs: (n×d) → (n×d).
    pub fn forward(&self, inputs: ArrayView2<f64>) -> Array2<f64> {
        forward_in_blocks(inputs, &self.down, |rows, units| self.hidden_units(rows, units))
    }

    /// Margin of every fact of a fact set; see [`decoding::margins`].
    pub fn margins(&self, facts: &FactSet) -> Vec<f64> {
        decoding::margins(self.forward(facts.keys.view()).view(), facts.values.view(), &facts.map)
    }

    /// The MLP for raw values, given this one built for values whitened by `V·W`: `W_down ← W·W_down`.
    ///
    /// Whitened scores are `⟨g', Wᵀv⟩ = ⟨W·g', v⟩`, so the output has to be mapped by `W`. (The text of 2512.00207, A.1.3,
    /// folds the inverse instead; that keeps the distance to the values but not the dot products, and destroys the decoding.)
    pub fn fold_value_whitening(mut self, whitening: &Whitening) -> Self {
        self.down = whitening.map.dot(&self.down);
        self
    }

    /// The MLP for raw keys, given this one built for keys whitened by `K·W`: `W_gate ← W_gate·W`, `W_up ← W_up·W`. Exact.
    pub fn fold_key_whitening(mut self, whitening: &Whitening) -> Self {
        self.gate = self.gate.dot(&whitening.map);
        self.up = self.up.dot(&whitening.map);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn slopes_are_those_of_the_functions() {
        for activation in [Activation::Silu, Activation::Relu, Activation::Identity, Activation::SiluSlope] {
            for z in [-6.0, -1.3, -0.2, 0.4, 1.1, 7.0] {
                let difference = (activation.apply(z + 1e-6) - activation.apply(z - 1e-6)) / 2e-6;
                assert!((activation.slope(z) - difference).abs() < 1e-8, "{activation:?} at {z}");
                assert!(activation.slope(z).abs() <= activation.lipschitz());
            }
        }
    }

    #[test]
    fn the_forward_pass_is_the_formula() {
        let mlp = GatedMlp {
            gate: array![[1.0, -1.0], [0.5, 2.0], [0.0, 1.0]],
            gate_bias: Some(array![0.0, -1.0, 0.25]),
            up: array![[2.0, 1.0], [-1.0, 1.0], [3.0, 0.0]],
            down: array![[1.0, 0.0, 2.0], [0.0, 1.0, -1.0]],
            activation: Activation::Silu,
        };
        let x = [0.7, -0.2];
        let silu = |z: f64| z / (1.0 + (-z).exp());
        let hidden = [
            silu(x[0] - x[1]) * (2.0 * x[0] + x[1]),
            silu(0.5 * x[0] + 2.0 * x[1] - 1.0) * (x[1] - x[0]),
            silu(x[1] + 0.25) * 3.0 * x[0],
        ];
        let found = mlp.forward(array![[0.7, -0.2]].view());
        assert!((found[[0, 0]] - (hidden[0] + 2.0 * hidden[2])).abs() < 1e-15);
        assert!((found[[0, 1]] - (hidden[1] - hidden[2])).abs() < 1e-15);
        assert_eq!((mlp.parameters(), mlp.hidden()), (21, 3));
    }

    #[test]
    fn wide_mlps_are_computed_in_blocks_without_a_difference() {
        let hidden = UNITS + 7;
        let entry = |(i, j): (usize, usize)| ((i * 31 + j * 17) as f64 * 0.1).sin();
        let mlp = GatedMlp {
            gate: Array2::from_shape_fn((hidden, 3), entry),
            gate_bias: None,
            up: Array2::from_shape_fn((hidden, 3), |(i, j)| entry((j, i))),
            down: Array2::from_shape_fn((3, hidden), entry),
            activation: Activation::Relu,
        };
        let inputs = array![[1.0, -0.5, 0.2], [0.3, 0.9, -1.0]];
        let hidden_units = inputs.dot(&mlp.gate.t()).mapv(|z| z.max(0.0)) * inputs.dot(&mlp.up.t());
        let plain = hidden_units.dot(&mlp.down.t());
        assert!((mlp.forward(inputs.view()) - plain).iter().all(|difference: &f64| difference.abs() < 1e-9));
    }
}
