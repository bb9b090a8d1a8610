//! An MLP inside a model that trains around it: single precision, weights fixed, gradients of the inputs.
//!
//! Shapes: inputs X (n×d), `P = X·W_inᵀ` (n×a·H, a = 2 for gated units, 1 for plain ones), hidden units of P (n×H),
//! `Y = hidden·W_downᵀ` (n×o). Backward from `∂Y`: `∂hidden = ∂Y·W_down`, `∂P` by the units, `∂X = ∂P·W_in`. Stacked
//! gadgets have a shorter way (`shared_gates.rs`).

use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, concatenate, s};

use super::gated::Activation;
use super::network::Mlp;
use super::shared_gates::SharedGates;
use crate::num::gates::{
    bilinear, bilinear_gradient, gated_relu, gated_relu_gradient, gated_silu, gated_silu_gradient, relu, relu_gradient,
};
use crate::num::products::general_mat_mul;
use crate::num::rows::{entries, entries_mut};

/// An [`Mlp`] with weights rounded to single precision.
#[derive(Debug, Clone)]
pub struct FrozenMlp(Form);

#[derive(Debug, Clone)]
enum Form {
    Units(Units),
    Gadgets(SharedGates),
}

#[derive(Debug, Clone)]
struct Units {
    /// Gates before ups, or the weights of plain units.
    input: Array2<f32>,
    bias: Option<Array1<f32>>,
    down: Array2<f32>,
    output_bias: Option<Array1<f32>>,
    activation: Activation,
}

/// The buffers of one forward and backward pass.
#[derive(Debug, Clone)]
pub struct Pass {
    projected: Array2<f32>,
    hidden: Array2<f32>,
    hidden_gradient: Array2<f32>,
}

impl FrozenMlp {
    pub fn new(mlp: &Mlp) -> Self {
        Self(match mlp {
            Mlp::Gated(gated) => SharedGates::of(gated).map_or_else(|| Form::Units(Units::new(mlp)), Form::Gadgets),
            Mlp::Plain(_) => Form::Units(Units::new(mlp)),
        })
    }

    /// Multiply–adds of the products of a forward and a backward pass over `rows` inputs.
    pub fn products(&self, rows: usize) -> usize {
        2 * rows
            * match &self.0 {
                Form::Units(units) => units.input.len() + units.down.len(),
                Form::Gadgets(gadgets) => gadgets.products(),
            }
    }

    /// Buffers for up to `rows` inputs.
    pub fn pass(&self, rows: usize) -> Pass {
        let (projected, hidden) = match &self.0 {
            Form::Units(units) => (units.input.nrows(), units.hidden()),
            Form::Gadgets(gadgets) => gadgets.columns(),
        };
        let room = |columns| Array2::zeros((rows, columns));
        Pass { projected: room(projected), hidden: room(hidden), hidden_gradient: room(hidden) }
    }

    /// Outputs for a table of inputs, n×d → n×o.
    pub fn forward(&self, inputs: ArrayView2<f32>, pass: &mut Pass, outputs: ArrayViewMut2<f32>) {
        let rows = s![..inputs.nrows(), ..];
        let (projected, hidden) = (pass.projected.slice_mut(rows), pass.hidden.slice_mut(rows));
        match &self.0 {
            Form::Units(units) => units.forward(inputs, projected, hidden, outputs),
            Form::Gadgets(gadgets) => gadgets.forward(inputs, projected, hidden, outputs),
        }
    }

    /// The gradient with respect to the inputs, after [`FrozenMlp::forward`] of the same ones.
    pub fn backward(&self, output_gradient: ArrayView2<f32>, pass: &mut Pass, input_gradient: ArrayViewMut2<f32>) {
        let rows = s![..output_gradient.nrows(), ..];
        let projected = pass.projected.slice_mut(rows);
        let hidden_gradient = pass.hidden_gradient.slice_mut(rows);
        match &self.0 {
            Form::Units(units) => units.backward(output_gradient, projected, hidden_gradient, input_gradient),
            Form::Gadgets(gadgets) => {
                let hidden = pass.hidden.slice(rows);
                gadgets.backward(output_gradient, projected, hidden, hidden_gradient, input_gradient);
            }
        }
    }
}

impl Units {
    fn new(mlp: &Mlp) -> Self {
        let narrow = |matrix: &Array2<f64>| matrix.mapv(|entry| entry as f32);
        let narrow_bias = |bias: &Option<Array1<f64>>| bias.as_ref().map(|bias| bias.mapv(|entry| entry as f32));
        let down = narrow(mlp.down());
        match mlp {
            Mlp::Gated(mlp) => Self {
                input: concatenate(Axis(0), &[narrow(&mlp.gate).view(), narrow(&mlp.up).view()])
                    .expect("gate and up have one shape"),
                bias: narrow_bias(&mlp.gate_bias),
                down,
                output_bias: None,
                activation: mlp.activation,
            },
            Mlp::Plain(mlp) => Self {
                input: narrow(&mlp.weights),
                bias: narrow_bias(&mlp.bias),
                down,
                output_bias: narrow_bias(&mlp.output_bias),
                activation: mlp.activation,
            },
        }
    }

    fn hidden(&self) -> usize {
        self.down.ncols()
    }

    fn is_gated(&self) -> bool {
        self.input.nrows() > self.hidden()
    }

    fn forward(
        &self,
        inputs: ArrayView2<f32>,
        mut projected: ArrayViewMut2<f32>,
        mut hidden: ArrayViewMut2<f32>,
        mut outputs: ArrayViewMut2<f32>,
    ) {
        general_mat_mul(1.0, &inputs, &self.input.t(), 0.0, &mut projected);
        if let Some(bias) = &self.bias {
            let mut biased = projected.slice_mut(s![.., ..self.hidden()]);
            biased += bias;
        }
        for (row, units) in projected.rows().into_iter().zip(hidden.rows_mut()) {
            self.units(entries(row), entries_mut(units));
        }
        general_mat_mul(1.0, &hidden, &self.down.t(), 0.0, &mut outputs);
        if let Some(bias) = &self.output_bias {
            outputs += bias;
        }
    }

    fn backward(
        &self,
        output_gradient: ArrayView2<f32>,
        mut projected: ArrayViewMut2<f32>,
        mut hidden_gradient: ArrayViewMut2<f32>,
        mut input_gradient: ArrayViewMut2<f32>,
    ) {
        general_mat_mul(1.0, &output_gradient, &self.down, 0.0, &mut hidden_gradient);
        for (row, gradient) in projected.rows_mut().into_iter().zip(hidden_gradient.rows()) {
            self.units_gradient(entries_mut(row), entries(gradient));
        }
        general_mat_mul(1.0, &projected, &self.input, 0.0, &mut input_gradient);
    }

    fn units(&self, row: &[f32], hidden: &mut [f32]) {
        let (gate, up) = row.split_at(hidden.len());
        match (self.is_gated(), self.activation) {
            (true, Activation::Silu) => gated_silu(gate, up, hidden),
            (true, Activation::Identity) => bilinear(gate, up, hidden),
            (true, Activation::Relu) => gated_relu(gate, up, hidden),
            (false, Activation::Relu) => relu(gate, hidden),
            (is_gated, activation) => {
                for (unit, hidden) in hidden.iter_mut().enumerate() {
                    let up = if is_gated { up[unit] } else { 1.0 };
                    *hidden = activation.apply(f64::from(gate[unit])) as f32 * up;
                }
            }
        }
    }

    fn units_gradient(&self, row: &mut [f32], gradient: &[f32]) {
        let (gate, up) = row.split_at_mut(gradient.len());
        match (self.is_gated(), self.activation) {
            (true, Activation::Silu) => gated_silu_gradient(gate, up, gradient),
            (true, Activation::Identity) => bilinear_gradient(gate, up, gradient),
            (true, Activation::Relu) => gated_relu_gradient(gate, up, gradient),
            (false, Activation::Relu) => relu_gradient(gate, gradient),
            (is_gated, activation) => {
                for (unit, gradient) in gradient.iter().enumerate() {
                    let z = f64::from(gate[unit]);
                    let slope = gradient * activation.slope(z) as f32;
                    gate[unit] = if is_gated { slope * up[unit] } else { slope };
                    if is_gated {
                        up[unit] = gradient * activation.apply(z) as f32;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::mlp::encoder_gadget::Gadgets;
    use crate::mlp::gated::GatedMlp;
    use crate::mlp::plain::PlainMlp;
    use crate::rng::StreamName;

    fn mlps() -> Vec<Mlp> {
        let mut rng = StreamName::new("test").rng();
        let mut table = |rows, columns| draw(Kind::Gaussian, rows, columns, &mut rng).unwrap();
        let mut mlps = Vec::new();
        for activation in [Activation::Silu, Activation::Identity, Activation::Relu, Activation::SiluSlope] {
            let bias = Some(table(1, 9).row(0).to_owned());
            let gated =
                GatedMlp { gate: table(9, 4), gate_bias: bias.clone(), up: table(9, 4), down: table(3, 9), activation };
            mlps.push(gated.into());
            let output_bias = Some(table(1, 3).row(0).to_owned());
            mlps.push(PlainMlp { weights: table(9, 4), bias, down: table(3, 9), output_bias, activation }.into());
        }
        // More gates than a block of the kernel, and not a multiple.
        let (gates, ups, decoder) = (table(19, 4), vec![table(19, 4), table(19, 4)], table(3, 2));
        let gadgets = Gadgets { gates, ups, activation: Activation::Silu, relative_residual: 0.0 };
        mlps.push(gadgets.under(&decoder).into());
        mlps
    }

    #[test]
    fn outputs_and_gradients_are_those_of_double_precision() {
        let inputs = draw(Kind::Gaussian, 5, 4, &mut StreamName::new("inputs").rng()).unwrap();
        let weights = draw(Kind::Gaussian, 5, 3, &mut StreamName::new("weights").rng()).unwrap();
        let score = |mlp: &Mlp, inputs: &Array2<f64>| (mlp.forward(inputs.view()) * &weights).sum();
        for mlp in mlps() {
            let frozen = FrozenMlp::new(&mlp);
            let mut pass = frozen.pass(7);
            let (mut outputs, mut gradient) = (Array2::zeros((5, 3)), Array2::zeros((5, 4)));
            frozen.forward(inputs.mapv(|x| x as f32).view(), &mut pass, outputs.view_mut());
            frozen.backward(weights.mapv(|x| x as f32).view(), &mut pass, gradient.view_mut());
            let wanted = mlp.forward(inputs.view());
            assert!(outputs.iter().zip(&wanted).all(|(a, b)| (f64::from(*a) - b).abs() < 2e-5));
            for (index, found) in gradient.indexed_iter() {
                let at = |step: f64| {
                    let mut moved = inputs.clone();
                    moved[index] += step;
                    score(&mlp, &moved)
                };
                let slope = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!((f64::from(*found) - slope).abs() < 1e-4 * (1.0 + slope.abs()), "{found} {slope}");
            }
        }
    }
}
