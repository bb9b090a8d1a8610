//! The staircase ("bin") encoder gadget: exact, with step gates along one direction.
//!
//! Keys are sorted along a random direction `z` and cut into bins of at most `b ≤ d` keys. Gate q opens above the threshold
//! between bins q−1 and q, so a key of bin q sees gates 0…q open. Each bin has its own linear map `s_q` (least norm solution of
//! `K_bin·s_q = o_bin`), and gate q carries the step `a_q = s_q − s_(q−1)`: the sum telescopes to `s_bin(k)·k = o`. O(F·d²) time.

use ndarray::{Array1, Array2, ArrayView2, Axis};

use super::gated::{Activation, GatedMlp};
use crate::error::{Error, Result};
use crate::facts::embeddings::gaussian;
use crate::num::linalg::least_norm_solution;
use crate::rng::Rng;

/// Share of `d` that a bin holds: full bins are badly conditioned (up to 1e3), three quarters are not (below 15).
const FILL: f64 = 0.75;

/// A staircase: gate q opens where `⟨direction, x⟩` exceeds `thresholds[q]` and adds the map `steps[q]` (d×m).
#[derive(Debug, Clone)]
pub struct Staircase {
    pub direction: Array1<f64>,
    pub thresholds: Vec<f64>,
    pub steps: Vec<Array2<f64>>,
}

/// Fits a staircase to `outputs (F×m)` on `keys (F×d)`, m·⌈F/b⌉ hidden units as an MLP.
///
/// # Errors
/// When keys of one bin are linearly dependent, or two keys at the border of two bins have the same height along `z`.
pub fn fit(keys: &Array2<f64>, outputs: ArrayView2<f64>, rng: &mut Rng) -> Result<Staircase> {
    let (facts, dimension) = keys.dim();
    let direction = gaussian((1, dimension), rng).row(0).to_owned();
    let heights = keys.dot(&direction);
    let mut order: Vec<usize> = (0..facts).collect();
    order.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]));
    let bin = ((FILL * dimension as f64) as usize).clamp(1, dimension);
    let bins: Vec<&[usize]> = order.chunks(bin).collect();
    let mut staircase = Staircase { direction, thresholds: Vec::new(), steps: Vec::new() };
    let mut previous = Array2::<f64>::zeros((dimension, outputs.ncols()));
    for (step, members) in bins.iter().enumerate() {
        let maps = least_norm_solution(&keys.select(Axis(0), members), outputs.select(Axis(0), members).view())?;
        staircase.thresholds.push(threshold(&heights, step.checked_sub(1).map(|before| bins[before]), members)?);
        staircase.steps.push(&maps - &previous);
        previous = maps;
    }
    Ok(staircase)
}

impl Staircase {
    /// Number of outputs m.
    pub fn outputs(&self) -> usize {
        self.steps[0].ncols()
    }

    /// The staircase as an MLP with step gates and m outputs: hidden unit j·r + q is step q of output j.
    pub fn mlp(&self) -> GatedMlp {
        self.under(&Array2::eye(self.outputs()))
    }

    /// The staircase under a decoder (d×m).
    pub fn under(&self, decoder: &Array2<f64>) -> GatedMlp {
        let (count, steps, dimension) = (self.outputs(), self.steps.len(), self.direction.len());
        let unit = |unit: usize| (unit / steps, unit % steps);
        GatedMlp {
            gate: Array2::from_shape_fn((count * steps, dimension), |(_, axis)| self.direction[axis]),
            gate_bias: Some(Array1::from_shape_fn(count * steps, |row| -self.thresholds[unit(row).1])),
            up: Array2::from_shape_fn((count * steps, dimension), |(row, axis)| {
                let (output, step) = unit(row);
                self.steps[step][[axis, output]]
            }),
            down: Array2::from_shape_fn((decoder.nrows(), count * steps), |(row, of)| decoder[[row, unit(of).0]]),
            activation: Activation::Step,
        }
    }
}

fn threshold(heights: &Array1<f64>, before: Option<&[usize]>, members: &[usize]) -> Result<f64> {
    let lowest = heights[members[0]];
    let Some(last) = before.and_then(|bin| bin.last()) else { return Ok(lowest - 1.0) };
    let middle = 0.5 * (heights[*last] + lowest);
    if heights[*last] < middle && middle <= lowest {
        // A key on the threshold would be shut out: the gate opens strictly above it.
        return Ok(if middle == lowest { heights[*last] } else { middle });
    }
    Err(Error::input(format!("keys {last} and {} cannot be told apart along a random direction", members[0]))
        .fix("remove duplicate keys"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    #[test]
    fn the_staircase_is_exact() {
        for (facts, dimension, outputs) in [(64, 16, 1), (257, 32, 3), (5, 8, 2)] {
            let mut rng = StreamName::new("test").with(facts as u64).rng();
            let keys = draw(Kind::Sphere, facts, dimension, &mut rng).unwrap();
            let wanted = draw(Kind::Gaussian, facts, outputs, &mut rng).unwrap();
            let mlp = fit(&keys, wanted.view(), &mut rng).unwrap().mlp();
            let difference = mlp.forward(keys.view()) - &wanted;
            assert!(difference.iter().all(|x| x.abs() < 1e-11), "{difference}");
            assert_eq!(mlp.hidden(), outputs * facts.div_ceil(dimension * 3 / 4));
        }
    }

    #[test]
    fn equal_keys_are_an_error() {
        let keys = Array2::<f64>::ones((8, 4));
        assert!(fit(&keys, Array2::zeros((8, 1)).view(), &mut StreamName::new("test").rng()).is_err());
    }
}
