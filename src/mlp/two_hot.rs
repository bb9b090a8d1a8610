//! Encoders for two-hot keys `e_i − e_j`, exact with d² parameters per output (2512.00207, construction 4.1 and B.3.2).
//!
//! There are d(d − 1) such keys. An output `h(i, j)` is stored as it is, one entry of a d×d matrix for each:
//! - gated: `1ᵀ[ReLU(x) ⊙ A·x]` with `A[i,j] = −h(i,j)`, `A[i,i] = 0`: the gate leaves unit i, which sees `A[i,i] − A[i,j]`;
//! - plain: `1ᵀReLU(A·x − 1)` with `A[i,i] = 1`, for `h` in [0, 1]: only unit i is positive. Other ranges are shifted and
//!   scaled at the output.

use ndarray::{Array1, Array2, ArrayView2, s};

use super::gated::{Activation, GatedMlp};
use super::plain::PlainMlp;
use crate::error::{Error, Result};

/// The keys `e_i − e_j` (d(d−1)×d), in the order (0,1), (0,2), …, (1,0), (1,2), ….
///
/// ```
/// let keys = factsmith::mlp::two_hot::keys(3);
/// assert_eq!(keys.row(2).to_vec(), [-1.0, 1.0, 0.0]);
/// ```
pub fn keys(dimension: usize) -> Array2<f64> {
    let mut keys = Array2::zeros((dimension * dimension.saturating_sub(1), dimension));
    for (mut key, (i, j)) in keys.rows_mut().into_iter().zip(pairs(dimension)) {
        key[i] = 1.0;
        key[j] = -1.0;
    }
    keys
}

fn pairs(dimension: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dimension).flat_map(move |i| (0..dimension).filter(move |j| *j != i).map(move |j| (i, j)))
}

/// Matrices `A`, one below the other, for outputs (d(d−1)×m) in the order of [`keys`]; `diagonal` on each diagonal.
fn stacked(dimension: usize, outputs: ArrayView2<f64>, diagonal: f64) -> Result<Array2<f64>> {
    let wanted = dimension * dimension.saturating_sub(1);
    if outputs.nrows() != wanted || dimension < 2 {
        return Err(Error::input(format!("{} outputs for two-hot keys in {dimension} dimensions", outputs.nrows()))
            .fix(format!("give one row for each of the {wanted} keys, in at least 2 dimensions")));
    }
    let mut matrix = Array2::zeros((outputs.ncols() * dimension, dimension));
    for (number, output) in outputs.columns().into_iter().enumerate() {
        let mut own = matrix.slice_mut(s![number * dimension..(number + 1) * dimension, ..]);
        own.diag_mut().fill(diagonal);
        for ((i, j), value) in pairs(dimension).zip(output) {
            own[[i, j]] = -value;
        }
    }
    Ok(matrix)
}

/// Unit j·d + i belongs to output j.
fn sums(dimension: usize, outputs: usize, weight: impl Fn(usize) -> f64) -> Array2<f64> {
    Array2::from_shape_fn(
        (outputs, outputs * dimension),
        |(output, unit)| if unit / dimension == output { weight(output) } else { 0.0 },
    )
}

/// The gated encoder: m·d hidden units.
///
/// # Errors
/// When there is not one output row per key.
pub fn gated(dimension: usize, outputs: ArrayView2<f64>) -> Result<GatedMlp> {
    let up = stacked(dimension, outputs, 0.0)?;
    let gate = Array2::from_shape_fn(up.dim(), |(unit, axis)| f64::from(u8::from(unit % dimension == axis)));
    let down = sums(dimension, outputs.ncols(), |_| 1.0);
    Ok(GatedMlp { gate, gate_bias: None, up, down, activation: Activation::Relu })
}

/// The encoder without gates: m·d hidden units.
///
/// # Errors
/// When there is not one output row per key.
pub fn plain(dimension: usize, outputs: ArrayView2<f64>) -> Result<PlainMlp> {
    let ranges: Vec<(f64, f64)> = outputs
        .columns()
        .into_iter()
        .map(|column| column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(*x), b.max(*x))))
        .map(|(lowest, highest)| (lowest, if highest > lowest { highest - lowest } else { 1.0 }))
        .collect();
    let scaled = Array2::from_shape_fn(outputs.dim(), |(key, output)| {
        (outputs[[key, output]] - ranges[output].0) / ranges[output].1
    });
    let weights = stacked(dimension, scaled.view(), 1.0)?;
    Ok(PlainMlp {
        bias: Some(Array1::from_elem(weights.nrows(), -1.0)),
        weights,
        down: sums(dimension, outputs.ncols(), |output| ranges[output].1),
        output_bias: Some(ranges.iter().map(|(lowest, _)| *lowest).collect()),
        activation: Activation::Relu,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::mlp::network::Mlp;
    use crate::rng::StreamName;

    #[test]
    fn both_encoders_are_exact() {
        for dimension in [2, 3, 16] {
            let keys = keys(dimension);
            let outputs = draw(Kind::Gaussian, keys.nrows(), 4, &mut StreamName::new("test").rng()).unwrap() * 5.0;
            let mlps = [
                Mlp::from(gated(dimension, outputs.view()).unwrap()),
                plain(dimension, outputs.view()).unwrap().into(),
            ];
            for mlp in mlps {
                assert_eq!(mlp.hidden(), 4 * dimension);
                let difference = mlp.forward(keys.view()) - &outputs;
                assert!(difference.iter().all(|x| x.abs() < 1e-14 * 20.0), "{difference}");
            }
        }
    }

    #[test]
    fn a_constant_output_is_exact_too() {
        let outputs = Array2::from_elem((12, 1), 3.5);
        let mlp = Mlp::from(plain(4, outputs.view()).unwrap());
        assert!((mlp.forward(keys(4).view()) - outputs).iter().all(|x| x.abs() < 1e-15));
    }

    #[test]
    fn a_missing_row_is_refused() {
        assert_eq!(gated(4, Array2::zeros((11, 1)).view()).unwrap_err().exit_code(), 2);
        assert!(plain(1, Array2::zeros((0, 1)).view()).is_err());
    }
}
