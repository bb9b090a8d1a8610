//! AlphaEdit: an update within the directions that the preserved facts hardly use (2410.02355; 2607.10034 and its released code).

use ndarray::{Array2, s};

use super::{Edit, second_moments};
use crate::error::{Error, Result};
use crate::num::linalg::{solve_positive_definite, symmetric_eigen};

/// An update, and how much room it had.
#[derive(Debug, Clone)]
pub struct AlphaEdit {
    /// To add to the output matrix, d×h.
    pub update: Array2<f64>,
    /// Dimension of the space that is left to edits; where it is 0, the update is exactly 0 and edits nothing.
    pub null_dimensions: usize,
}

/// The update `U = R·K₁ᵀP·(K₁K₁ᵀP + I)⁻¹`, with one column per fact in the paper's `K₀` (h×N₀), `K₁` (h×N₁) and `R` (d×N₁).
/// `P = U₀U₀ᵀ` projects on the eigenvectors of `K₀K₀ᵀ` (the sum, not the mean) with an eigenvalue below `tolerance`; without
/// preserved facts P is the identity.
///
/// Solved in coordinates of that space of dimension q: `U = R·Yᵀ·(Y·Yᵀ + I)⁻¹·U₀ᵀ` with `Y = U₀ᵀK₁` (q×N₁), which is the same.
///
/// ```
/// use factsmith::edit::{Edit, alpha_edit::alpha_edit};
/// use ndarray::array;
/// let (preserved, altered, residuals) = (array![[1.0, 0.0]], array![[1.0, 3.0]], array![[2.0]]);
/// let edit = Edit { preserved: preserved.view(), altered: altered.view(), residuals: residuals.view() };
/// let found = alpha_edit(&edit, 0.01)?;
/// assert_eq!(found.null_dimensions, 1);
/// assert!((found.update - array![[0.0, 0.6]]).iter().all(|entry: &f64| entry.abs() < 1e-12));
/// # Ok::<(), factsmith::error::Error>(())
/// ```
///
/// # Errors
/// When shapes do not fit, a number is not finite, or the tolerance is not positive.
pub fn alpha_edit(edit: &Edit, tolerance: f64) -> Result<AlphaEdit> {
    edit.check()?;
    if !(tolerance > 0.0 && tolerance.is_finite()) {
        return Err(Error::input(format!("the tolerance is {tolerance}")).fix("use a number above 0"));
    }
    let null_space = null_space(edit, tolerance)?;
    let coordinates = edit.altered.dot(&null_space);
    let mut matrix = second_moments(coordinates.view())?;
    matrix.diag_mut().mapv_inplace(|entry| entry + 1.0);
    let null_dimensions = null_space.ncols();
    if null_dimensions == 0 {
        let update = Array2::zeros((edit.residuals.ncols(), edit.hidden()));
        return Ok(AlphaEdit { update, null_dimensions });
    }
    let solved = solve_positive_definite(&matrix, coordinates.t().dot(&edit.residuals).view())?;
    Ok(AlphaEdit { update: solved.t().dot(&null_space.t()), null_dimensions })
}

/// `U₀`, h×q: an orthonormal basis of what the preserved facts hardly use.
fn null_space(edit: &Edit, tolerance: f64) -> Result<Array2<f64>> {
    if edit.preserved.nrows() == 0 {
        return Ok(Array2::eye(edit.hidden()));
    }
    let (eigenvalues, vectors) = symmetric_eigen(&second_moments(edit.preserved)?)?;
    let below = eigenvalues.iter().take_while(|eigenvalue| **eigenvalue < tolerance).count();
    Ok(vectors.slice(s![.., ..below]).to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Drawn, difference, inverse};
    use super::*;

    /// The formula as it stands, with the projection from a dense eigendecomposition.
    fn naive(drawn: &Drawn, tolerance: f64) -> Array2<f64> {
        let (k0, k1) = (drawn.preserved.t(), drawn.altered.t());
        let (eigenvalues, vectors) = symmetric_eigen(&k0.dot(&k0.t())).unwrap();
        let hidden = k1.nrows();
        let mut projection = Array2::zeros((hidden, hidden));
        for (eigenvalue, vector) in eigenvalues.iter().zip(vectors.columns()) {
            if *eigenvalue < tolerance {
                let column = vector.insert_axis(ndarray::Axis(1));
                projection += &column.dot(&column.t());
            }
        }
        let matrix = k1.dot(&k1.t()).dot(&projection) + Array2::<f64>::eye(hidden);
        drawn.residuals.t().dot(&k1.t()).dot(&projection).dot(&inverse(&matrix))
    }

    #[test]
    fn the_update_is_the_formula() {
        for (preserved, altered, tolerance) in [(30, 4, 12.0), (30, 20, 12.0), (5, 4, 2.5), (5, 20, 2.5)] {
            let drawn = Drawn::new(preserved, altered, 9);
            let found = alpha_edit(&drawn.edit(), tolerance).unwrap();
            assert!(found.null_dimensions > 0 && found.null_dimensions < 9, "{}", found.null_dimensions);
            assert!(difference(found.update.view(), naive(&drawn, tolerance).view()) < 1e-12);
        }
    }

    #[test]
    fn keys_outside_the_null_space_keep_their_outputs() {
        let drawn = Drawn::new(5, 4, 9);
        let found = alpha_edit(&drawn.edit(), 1e-6).unwrap();
        assert_eq!(found.null_dimensions, 4);
        assert!(drawn.preserved.dot(&found.update.t()).iter().all(|entry| entry.abs() < 1e-12));
        assert!(drawn.altered.dot(&found.update.t()).iter().any(|entry| entry.abs() > 0.1));
    }

    #[test]
    fn a_tolerance_below_every_eigenvalue_leaves_no_room_and_changes_nothing() {
        let drawn = Drawn::new(40, 4, 9);
        let found = alpha_edit(&drawn.edit(), 1e-3).unwrap();
        assert_eq!(found.null_dimensions, 0);
        assert_eq!(found.update, Array2::<f64>::zeros((5, 9)));
    }

    #[test]
    fn without_preserved_facts_the_projection_is_the_identity() {
        let drawn = Drawn::new(0, 4, 9);
        let found = alpha_edit(&drawn.edit(), 1.0).unwrap();
        let k1 = drawn.altered.t();
        let wanted = drawn.residuals.t().dot(&k1.t()).dot(&inverse(&(k1.dot(&k1.t()) + Array2::<f64>::eye(9))));
        assert_eq!(found.null_dimensions, 9);
        assert!(difference(found.update.view(), wanted.view()) < 1e-12);
    }

    #[test]
    fn a_tolerance_that_is_not_positive_is_refused() {
        for tolerance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(alpha_edit(&Drawn::new(9, 2, 4).edit(), tolerance).unwrap_err().exit_code(), 2);
        }
    }
}
