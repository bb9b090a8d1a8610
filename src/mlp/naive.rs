//! The naive construction: one hidden unit per key, `g(x) = W_down·ReLU(K̃·x − b)` (2512.00207, B.3.1).
//!
//! - Keys of one norm: `K̃ = K` and `b` between the largest product of two keys and the norm squared, so that key i opens unit i
//!   alone.
//! - Keys in general position: every row of `K̃` is one random direction `z`, with thresholds between the heights `z·k_i`. The
//!   output is then a broken line in the height, and its bends are the columns of `W_down`.

use ndarray::{Array1, Array2};

use super::gated::Activation;
use super::plain::PlainMlp;
use crate::error::{Error, Result};
use crate::facts::embeddings::gaussian;
use crate::facts::fact_set::FactSet;
use crate::rng::Rng;

/// Keys compared at once.
const BLOCK: usize = 512;

/// The construction for keys of one norm, with `outputs` (n×d), the wanted output per value: F hidden units.
///
/// # Errors
/// When the norms of the keys differ by more than rounding, or two keys are equal.
pub fn unit_norm(facts: &FactSet, outputs: &Array2<f64>) -> Result<PlainMlp> {
    let keys = &facts.keys;
    let squares: Vec<f64> = keys.rows().into_iter().map(|key| key.dot(&key)).collect();
    let (smallest, largest) = squares.iter().fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
    if largest - smallest > 1e-9 * largest {
        return Err(Error::input(format!(
            "the norms of the keys lie between {} and {}",
            smallest.sqrt(),
            largest.sqrt()
        ))
        .fix("divide every key by its norm, or use the naive construction for general position"));
    }
    let closest = largest_product(keys);
    if closest >= smallest * (1.0 - 1e-12) {
        return Err(Error::input("two keys are equal").fix("give every fact its own key"));
    }
    Ok(PlainMlp {
        weights: keys.clone(),
        bias: Some(Array1::from_elem(keys.nrows(), -0.5 * (closest + smallest))),
        down: facts.by_key(outputs).reversed_axes(),
        output_bias: None,
        activation: Activation::Relu,
    })
}

/// `max_{i≠j} ⟨k_i, k_j⟩`.
fn largest_product(keys: &Array2<f64>) -> f64 {
    let mut largest = f64::NEG_INFINITY;
    for start in (0..keys.nrows()).step_by(BLOCK) {
        let block = keys.slice(ndarray::s![start..(start + BLOCK).min(keys.nrows()), ..]);
        for ((row, column), product) in block.dot(&keys.t()).indexed_iter() {
            if start + row != column {
                largest = largest.max(*product);
            }
        }
    }
    largest
}

/// The construction for keys in general position: F hidden units that share one direction.
///
/// # Errors
/// When two keys have the same height along the random direction.
pub fn general_position(facts: &FactSet, outputs: &Array2<f64>, rng: &mut Rng) -> Result<PlainMlp> {
    let direction = gaussian((1, facts.dimension()), rng).row(0).to_owned();
    let heights = facts.keys.dot(&direction);
    let mut order: Vec<usize> = (0..facts.len()).collect();
    order.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]));
    if let Some(pair) = order.windows(2).find(|pair| heights[pair[0]] >= heights[pair[1]]) {
        return Err(Error::input(format!(
            "keys {} and {} have the same height along a random direction",
            pair[0], pair[1]
        ))
        .fix("give every fact its own key"));
    }
    let wanted = facts.by_key(outputs);
    let mut down = Array2::zeros((facts.dimension(), facts.len()));
    let mut bias = Array1::zeros(facts.len());
    let (mut slope, mut value) = (Array1::<f64>::zeros(facts.dimension()), Array1::<f64>::zeros(facts.dimension()));
    let mut before =
        heights[order[0]] - 2.0 * (heights[order[facts.len() - 1]] - heights[order[0]]).max(1.0) / facts.len() as f64;
    for (unit, &key) in order.iter().enumerate() {
        let (height, threshold) = (heights[key], 0.5 * (before + heights[key]));
        // Without a new bend the line would come to `value` here; the bend makes up the difference.
        value.scaled_add(height - before, &slope);
        let bend = (&wanted.row(key) - &value) / (height - threshold);
        down.column_mut(unit).assign(&bend);
        bias[unit] = -threshold;
        slope += &bend;
        value.assign(&wanted.row(key));
        before = height;
    }
    let weights = Array2::from_shape_fn((facts.len(), facts.dimension()), |(_, axis)| direction[axis]);
    Ok(PlainMlp { weights, bias: Some(bias), down, output_bias: None, activation: Activation::Relu })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_many_to_one;
    use crate::mlp::network::Mlp;
    use crate::rng::StreamName;

    fn facts(kind: Kind) -> FactSet {
        let mut rng = StreamName::new("test").rng();
        let keys = draw(kind, 64, 16, &mut rng).unwrap();
        let values = draw(Kind::Sphere, 40, 16, &mut rng).unwrap();
        FactSet::new(keys, values, random_many_to_one(64, 40, &mut rng)).unwrap()
    }

    #[test]
    fn keys_of_one_norm_open_their_own_unit_alone() {
        let facts = facts(Kind::Sphere);
        let mlp = Mlp::from(unit_norm(&facts, &facts.values).unwrap());
        let units = mlp.hidden_units(facts.keys.view(), 0..64);
        assert!(units.indexed_iter().all(|((key, unit), value)| (*value > 0.0) == (key == unit)));
        assert_eq!((mlp.stored(&facts), mlp.parameters()), (64, 2 * 64 * 16 + 64));
    }

    #[test]
    fn general_position_gives_the_outputs_exactly() {
        let facts = facts(Kind::Gaussian);
        let mlp = general_position(&facts, &facts.values, &mut StreamName::new("direction").rng()).unwrap();
        let difference = Mlp::from(mlp).forward(facts.keys.view()) - facts.by_key(&facts.values);
        assert!(difference.iter().all(|x| x.abs() < 1e-9));
    }

    #[test]
    fn keys_that_do_not_fit_are_refused() {
        let gaussian = facts(Kind::Gaussian);
        assert!(unit_norm(&gaussian, &gaussian.values).unwrap_err().to_string().contains("norms"));
        let mut twins = facts(Kind::Sphere);
        let twin = twins.keys.row(3).to_owned();
        twins.keys.row_mut(7).assign(&twin);
        assert!(unit_norm(&twins, &twins.values).unwrap_err().to_string().contains("equal"));
        let error = general_position(&twins, &twins.values, &mut StreamName::new("direction").rng()).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }
}
