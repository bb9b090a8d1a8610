//! How much an MLP amplifies a change of its input: its Jacobian, as the decoder sees it (2512.00207, §5.3, Fig 3c, 8b).
//!
//! The MLP sits behind a norm that keeps the length of the keys, `n(x) = r·x/‖x‖` with `r = ‖k‖`. The Lipschitz constant at key
//! k is the largest singular value of the Jacobian of `V·g(n(x))` at `x = k`, `J = V·J_g(k)·(I − k̂k̂ᵀ)`; that of the MLP is the
//! largest over the keys. As `V` enters by `VᵀV` alone, each key costs one d×d eigenproblem.

use ndarray::{Array1, Array2, ArrayView1};

use super::network::Mlp;
use crate::error::Result;
use crate::facts::fact_set::FactSet;
use crate::num::linalg::symmetric_eigen;

/// Keys at which the constant of an MLP is taken (2512.00207, A.2.5).
pub const KEYS: usize = 100;

/// The Jacobian `∂g/∂x` at `input`: d×d (outputs × inputs).
pub fn jacobian(mlp: &Mlp, input: ArrayView1<f64>) -> Array2<f64> {
    match mlp {
        Mlp::Gated(mlp) => {
            let mut gates = mlp.gate.dot(&input);
            if let Some(bias) = &mlp.gate_bias {
                gates += bias;
            }
            let ups = mlp.up.dot(&input);
            let by_gate: Array1<f64> = gates.iter().zip(&ups).map(|(z, up)| mlp.activation.slope(*z) * up).collect();
            let by_up = gates.mapv(|z| mlp.activation.apply(z));
            (&mlp.down * &by_gate).dot(&mlp.gate) + (&mlp.down * &by_up).dot(&mlp.up)
        }
        Mlp::Plain(mlp) => {
            let mut units = mlp.weights.dot(&input);
            if let Some(bias) = &mlp.bias {
                units += bias;
            }
            let slopes = units.mapv(|z| mlp.activation.slope(z));
            (&mlp.down * &slopes).dot(&mlp.weights)
        }
    }
}

/// The Lipschitz constant over the first `count` keys (the paper takes 100 random ones; a fact set has no order, so these are).
///
/// ```
/// use factsmith::facts::fact_set::FactSet;
/// use factsmith::mlp::lipschitz::lipschitz;
/// use factsmith::mlp::naive::unit_norm;
/// let table = ndarray::Array2::<f64>::eye(4);
/// let facts = FactSet::new(table.clone(), table, vec![2, 0, 3, 1]).unwrap();
/// let mlp = unit_norm(&facts, &facts.values).unwrap().into();
/// // Along a key nothing changes behind the norm, and across it the one open unit does not either.
/// assert!(lipschitz(&mlp, &facts, 4).unwrap() < 1e-7);
/// ```
///
/// # Errors
/// When an eigenproblem fails, as for weights that are not finite.
pub fn lipschitz(mlp: &Mlp, facts: &FactSet, count: usize) -> Result<f64> {
    let scores = facts.values.t().dot(&facts.values);
    let mut largest = 0.0f64;
    for key in facts.keys.rows().into_iter().take(count) {
        let unit = &key / key.dot(&key).sqrt();
        let mut jacobian = jacobian(mlp, key);
        let along = jacobian.dot(&unit);
        for (mut row, along) in jacobian.rows_mut().into_iter().zip(&along) {
            row.scaled_add(-along, &unit);
        }
        let (eigenvalues, _) = symmetric_eigen(&jacobian.t().dot(&scores).dot(&jacobian))?;
        largest = largest.max(eigenvalues.last().copied().unwrap_or(0.0));
    }
    Ok(largest.max(0.0).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::mlp::gated::{Activation, GatedMlp};
    use crate::mlp::plain::PlainMlp;
    use crate::num::linalg::singular_values;
    use crate::rng::StreamName;

    fn setup() -> (FactSet, [Mlp; 2]) {
        let mut rng = StreamName::new("test").rng();
        let mut table = |rows, columns| draw(Kind::Gaussian, rows, columns, &mut rng).unwrap();
        let facts = FactSet::new(table(5, 4), table(7, 4), vec![0; 5]).unwrap();
        let gate_bias = Some(table(1, 9).row(0).to_owned());
        let gated =
            GatedMlp { gate: table(9, 4), gate_bias, up: table(9, 4), down: table(4, 9), activation: Activation::Silu };
        let bias = Some(table(1, 9).row(0).to_owned());
        let plain =
            PlainMlp { weights: table(9, 4), bias, down: table(4, 9), output_bias: None, activation: Activation::Silu };
        (facts, [gated.into(), plain.into()])
    }

    /// The Jacobian of the whole map, `V·g(r·x/‖x‖)`, by differences.
    fn by_differences(mlp: &Mlp, facts: &FactSet, key: usize) -> Array2<f64> {
        let key = facts.keys.row(key);
        let norm = key.dot(&key).sqrt();
        let at = |axis: usize, step: f64| {
            let mut moved = key.to_owned();
            moved[axis] += step;
            let length = moved.dot(&moved).sqrt();
            let input = (moved * (norm / length)).insert_axis(ndarray::Axis(0));
            facts.values.dot(&mlp.forward(input.view()).row(0))
        };
        let mut jacobian = Array2::zeros((facts.values.nrows(), key.len()));
        for axis in 0..key.len() {
            jacobian.column_mut(axis).assign(&((at(axis, 1e-5) - at(axis, -1e-5)) / 2e-5));
        }
        jacobian
    }

    #[test]
    fn the_constant_is_that_of_the_differences() {
        let (facts, mlps) = setup();
        for mlp in mlps {
            let wanted =
                (0..5).map(|key| singular_values(&by_differences(&mlp, &facts, key)).unwrap()[0]).fold(0.0, f64::max);
            let found = lipschitz(&mlp, &facts, 5).unwrap();
            assert!((found / wanted - 1.0).abs() < 1e-6, "{found} {wanted}");
            assert!(lipschitz(&mlp, &facts, 1).unwrap() <= found);
        }
    }
}
