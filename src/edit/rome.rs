//! ROME: one rank-one update per altered fact (2202.05262, eq. 2; 2607.10034 and its released code).

use ndarray::Array2;

use super::{Edit, second_moments};
use crate::error::{Error, Result};
use crate::num::linalg::solve_semidefinite;

/// The update to add to the output matrix, d×h: `U = Σ_i δ_i·s_iᵀ/(k_iᵀs_i)` with `s_i = C⁻¹k_i` and `C = K₀K₀ᵀ/N₀`, the
/// second moments of the preserved facts' activations (`K₀` h×N₀). Each term alone gives its own fact exactly `δ_i` more and is
/// the least that does, measured on the preserved facts. Terms disturb each other: edits one after the other, without
/// computing residuals anew, add up to this sum.
///
/// ```
/// use factsmith::edit::{Edit, rome::rome};
/// use ndarray::array;
/// let (preserved, altered) = (array![[2.0, 0.0], [0.0, 1.0]], array![[1.0, 1.0]]);
/// let update = rome(&Edit { preserved: preserved.view(), altered: altered.view(), residuals: array![[5.0]].view() })?;
/// assert!((update - array![[1.0, 4.0]]).iter().all(|entry: &f64| entry.abs() < 1e-12));
/// # Ok::<(), factsmith::error::Error>(())
/// ```
///
/// # Errors
/// When shapes do not fit, a number is not finite, there are no preserved facts or their second moments are singular, or an
/// altered fact activates no unit.
pub fn rome(edit: &Edit) -> Result<Array2<f64>> {
    edit.check()?;
    let (preserved, hidden) = (edit.preserved.nrows(), edit.hidden());
    if preserved == 0 {
        return Err(Error::input("no preserved facts: ROME measures by them how much an update disturbs")
            .fix("preserve some facts, or edit by MEMIT or AlphaEdit"));
    }
    // The mean and the sum over facts give the same update.
    let solved = solve_semidefinite(&second_moments(edit.preserved)?, edit.altered.t())?;
    if solved.rank < hidden {
        return Err(Error::input(format!(
            "the second moments of {preserved} preserved facts have rank {} in {hidden} hidden units, and ROME inverts them",
            solved.rank
        ))
        .fix("preserve more facts, or edit by MEMIT or AlphaEdit"));
    }
    let mut directions = solved.solution;
    for (fact, (mut direction, key)) in directions.columns_mut().into_iter().zip(edit.altered.rows()).enumerate() {
        let reach = key.dot(&direction);
        if reach <= 0.0 {
            return Err(Error::input(format!("altered fact {fact} activates no hidden unit"))
                .fix("leave it out: no change of the output matrix reaches it"));
        }
        direction /= reach;
    }
    Ok(edit.residuals.t().dot(&directions.t()))
}

#[cfg(test)]
mod tests {
    use ndarray::{Axis, s};

    use super::super::tests::{Drawn, difference, inverse};
    use super::*;

    /// Edits one after the other, as they are written down.
    fn one_by_one(drawn: &Drawn) -> Array2<f64> {
        let k0 = drawn.preserved.t();
        let inverse = inverse(&(k0.dot(&k0.t()) / k0.ncols() as f64));
        let mut update = Array2::zeros((drawn.residuals.ncols(), k0.nrows()));
        for (key, residual) in drawn.altered.rows().into_iter().zip(drawn.residuals.rows()) {
            let direction = inverse.dot(&key);
            let scaled = residual.mapv(|entry| entry / key.dot(&direction)).insert_axis(Axis(1));
            update += &scaled.dot(&direction.insert_axis(Axis(0)));
        }
        update
    }

    #[test]
    fn the_sum_is_that_of_edits_one_after_the_other() {
        let drawn = Drawn::new(40, 12, 8);
        assert!(difference(rome(&drawn.edit()).unwrap().view(), one_by_one(&drawn).view()) < 1e-12);
    }

    #[test]
    fn one_fact_gets_its_residual_exactly() {
        let drawn = Drawn::new(40, 1, 8);
        let update = rome(&drawn.edit()).unwrap();
        assert!(difference(drawn.altered.dot(&update.t()).view(), drawn.residuals.view()) < 1e-13);
    }

    #[test]
    fn one_fact_disturbs_the_preserved_ones_less_than_any_other_update_that_serves_it() {
        let drawn = Drawn::new(40, 1, 8);
        let update = rome(&drawn.edit()).unwrap();
        let harm = |update: &Array2<f64>| drawn.preserved.dot(&update.t()).iter().map(|x| x * x).sum::<f64>();
        let key = drawn.altered.row(0);
        let plain = drawn.residuals.t().dot(&drawn.altered) / key.dot(&key);
        assert!(difference(drawn.altered.dot(&plain.t()).view(), drawn.residuals.view()) < 1e-13);
        for share in [0.1, 0.5, 1.0] {
            assert!(harm(&update) < harm(&(&update * (1.0 - share) + &plain * share)));
        }
    }

    #[test]
    fn what_cannot_be_inverted_is_told_with_its_rank() {
        let error = rome(&Drawn::new(6, 2, 8).edit()).unwrap_err();
        assert!(error.to_string().contains("rank 6 in 8 hidden units"), "{error}");
        assert!(rome(&Drawn::new(0, 2, 8).edit()).unwrap_err().to_string().contains("no preserved facts"));
        let mut drawn = Drawn::new(40, 2, 8);
        drawn.altered.slice_mut(s![1, ..]).fill(0.0);
        assert!(rome(&drawn.edit()).unwrap_err().to_string().contains("altered fact 1 activates no hidden unit"));
    }
}
