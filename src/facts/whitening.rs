//! Whitening of embeddings with a strength, and folding it into an MLP.

use ndarray::Array2;

use super::files::check_table;
use crate::error::{Error, Result};
use crate::num::linalg::symmetric_eigen;

/// Added to the covariance, as a share of its largest eigenvalue, so that it can be inverted.
const RIDGE: f64 = 1e-12;

/// The symmetric map `W_α = Q·Λ^(−α/2)·Qᵀ` of the second moment `Σ = EᵀE/n + εI = Q·Λ·Qᵀ` (2512.00207, A.1.3).
///
/// `α = 0` changes nothing, `α = 1` makes the second moment the identity. `map` and `inverse` are d×d.
#[derive(Debug, Clone)]
pub struct Whitening {
    pub map: Array2<f64>,
    pub inverse: Array2<f64>,
}

impl Whitening {
    /// Fits `W_α` to a table (n×d).
    ///
    /// # Errors
    /// When `α` is outside [0, 1] or the table is empty or not finite.
    pub fn fit(table: &Array2<f64>, alpha: f64) -> Result<Self> {
        check_table("embeddings to whiten", table.view())?;
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Error::input(format!("a whitening strength of {alpha}")).fix("use a strength between 0 and 1"));
        }
        let covariance = table.t().dot(table) / table.nrows() as f64;
        let (eigenvalues, vectors) = symmetric_eigen(&covariance)?;
        let largest = eigenvalues.last().copied().unwrap_or(0.0);
        let ridged = eigenvalues.mapv(|eigenvalue| eigenvalue.max(0.0) + RIDGE * largest);
        if largest <= 0.0 {
            return Err(Error::input("all embeddings are zero and cannot be whitened"));
        }
        let power = |exponent: f64| (&vectors * &ridged.mapv(|eigenvalue| eigenvalue.powf(exponent))).dot(&vectors.t());
        Ok(Self { map: power(-0.5 * alpha), inverse: power(0.5 * alpha) })
    }

    /// `E·W_α`: the whitened table.
    pub fn apply(&self, table: &Array2<f64>) -> Array2<f64> {
        table.dot(&self.map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::conditioning::log_affine_spectrum;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::geometry::condition_number;
    use crate::rng::StreamName;

    fn table() -> Array2<f64> {
        let table = draw(Kind::Sphere, 64, 16, &mut StreamName::new("test").rng()).unwrap();
        log_affine_spectrum(&table, 100.0).unwrap()
    }

    #[test]
    fn full_strength_gives_the_identity_and_half_strength_the_root() {
        let full = Whitening::fit(&table(), 1.0).unwrap().apply(&table());
        assert!((condition_number(&full).unwrap() - 1.0).abs() < 1e-6);
        let half = Whitening::fit(&table(), 0.5).unwrap().apply(&table());
        assert!((condition_number(&half).unwrap() - 10.0).abs() < 1e-4);
        let none = Whitening::fit(&table(), 0.0).unwrap().apply(&table());
        assert!((none - table()).iter().all(|difference| difference.abs() < 1e-12));
    }

    #[test]
    fn the_inverse_inverts() {
        let whitening = Whitening::fit(&table(), 0.7).unwrap();
        let product = whitening.map.dot(&whitening.inverse) - Array2::<f64>::eye(16);
        assert!(product.iter().all(|entry| entry.abs() < 1e-9));
    }

    #[test]
    fn strengths_outside_the_range_are_refused() {
        for alpha in [-0.1, 1.1, f64::NAN] {
            assert_eq!(Whitening::fit(&table(), alpha).unwrap_err().exit_code(), 2);
        }
        assert!(Whitening::fit(&Array2::zeros((3, 2)), 1.0).is_err());
    }
}
