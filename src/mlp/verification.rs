//! Which facts an MLP stores beyond rounding error.
//!
//! Next to the outputs runs a bound of their rounding error (running error analysis: Higham, Accuracy and Stability of Numerical
//! Algorithms, §3.3): a product of inner length n is off by at most `γ_n·|A||B|`, `γ_n = n·u/(1 − n·u)`, `u = 2⁻⁵³`; an activation
//! hands an error on, times its steepest slope. A fact counts as stored when its margin exceeds the bound of the margin, as not
//! stored when it is below the negative bound, and as undecided in between. Underflow is not counted: products of weights, keys
//! and values are to stay far above 1e-308.

use ndarray::{Array2, ArrayView1, ArrayView2, Zip, s};

use super::gated::Activation;
use super::network::Mlp;
use super::plain::PlainMlp;
use crate::facts::decoding::margins;
use crate::facts::fact_set::FactSet;
use crate::num::products::{general_mat_mul, product};
use crate::num::rounding::{DOUBLE, gamma};

/// Relative error of an activation computed in double precision: an exponential and a few operations.
const ACTIVATION_ERROR: f64 = 8.0 * DOUBLE;
/// Keys and hidden units handled at once.
const KEYS: usize = 512;
const UNITS: usize = 2048;

/// What is certain about one fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    Stored,
    NotStored,
    /// The margin is closer to 0 than rounding can tell.
    Undecided,
}

/// Margins of a fact set with the bounds of their rounding errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    pub margins: Vec<f64>,
    pub bounds: Vec<f64>,
}

impl Verified {
    /// What is certain about fact `fact`.
    pub fn certainty(&self, fact: usize) -> Certainty {
        let (margin, bound) = (self.margins[fact], self.bounds[fact]);
        if margin > bound {
            Certainty::Stored
        } else if margin < -bound {
            Certainty::NotStored
        } else {
            Certainty::Undecided
        }
    }

    /// Number of facts with this certainty.
    pub fn count(&self, certainty: Certainty) -> usize {
        (0..self.margins.len()).filter(|fact| self.certainty(*fact) == certainty).count()
    }

    /// The smallest margin.
    pub fn smallest_margin(&self) -> f64 {
        self.margins.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// Computes every margin with its bound.
///
/// ```
/// use factsmith::facts::fact_set::FactSet;
/// use factsmith::mlp::naive::unit_norm;
/// use factsmith::mlp::network::Mlp;
/// use factsmith::mlp::verification::{Certainty, verify};
/// let table = ndarray::Array2::<f64>::eye(4);
/// let facts = FactSet::new(table.clone(), table, vec![2, 0, 3, 1]).unwrap();
/// let mlp = Mlp::from(unit_norm(&facts, &facts.values).unwrap());
/// let verified = verify(&mlp, &facts);
/// assert_eq!(verified.count(Certainty::Stored), 4);
/// assert!(verified.bounds[0] < 1e-13);
/// ```
pub fn verify(mlp: &Mlp, facts: &FactSet) -> Verified {
    let norms: Vec<f64> = facts.values.rows().into_iter().map(norm).collect();
    let largest = norms.iter().copied().fold(0.0, f64::max);
    let share = gamma(facts.dimension() + 2, DOUBLE);
    let mut verified = Verified { margins: Vec::with_capacity(facts.len()), bounds: Vec::with_capacity(facts.len()) };
    for start in (0..facts.len()).step_by(KEYS) {
        let stop = (start + KEYS).min(facts.len());
        let map = &facts.map[start..stop];
        let (outputs, errors) = forward_with_errors(mlp, facts.keys.slice(s![start..stop, ..]));
        verified.margins.extend(margins(outputs.view(), facts.values.view(), map));
        for ((output, error), value) in outputs.rows().into_iter().zip(errors.rows()).zip(map) {
            // Cauchy–Schwarz for both scores of the margin.
            verified.bounds.push((norm(error) + share * norm(output)) * (norms[*value] + largest));
        }
    }
    verified
}

/// The length of a row, also where squares overflow or vanish.
fn norm(row: ArrayView1<f64>) -> f64 {
    let plain = row.dot(&row).sqrt();
    if (1e-140..1e140).contains(&plain) {
        return plain;
    }
    let largest = row.fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
    if largest > 0.0 && largest.is_finite() {
        largest * row.mapv(|entry| (entry / largest).powi(2)).sum().sqrt()
    } else {
        plain
    }
}

/// `inputs·weightsᵀ` with a bound of its error, entry by entry.
fn bounded_product(inputs: ArrayView2<f64>, weights: ArrayView2<f64>) -> (Array2<f64>, Array2<f64>) {
    let bound = product(&inputs.mapv(f64::abs), &weights.mapv(f64::abs).t()) * gamma(inputs.ncols(), DOUBLE);
    (product(&inputs, &weights.t()), bound)
}

/// Applies an activation to values with bounds of their errors.
fn activate(activation: Activation, values: &mut Array2<f64>, errors: &mut Array2<f64>) {
    Zip::from(values).and(errors).for_each(|value, error| {
        // Beyond its error a step has the slope 0; within, it may have jumped.
        let slope = if activation == Activation::Step && value.abs() > *error { 0.0 } else { activation.lipschitz() };
        let own = if *error == 0.0 { 0.0 } else { slope * *error };
        *value = activation.apply(*value);
        *error = own + ACTIVATION_ERROR * value.abs();
    });
}

/// Outputs (n×d) and bounds of their rounding errors (n×d).
fn forward_with_errors(mlp: &Mlp, inputs: ArrayView2<f64>) -> (Array2<f64>, Array2<f64>) {
    let shape = (inputs.nrows(), mlp.down().nrows());
    let (mut outputs, mut errors) = (Array2::zeros(shape), Array2::zeros(shape));
    let share = gamma(mlp.hidden() + 1, DOUBLE);
    for start in (0..mlp.hidden()).step_by(UNITS) {
        let range = start..(start + UNITS).min(mlp.hidden());
        let (units, unit_errors) = hidden_with_errors(mlp, inputs, range.clone());
        let down = mlp.down().slice(s![.., range]);
        general_mat_mul(1.0, &units, &down.t(), 1.0, &mut outputs);
        let passed_on = unit_errors + units.mapv(|unit| share * unit.abs());
        general_mat_mul(1.0, &passed_on, &down.mapv(f64::abs).t(), 1.0, &mut errors);
    }
    if let Mlp::Plain(PlainMlp { output_bias: Some(bias), .. }) = mlp {
        outputs += bias;
        errors += &bias.mapv(|entry| DOUBLE * entry.abs());
        Zip::from(&mut errors).and(&outputs).for_each(|error, output| *error += DOUBLE * output.abs());
    }
    (outputs, errors)
}

fn hidden_with_errors(mlp: &Mlp, inputs: ArrayView2<f64>, range: std::ops::Range<usize>) -> (Array2<f64>, Array2<f64>) {
    let (weights, bias, activation) = match mlp {
        Mlp::Gated(mlp) => (&mlp.gate, &mlp.gate_bias, mlp.activation),
        Mlp::Plain(mlp) => (&mlp.weights, &mlp.bias, mlp.activation),
    };
    let (mut units, mut errors) = bounded_product(inputs, weights.slice(s![range.clone(), ..]));
    if let Some(bias) = bias {
        units += &bias.slice(s![range.clone()]);
        Zip::from(&mut errors).and(&units).for_each(|error, unit| *error += DOUBLE * unit.abs());
    }
    activate(activation, &mut units, &mut errors);
    if let Mlp::Gated(mlp) = mlp {
        let (ups, up_errors) = bounded_product(inputs, mlp.up.slice(s![range, ..]));
        Zip::from(&mut errors).and(&units).and(&ups).and(&up_errors).for_each(|error, unit, up, up_error| {
            *error = *error * (up.abs() + up_error) + unit.abs() * up_error + DOUBLE * (unit * up).abs();
        });
        units *= &ups;
    }
    (units, errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_bijection;
    use crate::mlp::gated::GatedMlp;
    use crate::rng::StreamName;

    fn facts(scale: f64) -> FactSet {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, 40, 8, &mut rng).unwrap();
        FactSet::new(&table * scale, table, random_bijection(40, &mut rng)).unwrap()
    }

    fn mlp(activation: Activation, gated: bool) -> Mlp {
        let mut rng = StreamName::new("weights").rng();
        let mut draw = |rows, columns| draw(Kind::Gaussian, rows, columns, &mut rng).unwrap();
        let (weights, up, down) = (draw(30, 8), draw(30, 8), draw(8, 30));
        let bias = Some(draw(1, 30).row(0).to_owned());
        if gated {
            return GatedMlp { gate: weights, gate_bias: bias, up, down, activation }.into();
        }
        PlainMlp { weights, bias, down, output_bias: Some(draw(1, 8).row(0).to_owned()), activation }.into()
    }

    #[test]
    fn bounds_do_not_vanish_where_their_squares_do() {
        let bounds = |shrink: f64| {
            let Mlp::Gated(mlp) = mlp(Activation::Identity, true) else { unreachable!("it is gated") };
            let mlp = GatedMlp { gate_bias: None, down: mlp.down * shrink, ..mlp };
            verify(&mlp.into(), &facts(1.0)).bounds
        };
        for (bound, small) in bounds(1.0).iter().zip(bounds(1e-180)) {
            assert!((small / (bound * 1e-180) - 1.0).abs() < 1e-6, "{small} {bound}");
        }
    }

    /// Rounding the weights and keys to single precision makes errors of a known size in place of the unknown ones.
    #[test]
    fn the_bound_covers_what_rounding_does_and_is_not_idle() {
        let facts = facts(1.0);
        for activation in [Activation::Silu, Activation::Relu, Activation::Identity, Activation::SiluSlope] {
            for gated in [true, false] {
                let mlp = mlp(activation, gated);
                let (outputs, errors) = forward_with_errors(&mlp, facts.keys.view());
                let narrow = facts.keys.mapv(|x| x as f32);
                let single = mlp.forward_single(narrow.view()).mapv(f64::from);
                // Single precision is 2²⁹ times coarser; inputs and weights are rounded too, hence twice the bound.
                let factor = 2.0 * 2f64.powi(29);
                let worst = Zip::from(&outputs)
                    .and(&single)
                    .and(&errors)
                    .fold(0.0f64, |worst, exact, single, error| worst.max((exact - single).abs() / (factor * error)));
                assert!(worst < 1.0, "{activation:?} {gated}: {worst}");
                assert!(worst > 1e-4, "{activation:?} {gated}: a bound that is never approached says little: {worst}");
            }
        }
    }

    /// Two large products cancel before the activation: what is left of them is all error.
    #[test]
    fn errors_of_the_preactivations_reach_the_outputs() {
        let inputs = ndarray::array![[1.0, 1.0 - 1e-12]];
        for activation in [Activation::Relu, Activation::Identity, Activation::Silu] {
            let mlp = PlainMlp {
                weights: ndarray::array![[1e8, -1e8]],
                bias: None,
                down: ndarray::array![[1.0], [0.0]],
                output_bias: None,
                activation,
            };
            let (_, errors) = forward_with_errors(&mlp.into(), inputs.view());
            assert!(errors[[0, 0]] > 1e8 * DOUBLE, "{activation:?}: {}", errors[[0, 0]]);
        }
    }

    #[test]
    fn margins_within_rounding_are_undecided() {
        let mut facts = facts(1.0);
        // Two values so close that a margin between them is lost in rounding.
        let twin = facts.values.row(3).mapv(|x| x * (1.0 + 1e-16));
        facts.values.row_mut(5).assign(&twin);
        let verified = verify(&mlp(Activation::Silu, true), &facts);
        let close = facts.map.iter().position(|value| *value == 3).unwrap();
        assert_eq!(
            verified.count(Certainty::Stored)
                + verified.count(Certainty::NotStored)
                + verified.count(Certainty::Undecided),
            40
        );
        assert!(verified.margins[close] <= verified.bounds[close]);
    }

    #[test]
    fn a_key_on_a_step_is_undecided() {
        let table = Array2::<f64>::eye(3);
        let facts = FactSet::new(table.clone(), table.clone(), vec![0, 1, 2]).unwrap();
        let gate = Array2::from_shape_fn((3, 3), |(unit, axis)| if unit == axis { 0.3 } else { 0.0 });
        let bias = |shift: f64| Some(ndarray::array![-0.3 + shift, -0.1, -0.1]);
        let at = |shift| {
            let (up, down) = (table.clone(), table.clone());
            let mlp = GatedMlp { gate: gate.clone(), gate_bias: bias(shift), up, down, activation: Activation::Step };
            verify(&mlp.into(), &facts).certainty(0)
        };
        assert_eq!((at(0.0), at(1e-3), at(-1e-3)), (Certainty::Undecided, Certainty::Stored, Certainty::Undecided));
    }
}
