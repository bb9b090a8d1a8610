//! MEMIT: one least-squares problem over all facts (2210.07229, eq. 14; 2607.10034 and its released code).

use ndarray::Array2;

use super::{Edit, second_moments};
use crate::error::{Error, Result};
use crate::num::linalg::solve_semidefinite;
use crate::num::products::product;

/// The update to add to the output matrix, d×h: `U = R·K₁ᵀ·(λ·K₀K₀ᵀ/N₀ + K₁K₁ᵀ)⁻¹`, with one column per fact in the paper's
/// `K₀` (h×N₀), `K₁` (h×N₁) and `R` (d×N₁).
///
/// It minimises `λ/N₀·Σ‖U·k‖²` over the preserved plus `Σ‖U·k − r‖²` over the altered facts. Where the matrix is singular, as with
/// fewer facts than hidden units or without preserved facts, that has many solutions: this is the one of least norm.
///
/// ```
/// use factsmith::edit::{Edit, memit::memit};
/// use ndarray::array;
/// let (preserved, altered) = (array![[1.0, 0.0, 0.0]], array![[1.0, 1.0, 0.0]]);
/// let update = memit(&Edit { preserved: preserved.view(), altered: altered.view(), residuals: array![[3.0]].view() }, 1.0)?;
/// assert!((update - array![[0.0, 3.0, 0.0]]).iter().all(|entry: &f64| entry.abs() < 1e-12));
/// # Ok::<(), factsmith::error::Error>(())
/// ```
///
/// # Errors
/// When shapes do not fit, a number is not finite, or λ is negative.
pub fn memit(edit: &Edit, lambda: f64) -> Result<Array2<f64>> {
    edit.check()?;
    if !(lambda >= 0.0 && lambda.is_finite()) {
        return Err(Error::input(format!("lambda is {lambda}")).fix("use a number of at least 0"));
    }
    let mut moments = second_moments(edit.altered)?;
    let preserved = edit.preserved.nrows();
    if preserved > 0 {
        moments.scaled_add(lambda / preserved as f64, &second_moments(edit.preserved)?);
    }
    let rhs = product(&edit.altered.t(), &edit.residuals);
    Ok(solve_semidefinite(&moments, rhs.view())?.solution.reversed_axes())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Drawn, difference, inverse};
    use super::*;

    #[test]
    fn the_update_is_the_formula() {
        let drawn = Drawn::new(40, 12, 8);
        for lambda in [0.3, 150.0] {
            let (k0, k1) = (drawn.preserved.t(), drawn.altered.t());
            let matrix = k0.dot(&k0.t()) * (lambda / 40.0) + k1.dot(&k1.t());
            let wanted = drawn.residuals.t().dot(&k1.t()).dot(&inverse(&matrix));
            let found = memit(&drawn.edit(), lambda).unwrap();
            assert!(difference(found.view(), wanted.view()) < 1e-12);
        }
    }

    #[test]
    fn few_altered_facts_get_their_residuals_as_lambda_vanishes() {
        let drawn = Drawn::new(40, 5, 8);
        let off = |lambda: f64| {
            let update = memit(&drawn.edit(), lambda).unwrap();
            difference(drawn.altered.dot(&update.t()).view(), drawn.residuals.view())
        };
        assert!(off(1e-9) < 1e-7, "{}", off(1e-9));
        assert!(off(100.0) > 0.1, "a large lambda holds the update back");
    }

    #[test]
    fn a_large_lambda_spares_the_preserved_facts() {
        let drawn = Drawn::new(40, 5, 8);
        let harm = |lambda: f64| {
            let change = drawn.preserved.dot(&memit(&drawn.edit(), lambda).unwrap().t());
            change.iter().map(|entry| entry * entry).sum::<f64>()
        };
        assert!(harm(1e4) < 1e-4 * harm(1.0), "{} {}", harm(1e4), harm(1.0));
    }

    #[test]
    fn with_fewer_facts_than_units_every_residual_is_met_and_nothing_else_moves() {
        let drawn = Drawn::new(6, 5, 20);
        let update = memit(&drawn.edit(), 7.0).unwrap();
        assert!(difference(drawn.altered.dot(&update.t()).view(), drawn.residuals.view()) < 1e-10);
        assert!(drawn.preserved.dot(&update.t()).iter().all(|entry| entry.abs() < 1e-10));
        let rows = ndarray::concatenate![ndarray::Axis(0), drawn.preserved, drawn.altered];
        let within = rows.t().dot(&inverse(&rows.dot(&rows.t()))).dot(&rows.dot(&update.t()));
        assert!(difference(within.view(), update.t()) < 1e-10, "an update of least norm lies in the span of the facts");
    }

    #[test]
    fn no_preserved_facts_are_legal() {
        for altered in [5, 30] {
            let drawn = Drawn::new(0, altered, 8);
            let update = memit(&drawn.edit(), 1.0).unwrap();
            let k1 = drawn.altered.t();
            let wanted = if altered < 8 {
                drawn.residuals.t().dot(&inverse(&k1.t().dot(&k1))).dot(&k1.t())
            } else {
                drawn.residuals.t().dot(&k1.t()).dot(&inverse(&k1.dot(&k1.t())))
            };
            assert!(difference(update.view(), wanted.view()) < 1e-11);
        }
    }

    #[test]
    fn a_unit_that_is_never_active_stays_untouched() {
        let mut drawn = Drawn::new(40, 5, 8);
        drawn.preserved.column_mut(3).fill(0.0);
        drawn.altered.column_mut(3).fill(0.0);
        let update = memit(&drawn.edit(), 1.0).unwrap();
        assert!(update.column(3).iter().all(|entry| entry.abs() < 1e-14) && update.iter().all(|x| x.is_finite()));
    }

    #[test]
    fn a_negative_lambda_is_refused() {
        assert_eq!(memit(&Drawn::new(9, 2, 4).edit(), -1.0).unwrap_err().exit_code(), 2);
        assert_eq!(memit(&Drawn::new(9, 2, 4).edit(), f64::NAN).unwrap_err().exit_code(), 2);
    }
}
