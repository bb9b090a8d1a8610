//! The gated encoder gadget: exact fit of any outputs on given keys (2512.00207, §4.1, algorithm 3; theorem 4.1).
//!
//! One gadget is `x ↦ 1ᵀ[σ(G·x) ⊙ (A·x)]` with `G, A` of shape h×d. With `G` drawn at random the outputs `o` on the keys are
//! linear in `A`: `M·vec(A) = o`, `M = [diag(Σ_1)K, …, diag(Σ_h)K]` (F×dh), `Σ = σ(G·Kᵀ)`. For an analytic, non-polynomial σ and
//! generic keys `d·h ≥ F` suffices. The solution of least norm is `vec(A) = Mᵀ(M·Mᵀ)⁻¹o`, and `M·Mᵀ = (ΣᵀΣ) ⊙ (K·Kᵀ)`: all
//! gadgets that share `G` are solved with one F×F Cholesky factorisation. Keys are whitened first and the whitening is folded
//! back into `G` and `A`, which is exact: it only means that gates are drawn with pre-activations of order 1 in every direction,
//! and it keeps the system solvable for keys of condition number 1e4, where gates drawn without regard to the keys fail.

use ndarray::{Array2, ArrayView2, Axis, concatenate};

use super::gated::{Activation, GatedMlp};
use crate::error::{Error, Result};
use crate::facts::embeddings::gaussian;
use crate::facts::whitening::Whitening;
use crate::num::linalg::solve_positive_definite;
use crate::num::products::product;
use crate::num::statistics::largest_magnitude;
use crate::rng::Rng;

/// Gadgets that share their gates, one per output: `gates` h×d, `ups[j]` h×d.
#[derive(Debug, Clone)]
pub struct Gadgets {
    pub gates: Array2<f64>,
    pub ups: Vec<Array2<f64>>,
    pub activation: Activation,
    /// Largest difference between what the gadgets give on the keys and what they were asked for, over the largest output.
    pub relative_residual: f64,
}

/// Hidden size of one gadget for `facts` keys in `dimension` dimensions: `⌈(1 + slack)·F/d⌉`.
pub fn gadget_hidden(facts: usize, dimension: usize, slack: f64) -> usize {
    (((1.0 + slack) * facts as f64 / dimension as f64).ceil() as usize).max(1)
}

/// Residual above which the system counts as unsolved.
const LARGEST_RESIDUAL: f64 = 1e-6;
/// Passes of correction by what is missing.
const PASSES: usize = 8;

/// Fits gadgets to `outputs (F×m)` on `keys (F×d)`.
///
/// ```
/// use factsmith::facts::embeddings::{Kind, draw};
/// use factsmith::mlp::encoder_gadget::fit;
/// use factsmith::rng::StreamName;
/// let mut rng = StreamName::new("doc").rng();
/// let keys = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
/// let outputs = draw(Kind::Gaussian, 64, 3, &mut rng).unwrap();
/// let gadgets = fit(&keys, outputs.view(), 0.0, &mut rng).unwrap();
/// assert_eq!(gadgets.gates.dim(), (4, 16));
/// assert!(gadgets.relative_residual < 1e-7);
/// ```
///
/// # Errors
/// When the system cannot be solved to working precision: equal or nearly equal keys, keys that are all zero.
pub fn fit(keys: &Array2<f64>, outputs: ArrayView2<f64>, slack: f64, rng: &mut Rng) -> Result<Gadgets> {
    fit_with(Activation::Silu, keys, outputs, slack, rng)
}

/// [`fit`] with another gate, which has to be analytic and no polynomial.
pub fn fit_with(
    activation: Activation,
    keys: &Array2<f64>,
    outputs: ArrayView2<f64>,
    slack: f64,
    rng: &mut Rng,
) -> Result<Gadgets> {
    let (facts, dimension) = keys.dim();
    let whitening = Whitening::fit(keys, 1.0)?;
    let white = whitening.apply(keys);
    let hidden = gadget_hidden(facts, dimension, slack);
    // White keys have a norm of about √d, so rows of norm about 1 give pre-activations of order 1.
    let gates = gaussian((hidden, dimension), rng) / (dimension as f64).sqrt();
    let activations = product(&gates, &white.t()).mapv(|z| activation.apply(z));
    let ups = vec![Array2::zeros((hidden, dimension)); outputs.ncols()];
    let mut gadgets = Gadgets { gates: gates.dot(&whitening.map), ups, activation, relative_residual: f64::INFINITY };
    let mut missing = outputs.to_owned();
    // One pass is enough unless the square of the system's condition number is near the reciprocal of the rounding error.
    for _ in 0..PASSES {
        let weights = solve(&white, &activations, missing.view()).map_err(|error| singular(keys, error.what()))?;
        for (up, correction) in gadgets.ups.iter_mut().zip(split_by_output(&white, &activations, &weights)) {
            *up += &correction.dot(&whitening.map);
        }
        missing = &outputs - &gadgets.encode(keys.view());
        let residual = largest_magnitude(missing.view()) / largest_magnitude(outputs).max(f64::MIN_POSITIVE);
        let is_better = residual < gadgets.relative_residual;
        gadgets.relative_residual = residual;
        if residual <= LARGEST_RESIDUAL {
            return Ok(gadgets);
        }
        if !is_better {
            break;
        }
    }
    Err(singular(keys, &format!("relative residual {:.1e}", gadgets.relative_residual)))
}

fn singular(keys: &Array2<f64>, reason: &str) -> Error {
    let error = Error::input(format!("the encoder's linear system is singular to working precision ({reason})"));
    match equal_rows(keys) {
        Some((first, second)) => error.fix(format!("keys {first} and {second} are equal: give every fact its own key")),
        None => error.fix("remove keys that are equal or nearly so, or use another method (factsmith methods)"),
    }
}

fn equal_rows(keys: &Array2<f64>) -> Option<(usize, usize)> {
    let mut order: Vec<usize> = (0..keys.nrows()).collect();
    let compare = |a: &usize, b: &usize| {
        let pairs = keys.row(*a).into_iter().zip(keys.row(*b)).map(|(x, y)| x.total_cmp(y));
        pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    };
    order.sort_by(compare);
    order.windows(2).find(|pair| compare(&pair[0], &pair[1]).is_eq()).map(|pair| (pair[0], pair[1]))
}

/// `(M·Mᵀ)⁻¹·outputs` with two steps of iterative refinement.
fn solve(keys: &Array2<f64>, activations: &Array2<f64>, outputs: ArrayView2<f64>) -> Result<Array2<f64>> {
    let kernel = product(&activations.t(), activations) * product(keys, &keys.t());
    let solve = |rhs: ArrayView2<f64>| solve_positive_definite(&kernel, rhs);
    let mut weights = solve(outputs)?;
    for _ in 0..2 {
        let residual = &outputs - &product(&kernel, &weights);
        weights += &solve(residual.view())?;
    }
    Ok(weights)
}

/// `A_j[r] = Σ_i Σ_ri·w_ij·k_i`, one product per gate, for all outputs at once.
fn split_by_output(keys: &Array2<f64>, activations: &Array2<f64>, weights: &Array2<f64>) -> Vec<Array2<f64>> {
    let (hidden, dimension) = (activations.nrows(), keys.ncols());
    let mut ups = vec![Array2::zeros((hidden, dimension)); weights.ncols()];
    for (gate, activation) in activations.rows().into_iter().enumerate() {
        let gated = weights * &activation.insert_axis(Axis(1));
        let rows = product(&gated.t(), keys);
        for (up, row) in ups.iter_mut().zip(rows.rows()) {
            up.row_mut(gate).assign(&row);
        }
    }
    ups
}

impl Gadgets {
    /// Outputs (n×m) for inputs (n×d).
    pub fn encode(&self, inputs: ArrayView2<f64>) -> Array2<f64> {
        let gates = product(&inputs, &self.gates.t()).mapv(|z| self.activation.apply(z));
        let mut outputs = Array2::zeros((inputs.nrows(), self.ups.len()));
        for (up, mut output) in self.ups.iter().zip(outputs.columns_mut()) {
            output.assign(&(product(&inputs, &up.t()) * &gates).sum_axis(Axis(1)));
        }
        outputs
    }

    /// The stacked encoder (algorithm 2) as an MLP with m outputs: hidden unit j·h + r is gate r of gadget j.
    pub fn mlp(&self) -> GatedMlp {
        self.under(&Array2::eye(self.ups.len()))
    }

    /// The stacked encoder under a decoder (d×m): column j of it once for each hidden unit of gadget j.
    pub fn under(&self, decoder: &Array2<f64>) -> GatedMlp {
        let (gate, up) = self.stacked();
        let hidden = self.gates.nrows();
        let down = Array2::from_shape_fn((decoder.nrows(), gate.nrows()), |(row, unit)| decoder[[row, unit / hidden]]);
        GatedMlp { gate, gate_bias: None, up, down, activation: self.activation }
    }

    /// The gate and up matrices of the stacked encoder (algorithm 2), m·h rows each: the gates repeated, the ups in turn.
    pub fn stacked(&self) -> (Array2<f64>, Array2<f64>) {
        let stack = |parts: Vec<ArrayView2<f64>>| concatenate(Axis(0), &parts).expect("parts of one width");
        (stack(vec![self.gates.view(); self.ups.len()]), stack(self.ups.iter().map(|up| up.view()).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    #[test]
    fn dh_equal_to_the_number_of_facts_suffices() {
        for (facts, dimension) in [(64, 16), (256, 32), (100, 7)] {
            let mut rng = StreamName::new("test").with(facts as u64).rng();
            let keys = draw(Kind::Sphere, facts, dimension, &mut rng).unwrap();
            let outputs = draw(Kind::Gaussian, facts, 5, &mut rng).unwrap();
            let gadgets = fit(&keys, outputs.view(), 0.0, &mut rng).unwrap();
            assert_eq!(gadgets.gates.nrows(), facts.div_ceil(dimension));
            assert!(gadgets.relative_residual < 1e-8, "{facts}: {}", gadgets.relative_residual);
        }
    }

    #[test]
    fn one_gate_fewer_does_not_suffice() {
        let mut rng = StreamName::new("test").rng();
        let keys = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
        let outputs = draw(Kind::Gaussian, 64, 1, &mut rng).unwrap();
        assert!(fit(&keys, outputs.view(), -0.25, &mut rng).is_err());
    }

    #[test]
    fn equal_keys_are_named() {
        let mut rng = StreamName::new("test").rng();
        let mut keys = draw(Kind::Sphere, 20, 4, &mut rng).unwrap();
        let twin = keys.row(3).to_owned();
        keys.row_mut(11).assign(&twin);
        let outputs = draw(Kind::Gaussian, 20, 1, &mut rng).unwrap();
        let message = fit(&keys, outputs.view(), 0.0, &mut rng).unwrap_err().to_string();
        assert!(message.contains("keys 3 and 11") || message.contains("keys 11 and 3"), "{message}");
    }
}
