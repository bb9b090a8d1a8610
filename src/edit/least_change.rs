//! The least change of an output after which it decodes to another value.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rayon::prelude::*;

use crate::error::{Error, Result};

/// Rounds of adding rivals after which a value counts as one that cannot be decoded.
const ROUNDS: usize = 400;
/// Rivals added in a round.
const ADDED: usize = 8;
/// Passes over the rivals in a round.
const PASSES: usize = 200;
/// How far below the margin, as a share of it, a rival may stay.
const SLACK: f64 = 1e-6;

/// The shortest residual δ_i of each output y_i such that `⟨y_i + δ_i, v_t(i)⟩ ≥ ⟨y_i + δ_i, v_j⟩ + margin` for every `j ≠ t(i)`.
///
/// Shapes: `outputs (N×d)`, `values (n×d)`, `targets (N)`; result N×d. A quadratic programme for each output, solved over the few
/// rivals that bind, by Hildreth's method: one multiplier at a time, `δ = Σ_j α_j·(v_t − v_j)` with `α ≥ 0`. The published methods
/// descend on the cross-entropy for a number of steps instead, which depends on the lengths of outputs and values; this does not.
///
/// ```
/// use factsmith::edit::least_change::least_change;
/// use ndarray::array;
/// let values = array![[1.0, 0.0], [0.0, 1.0]];
/// let residual = least_change(array![[2.0, 1.0]].view(), values.view(), &[1], 1.0)?;
/// assert!((residual - array![[-1.0, 1.0]]).iter().all(|entry: &f64| entry.abs() < 1e-5));
/// # Ok::<(), factsmith::error::Error>(())
/// ```
///
/// # Errors
/// When no output gives a target the largest score by this margin; its number among the values is told.
pub fn least_change(
    outputs: ArrayView2<f64>,
    values: ArrayView2<f64>,
    targets: &[usize],
    margin: f64,
) -> Result<Array2<f64>> {
    let rows: Vec<Array1<f64>> = targets
        .par_iter()
        .enumerate()
        .map(|(place, target)| change_of_one(outputs.row(place), values, *target, margin))
        .collect::<Result<_>>()?;
    let mut residuals = Array2::zeros(outputs.raw_dim());
    residuals.axis_iter_mut(Axis(0)).zip(rows).for_each(|(mut residual, row)| residual.assign(&row));
    Ok(residuals)
}

/// A value that competes with the target: the direction `v_t − v_j`, its square, and its multiplier α.
struct Rival {
    value: usize,
    direction: Array1<f64>,
    square: f64,
    multiplier: f64,
}

fn change_of_one(output: ArrayView1<f64>, values: ArrayView2<f64>, target: usize, margin: f64) -> Result<Array1<f64>> {
    let mut aimed = output.to_owned();
    let mut rivals: Vec<Rival> = Vec::new();
    for _ in 0..ROUNDS {
        let scores = values.dot(&aimed);
        let lead = |value: usize| scores[target] - scores[value];
        let mut violated: Vec<usize> =
            (0..scores.len()).filter(|value| *value != target && lead(*value) < (1.0 - SLACK) * margin).collect();
        if violated.is_empty() {
            return Ok(aimed - output);
        }
        violated.sort_by(|a, b| lead(*a).total_cmp(&lead(*b)));
        violated.truncate(ADDED);
        for value in violated {
            if rivals.iter().all(|rival| rival.value != value) {
                let direction = &values.row(target) - &values.row(value);
                let square = direction.dot(&direction);
                if square == 0.0 {
                    return Err(Error::input(format!("values {target} and {value} are equal"))
                        .fix("a fact cannot be set to a value that is there twice: remove one of the two"));
                }
                rivals.push(Rival { value, direction, square, multiplier: 0.0 });
            }
        }
        settle(&mut aimed, &mut rivals, margin);
    }
    Err(Error::failure(format!("no output was found that decodes to value {target} by a margin of {margin:.1e}")).fix(
        "the value lies too deep among the others (factsmith measure tells how deep): set the fact to another one",
    ))
}

/// Moves `aimed` until every rival keeps the margin, to within rounding or the number of passes.
fn settle(aimed: &mut Array1<f64>, rivals: &mut [Rival], margin: f64) {
    for _ in 0..PASSES {
        let mut largest = 0.0f64;
        for rival in rivals.iter_mut() {
            let wanted = (margin - rival.direction.dot(aimed)) / rival.square;
            let step = wanted.max(-rival.multiplier);
            rival.multiplier += step;
            aimed.scaled_add(step, &rival.direction);
            largest = largest.max(step.abs() * rival.square);
        }
        if largest < SLACK / 2.0 * margin {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::decoding::margins;
    use crate::facts::embeddings::{Kind, draw};
    use crate::rng::StreamName;

    fn drawn(outputs: usize, values: usize) -> (Array2<f64>, Array2<f64>, Vec<usize>) {
        let mut rng = StreamName::new("test").rng();
        let values = draw(Kind::Sphere, values, 16, &mut rng).unwrap();
        let outputs = draw(Kind::Sphere, outputs, 16, &mut rng).unwrap();
        let targets = (0..outputs.nrows()).map(|place| 7 * place % values.nrows()).collect();
        (outputs, values, targets)
    }

    #[test]
    fn every_target_wins_by_the_margin() {
        let (outputs, values, targets) = drawn(20, 100);
        let residuals = least_change(outputs.view(), values.view(), &targets, 0.3).unwrap();
        let reached = margins((&outputs + &residuals).view(), values.view(), &targets);
        assert!(reached.iter().all(|margin| *margin > 0.3 * (1.0 - 2.0 * SLACK)), "{reached:?}");
    }

    /// By convexity, a shorter change that keeps the margins would shorten this one along the line between them; so would one
    /// nearby. Changes that keep the margins are drawn around the one found and pushed out until they do.
    #[test]
    fn no_change_that_keeps_the_margin_is_shorter() {
        let (outputs, values, targets) = drawn(6, 40);
        let residuals = least_change(outputs.view(), values.view(), &targets, 0.3).unwrap();
        let mut rng = StreamName::new("other changes").rng();
        let norm = |row: ArrayView1<f64>| row.dot(&row).sqrt();
        let mut compared = 0;
        for (place, residual) in residuals.rows().into_iter().enumerate() {
            for noise in draw(Kind::Sphere, 200, 16, &mut rng).unwrap().rows() {
                let other = &residual + &noise.mapv(|entry| 0.02 * entry);
                let aimed = (&outputs.row(place) + &other).insert_axis(Axis(0));
                if margins(aimed.view(), values.view(), &targets[place..=place])[0] >= 0.3 {
                    compared += 1;
                    assert!(norm(other.view()) > norm(residual) * (1.0 - 1e-5));
                }
            }
        }
        assert!(compared > 10, "{compared}");
    }

    #[test]
    fn an_output_that_wins_already_stays() {
        let (_, values, _) = drawn(1, 20);
        let residuals = least_change(values.slice(ndarray::s![3..4, ..]), values.view(), &[3], 1e-3).unwrap();
        assert!(residuals.iter().all(|entry| *entry == 0.0));
    }

    #[test]
    fn values_that_cannot_win_are_told() {
        let twin = ndarray::array![[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]];
        let output = ndarray::array![[0.3, 0.4]];
        let error = least_change(output.view(), twin.view(), &[0], 0.1).unwrap_err();
        assert!(error.to_string().contains("values 0 and 2 are equal"), "{error}");
        let within = ndarray::array![[0.1, 0.1], [1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]];
        let error = least_change(output.view(), within.view(), &[0], 0.1).unwrap_err();
        assert!(error.to_string().contains("decodes to value 0"), "{error}");
    }
}
