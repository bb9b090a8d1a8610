//! Encoders without gates, from gated ones: pairs of units whose difference is a gate's limit (2512.00207, B.4.3).
//!
//! - SiLU: `[σ((G + εA)x) − σ((G − εA)x)]/(2ε) = σ′(Gx) ⊙ Ax + O(ε²)`, with gadgets fitted for the gate σ′. 2 units per gate.
//! - ReLU: `[ReLU(z·x − θ + ε a·x) − ReLU(z·x − θ)]/ε` is a staircase's step exactly, as long as ε is so small that no key
//!   changes sides. The second unit is the same for all outputs: (m + 1)·⌈F/b⌉ units for m outputs. Bubeck et al. (2020) need
//!   4⌈F/d⌉ for one.

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};

use super::encoder_gadget::{Gadgets, fit_with};
use super::gated::Activation;
use super::plain::PlainMlp;
use super::staircase::{self, Staircase};
use crate::error::{Error, Result};
use crate::rng::Rng;

/// Fits SiLU pairs to `outputs (F×m)` on `keys (F×d)`: 2·m·⌈(1 + slack)F/d⌉ hidden units,
/// exact up to O(ε²). The error grows with the third power of the gadgets' weights, which some slack keeps small.
///
/// # Errors
/// When ε is not positive or the gadgets' linear system is singular.
pub fn silu(keys: &Array2<f64>, outputs: ArrayView2<f64>, slack: f64, epsilon: f64, rng: &mut Rng) -> Result<PlainMlp> {
    let decoder = Array2::eye(outputs.ncols());
    silu_under(&decoder, keys, outputs, slack, epsilon, rng)
}

/// [`silu`] under a decoder (d×m).
///
/// # Errors
/// As [`silu`].
pub fn silu_under(
    decoder: &Array2<f64>,
    keys: &Array2<f64>,
    outputs: ArrayView2<f64>,
    slack: f64,
    epsilon: f64,
    rng: &mut Rng,
) -> Result<PlainMlp> {
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(Error::input(format!("a pair distance ε of {epsilon}"))
            .fix("use a small positive number, for example 1e-3"));
    }
    Ok(pairs(&fit_with(Activation::SiluSlope, keys, outputs, slack, rng)?, decoder, epsilon))
}

fn pairs(gadgets: &Gadgets, decoder: &Array2<f64>, epsilon: f64) -> PlainMlp {
    let gated = gadgets.under(decoder);
    let shift = &gated.up * epsilon;
    let weights = concatenate(Axis(0), &[(&gated.gate + &shift).view(), (&gated.gate - &shift).view()]);
    let half = &gated.down / (2.0 * epsilon);
    let down = concatenate(Axis(1), &[half.view(), (-&half).view()]);
    PlainMlp {
        weights: weights.expect("rows of one width"),
        bias: None,
        down: down.expect("columns of one height"),
        output_bias: None,
        activation: Activation::Silu,
    }
}

/// Fits ReLU units to `outputs (F×m)` on `keys (F×d)`: (m + 1)·⌈F/b⌉ hidden units, exact.
///
/// # Errors
/// As [`staircase::fit`].
pub fn relu(keys: &Array2<f64>, outputs: ArrayView2<f64>, rng: &mut Rng) -> Result<PlainMlp> {
    relu_under(&Array2::eye(outputs.ncols()), keys, outputs, rng)
}

/// [`relu`] under a decoder (d×m).
///
/// # Errors
/// As [`relu`].
pub fn relu_under(
    decoder: &Array2<f64>,
    keys: &Array2<f64>,
    outputs: ArrayView2<f64>,
    rng: &mut Rng,
) -> Result<PlainMlp> {
    let staircase = staircase::fit(keys, outputs, rng)?;
    let epsilon = 0.5 * largest_exact_epsilon(&staircase, keys);
    Ok(differences(&staircase, decoder, epsilon))
}

/// The ε below which no key changes sides of a threshold: `min |z·k − θ_q| / |a_q·k|`.
fn largest_exact_epsilon(staircase: &Staircase, keys: &Array2<f64>) -> f64 {
    let heights = keys.dot(&staircase.direction);
    let mut smallest = f64::INFINITY;
    for (threshold, step) in staircase.thresholds.iter().zip(&staircase.steps) {
        for (height, moved) in heights.iter().zip(keys.dot(step).rows()) {
            let farthest = moved.fold(f64::MIN_POSITIVE, |largest, entry| largest.max(entry.abs()));
            smallest = smallest.min((height - threshold).abs() / farthest);
        }
    }
    smallest
}

/// Unit q is the base of step q, unit r + j·r + q its neighbour for output j.
fn differences(staircase: &Staircase, decoder: &Array2<f64>, epsilon: f64) -> PlainMlp {
    let (steps, outputs, dimension) = (staircase.steps.len(), staircase.outputs(), staircase.direction.len());
    let mut weights = Array2::zeros(((outputs + 1) * steps, dimension));
    for mut row in weights.rows_mut() {
        row.assign(&staircase.direction);
    }
    for output in 0..outputs {
        for (number, step) in staircase.steps.iter().enumerate() {
            weights.row_mut((output + 1) * steps + number).scaled_add(epsilon, &step.column(output));
        }
    }
    let of_base = decoder.sum_axis(Axis(1)) / -epsilon;
    let down = Array2::from_shape_fn((decoder.nrows(), (outputs + 1) * steps), |(row, unit)| match unit / steps {
        0 => of_base[row],
        output => decoder[[row, output - 1]] / epsilon,
    });
    let bias = Array1::from_shape_fn((outputs + 1) * steps, |unit| -staircase.thresholds[unit % steps]);
    PlainMlp { weights, bias: Some(bias), down, output_bias: None, activation: Activation::Relu }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::mlp::network::Mlp;
    use crate::rng::StreamName;

    fn deviation(mlp: PlainMlp, keys: &Array2<f64>, outputs: &Array2<f64>) -> f64 {
        let difference = Mlp::from(mlp).forward(keys.view()) - outputs;
        let largest = |table: &Array2<f64>| table.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        largest(&difference) / largest(outputs)
    }

    #[test]
    fn silu_pairs_come_closer_with_the_square_of_epsilon() {
        let mut rng = StreamName::new("test").rng();
        let keys = draw(Kind::Sphere, 128, 16, &mut rng).unwrap();
        let outputs = draw(Kind::Gaussian, 128, 3, &mut rng).unwrap();
        let at = |epsilon| {
            let mlp = silu(&keys, outputs.view(), 0.5, epsilon, &mut StreamName::new("gates").rng()).unwrap();
            assert_eq!(mlp.down.dim(), (3, 2 * 3 * 12));
            deviation(mlp, &keys, &outputs)
        };
        let (coarse, fine) = (at(1e-2), at(1e-3));
        assert!(fine < 1e-3 && (80.0..120.0).contains(&(coarse / fine)), "{coarse} {fine}");
    }

    #[test]
    fn relu_pairs_are_exact_with_one_base_for_all_outputs() {
        let mut rng = StreamName::new("test").rng();
        let keys = draw(Kind::Sphere, 256, 32, &mut rng).unwrap();
        for outputs in [1, 5] {
            let wanted = draw(Kind::Gaussian, 256, outputs, &mut rng).unwrap();
            let mlp = relu(&keys, wanted.view(), &mut rng).unwrap();
            assert_eq!(mlp.down.ncols(), (outputs + 1) * 256usize.div_ceil(24));
            assert!(deviation(mlp, &keys, &wanted) < 1e-8);
        }
    }

    #[test]
    fn an_epsilon_of_zero_is_refused() {
        let keys = Array2::<f64>::eye(4);
        assert_eq!(silu(&keys, keys.view(), 0.0, 0.0, &mut StreamName::new("t").rng()).unwrap_err().exit_code(), 2);
    }
}
