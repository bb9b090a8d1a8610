//! Stacked gadgets as what they are: m outputs that share h gates, under a decoder (2512.00207, algorithms 1 to 3).
//!
//! The gated MLP that they make has m·h units, every gate of which is there m times and every column of the decoder h times.
//! `c_j = Σ_r σ(G·x)_r·(A·x)_(j·h+r)`, `y = D·c` says the same with a third of the multiply–adds.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, concatenate, s};

use super::gated::{Activation, GatedMlp};
use crate::num::gates::{shared_silu, shared_silu_gradient};
use crate::num::products::general_mat_mul;
use crate::num::rows::{entries, entries_mut};

/// In single precision.
#[derive(Debug, Clone)]
pub(super) struct SharedGates {
    /// `G` (h×d) above `A` (m·h×d).
    input: Array2<f32>,
    /// `D`, o×m.
    decoder: Array2<f32>,
}

impl SharedGates {
    /// None where an MLP is no stack of gadgets.
    pub fn of(mlp: &GatedMlp) -> Option<Self> {
        let gates = shared(mlp)?;
        let narrow = |table: ArrayView2<f64>| table.mapv(|entry| entry as f32);
        let parts = [narrow(mlp.gate.slice(s![..gates, ..])), narrow(mlp.up.view())];
        let input = concatenate(Axis(0), &[parts[0].view(), parts[1].view()]).expect("gates and ups of one width");
        Some(Self { input, decoder: narrow(mlp.down.slice(s![.., ..;gates])) })
    }

    /// Length m of the codes.
    fn codes(&self) -> usize {
        self.decoder.ncols()
    }

    /// Number of gates h.
    fn gates(&self) -> usize {
        self.input.nrows() / (self.codes() + 1)
    }

    /// Columns of the buffers: for `G·x` and `A·x`, and for codes and gates.
    pub fn columns(&self) -> (usize, usize) {
        (self.input.nrows(), self.codes() + self.gates())
    }

    /// Multiply–adds of a forward pass over one input.
    pub fn products(&self) -> usize {
        self.input.len() + self.decoder.len()
    }

    /// Outputs for a table of inputs, n×d → n×o.
    pub fn forward(
        &self,
        inputs: ArrayView2<f32>,
        mut projected: ArrayViewMut2<f32>,
        mut hidden: ArrayViewMut2<f32>,
        mut outputs: ArrayViewMut2<f32>,
    ) {
        general_mat_mul(1.0, &inputs, &self.input.t(), 0.0, &mut projected);
        for (row, hidden) in projected.rows().into_iter().zip(hidden.rows_mut()) {
            let (gates, ups) = entries(row).split_at(self.gates());
            let (codes, active) = entries_mut(hidden).split_at_mut(self.codes());
            shared_silu(gates, ups, active, codes);
        }
        general_mat_mul(1.0, &hidden.slice(s![.., ..self.codes()]), &self.decoder.t(), 0.0, &mut outputs);
    }

    /// The gradient with respect to the inputs, with the buffers as [`SharedGates::forward`] left them.
    pub fn backward(
        &self,
        output_gradient: ArrayView2<f32>,
        mut projected: ArrayViewMut2<f32>,
        hidden: ArrayView2<f32>,
        mut hidden_gradient: ArrayViewMut2<f32>,
        mut input_gradient: ArrayViewMut2<f32>,
    ) {
        let mut of_codes = hidden_gradient.slice_mut(s![.., ..self.codes()]);
        general_mat_mul(1.0, &output_gradient, &self.decoder, 0.0, &mut of_codes);
        for ((row, hidden), gradient) in
            projected.rows_mut().into_iter().zip(hidden.rows()).zip(hidden_gradient.rows_mut())
        {
            let (gates, ups) = entries_mut(row).split_at_mut(self.gates());
            let active = &entries(hidden)[self.codes()..];
            let (of_codes, of_active) = entries_mut(gradient).split_at_mut(self.codes());
            shared_silu_gradient(gates, ups, active, of_codes, of_active);
        }
        general_mat_mul(1.0, &projected, &self.input, 0.0, &mut input_gradient);
    }
}

/// The number of gates that the gadgets of an MLP share, where it is a stack of several.
fn shared(mlp: &GatedMlp) -> Option<usize> {
    let hidden = mlp.hidden();
    if mlp.activation != Activation::Silu || mlp.gate_bias.is_some() {
        return None;
    }
    let gates = (1..hidden).find(|unit| mlp.gate.row(*unit) == mlp.gate.row(0))?;
    let repeats =
        hidden.is_multiple_of(gates) && (gates..hidden).all(|unit| mlp.gate.row(unit) == mlp.gate.row(unit % gates));
    let is_constant = |unit: usize| mlp.down.column(unit) == mlp.down.column(unit - unit % gates);
    (repeats && (0..hidden).all(is_constant)).then_some(gates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::mlp::encoder_gadget::fit;
    use crate::rng::StreamName;

    fn stack() -> GatedMlp {
        let mut rng = StreamName::new("test").rng();
        let mut table = |rows, columns| draw(Kind::Gaussian, rows, columns, &mut rng).unwrap();
        let (keys, codes, decoder) = (table(60, 8), table(60, 5), table(6, 5));
        fit(&keys, codes.view(), 0.5, &mut StreamName::new("gates").rng()).unwrap().under(&decoder)
    }

    #[test]
    fn a_stack_of_gadgets_is_found_again() {
        let mlp = stack();
        assert_eq!((shared(&mlp), mlp.hidden()), (Some(12), 60));
        let found = SharedGates::of(&mlp).unwrap();
        assert_eq!((found.gates(), found.codes(), found.columns()), (12, 5, (72, 17)));
    }

    #[test]
    fn what_is_no_stack_is_left_alone() {
        let mut changed = [stack(), stack(), stack(), stack()];
        changed[0].gate[[40, 3]] += 1e-9;
        changed[1].down[[2, 40]] += 1e-9;
        changed[2].activation = Activation::Relu;
        changed[3].gate_bias = Some(ndarray::Array1::ones(60));
        assert!(changed.iter().all(|mlp| SharedGates::of(mlp).is_none()));
        let alone = GatedMlp { gate: stack().gate.slice(s![..12, ..]).to_owned(), ..stack() };
        let alone = GatedMlp { up: alone.gate.clone(), down: stack().down.slice(s![.., ..12]).to_owned(), ..alone };
        assert!(SharedGates::of(&alone).is_none());
    }
}
