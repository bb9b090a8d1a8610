//! The MLPs that make queries and keys of token embeddings (2512.00207, A.3.2): `W₂·gelu(W₁·n + b₁) + b₂`, where n is the
//! input less its mean, divided by its standard deviation, with gain and shift.
//!
//! Shapes: inputs and outputs T×d for T tokens; all matrices d×d.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, Zip, s};

use super::layout::{Layout, Part};
use crate::num::gates::{gelu, gelu_gradient};
use crate::num::products::general_mat_mul;

/// Which parameters a projection uses.
#[derive(Debug, Clone, Copy)]
pub struct Projection {
    into: Part,
    out: Part,
    gain: Part,
    shift: Part,
    into_bias: Part,
    out_bias: Part,
}

pub const QUERY: Projection = Projection {
    into: Part::QueryIn,
    out: Part::QueryOut,
    gain: Part::QueryGain,
    shift: Part::QueryShift,
    into_bias: Part::QueryInBias,
    out_bias: Part::QueryOutBias,
};

pub const KEY: Projection = Projection {
    into: Part::KeyIn,
    out: Part::KeyOut,
    gain: Part::KeyGain,
    shift: Part::KeyShift,
    into_bias: Part::KeyInBias,
    out_bias: Part::KeyOutBias,
};

/// What is added to a variance before its root is taken.
const EPSILON: f32 = 1e-5;

/// What a forward pass leaves for the backward pass; a row a token.
#[derive(Debug, Clone)]
pub struct Trace {
    standard: Array2<f32>,
    deviations: Vec<f32>,
    normed: Array2<f32>,
    projected: Array2<f32>,
    hidden: Array2<f32>,
    pub outputs: Array2<f32>,
    gradient: Array2<f32>,
}

impl Trace {
    /// For up to so many tokens.
    pub fn new(tokens: usize, dimension: usize) -> Self {
        let table = || Array2::zeros((tokens, dimension));
        Self {
            standard: table(),
            deviations: vec![0.0; tokens],
            normed: table(),
            projected: table(),
            hidden: table(),
            outputs: table(),
            gradient: table(),
        }
    }
}

impl Projection {
    /// Leaves the outputs in the trace.
    pub fn forward(&self, layout: &Layout, parameters: &[f32], inputs: ArrayView2<f32>, trace: &mut Trace) {
        let rows = s![..inputs.nrows(), ..];
        let (gain, shift) = (layout.vector(parameters, self.gain), layout.vector(parameters, self.shift));
        for (place, input) in inputs.rows().into_iter().enumerate() {
            let count = input.len() as f32;
            let mean = input.sum() / count;
            let variance = input.iter().map(|entry| (entry - mean).powi(2)).sum::<f32>() / count;
            let deviation = (variance + EPSILON).sqrt();
            trace.deviations[place] = deviation;
            let mut standard = trace.standard.row_mut(place);
            Zip::from(&mut standard).and(input).for_each(|out, entry| *out = (entry - mean) / deviation);
            Zip::from(trace.normed.row_mut(place))
                .and(&standard)
                .and(&gain)
                .and(&shift)
                .for_each(|out, entry, gain, shift| *out = entry * gain + shift);
        }
        let mut projected = trace.projected.slice_mut(rows);
        let weights = layout.matrix(parameters, self.into);
        general_mat_mul(1.0, &trace.normed.slice(rows), &weights.t(), 0.0, &mut projected);
        projected += &layout.vector(parameters, self.into_bias);
        let mut hidden = trace.hidden.slice_mut(rows);
        gelu(as_slice(projected.view()), hidden.as_slice_mut().expect("whole rows of a table"));
        let mut outputs = trace.outputs.slice_mut(rows);
        general_mat_mul(1.0, &hidden, &layout.matrix(parameters, self.out).t(), 0.0, &mut outputs);
        outputs += &layout.vector(parameters, self.out_bias);
    }

    /// Adds the gradients of the parameters and of the inputs, given that of the outputs.
    pub fn backward(
        &self,
        layout: &Layout,
        (parameters, gradient): (&[f32], &mut [f32]),
        output_gradient: ArrayView2<f32>,
        trace: &mut Trace,
        mut input_gradient: ArrayViewMut2<f32>,
    ) {
        let rows = s![..output_gradient.nrows(), ..];
        let mut of_out = layout.matrix_mut(gradient, self.out);
        general_mat_mul(1.0, &output_gradient.t(), &trace.hidden.slice(rows), 1.0, &mut of_out);
        let mut of_bias = layout.vector_mut(gradient, self.out_bias);
        of_bias += &output_gradient.sum_axis(Axis(0));
        let weights = layout.matrix(parameters, self.out);
        general_mat_mul(1.0, &output_gradient, &weights, 0.0, &mut trace.gradient.slice_mut(rows));
        let mut projected = trace.projected.slice_mut(rows);
        let of_hidden = trace.gradient.slice(rows);
        gelu_gradient(projected.as_slice_mut().expect("whole rows of a table"), as_slice(of_hidden));
        let mut of_into = layout.matrix_mut(gradient, self.into);
        general_mat_mul(1.0, &projected.t(), &trace.normed.slice(rows), 1.0, &mut of_into);
        let mut of_bias = layout.vector_mut(gradient, self.into_bias);
        of_bias += &projected.sum_axis(Axis(0));
        let weights = layout.matrix(parameters, self.into);
        general_mat_mul(1.0, &projected, &weights, 0.0, &mut trace.gradient.slice_mut(rows));
        let of_normed = trace.gradient.slice(rows);
        let mut of_shift = layout.vector_mut(gradient, self.shift);
        of_shift += &of_normed.sum_axis(Axis(0));
        let mut of_gain = layout.vector_mut(gradient, self.gain);
        let standard = trace.standard.slice(rows);
        Zip::from(of_normed.rows())
            .and(standard.rows())
            .for_each(|g, x| Zip::from(&mut of_gain).and(g).and(x).for_each(|sum, g, x| *sum += g * x));
        let gain = layout.vector(parameters, self.gain);
        for (place, mut of_input) in input_gradient.rows_mut().into_iter().enumerate() {
            let (standard, count) = (trace.standard.row(place), of_input.len() as f32);
            let mut of_standard = trace.gradient.row_mut(place);
            of_standard *= &gain;
            let (mean, along) = (of_standard.sum() / count, of_standard.dot(&standard) / count);
            let deviation = trace.deviations[place];
            Zip::from(&mut of_input)
                .and(&of_standard)
                .and(standard)
                .for_each(|sum, g, x| *sum += (g - mean - along * x) / deviation);
        }
    }
}

fn as_slice<'a>(rows: ArrayView2<'a, f32>) -> &'a [f32] {
    rows.to_slice().expect("whole rows of a table")
}
