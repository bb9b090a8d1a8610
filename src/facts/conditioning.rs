//! Anisotropic embeddings: tables with a prescribed condition number or a spike.

use ndarray::{Array1, Array2, ArrayView1};

use super::embeddings::normalise_rows;
use crate::error::{Error, Result};
use crate::num::linalg::thin_svd;

fn check_condition(kappa: f64) -> Result<()> {
    if kappa.is_finite() && kappa >= 1.0 {
        return Ok(());
    }
    Err(Error::input(format!("a condition number of {kappa}")).fix("use a finite condition number of at least 1"))
}

fn with_spectrum(table: &Array2<f64>, spectrum: impl Fn(&Array1<f64>) -> Result<Array1<f64>>) -> Result<Array2<f64>> {
    let (left, values, right) = thin_svd(table)?;
    if values.last().is_none_or(|smallest| *smallest <= 1e-12 * values[0]) {
        return Err(Error::input("the table has not full rank, so its condition number cannot be set")
            .fix("use at least as many rows as dimensions, in general position"));
    }
    Ok((left * &spectrum(&values)?).dot(&right))
}

/// Sets the condition number by log-affine rescaling of the singular values (2512.00207, A.1.1).
///
/// `log σ'_i = log σ_max − log κ · (log σ_max − log σ_i) / (log σ_max − log σ_min)`: the largest singular value and all
/// singular vectors stay, the smallest becomes `σ_max / κ`. Shapes: `(n×d) → (n×d)`.
///
/// ```
/// use factsmith::facts::conditioning::log_affine_spectrum;
/// use factsmith::facts::geometry::condition_number;
/// use ndarray::array;
/// let table = array![[3.0, 0.0], [0.0, 2.0], [1.0, 1.0]];
/// let stretched = log_affine_spectrum(&table, 100.0).unwrap();
/// assert!((condition_number(&stretched).unwrap() - 100.0).abs() < 1e-9);
/// ```
///
/// # Errors
/// When `kappa < 1` or not finite, or the table has not full rank.
pub fn log_affine_spectrum(table: &Array2<f64>, kappa: f64) -> Result<Array2<f64>> {
    check_condition(kappa)?;
    with_spectrum(table, |values| {
        let (largest, smallest) = (values[0], values[values.len() - 1]);
        let spread = (largest / smallest).ln();
        if spread == 0.0 {
            return if kappa == 1.0 {
                Ok(values.clone())
            } else {
                Err(Error::input("all singular values are equal: no rescaling gives another condition number"))
            };
        }
        Ok(values.mapv(|value| largest * (-(kappa.ln()) * (largest / value).ln() / spread).exp()))
    })
}

/// Sets the condition number with singular values linear from 1 to `1/κ`, Frobenius norm kept (2607.10034, reference code).
///
/// # Errors
/// When `kappa < 1` or not finite, or the table has not full rank.
pub fn linear_spectrum(table: &Array2<f64>, kappa: f64) -> Result<Array2<f64>> {
    check_condition(kappa)?;
    with_spectrum(table, |values| {
        let line = Array1::linspace(1.0, 1.0 / kappa, values.len());
        let scale = (values.dot(values) / line.dot(&line)).sqrt();
        Ok(line * scale)
    })
}

/// The rank-one spike `e' = e + β⟨e, u⟩u`, rows made unit again (2607.10034): `β = 0` changes nothing, larger values pull
/// all rows towards the line of the unit vector `u`.
///
/// # Errors
/// When `beta < 0` or not finite, or `direction` has another dimension than the table.
pub fn spike(table: &Array2<f64>, beta: f64, direction: ArrayView1<f64>) -> Result<Array2<f64>> {
    if !(beta.is_finite() && beta >= 0.0) {
        return Err(Error::input(format!("a spike of strength {beta}")).fix("use a finite strength of at least 0"));
    }
    if direction.len() != table.ncols() {
        return Err(Error::input(format!(
            "a spike direction of {} dimensions for embeddings of {}",
            direction.len(),
            table.ncols()
        )));
    }
    let mut spiked = table.clone();
    if beta == 0.0 {
        return Ok(spiked);
    }
    let unit = &direction / direction.dot(&direction).sqrt();
    for mut row in spiked.rows_mut() {
        let along = beta * row.dot(&unit);
        row.scaled_add(along, &unit);
    }
    normalise_rows(&mut spiked);
    Ok(spiked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::geometry::condition_number;
    use crate::num::linalg::singular_values;
    use crate::rng::StreamName;

    fn table() -> Array2<f64> {
        draw(Kind::Sphere, 64, 16, &mut StreamName::new("test").rng()).unwrap()
    }

    #[test]
    fn log_affine_keeps_the_largest_and_sets_the_smallest() {
        let before = singular_values(&table()).unwrap();
        for kappa in [1.0, 10.0, 1e4] {
            let after = singular_values(&log_affine_spectrum(&table(), kappa).unwrap()).unwrap();
            assert!((after[0] / before[0] - 1.0).abs() < 1e-12);
            assert!((after[0] / after[15] / kappa - 1.0).abs() < 1e-9);
            let slope = |i: usize| (after[0] / after[i]).ln() / (before[0] / before[i]).ln();
            assert!((slope(3) - slope(11)).abs() < 1e-9, "log-affine means one slope for all");
        }
    }

    #[test]
    fn linear_keeps_the_frobenius_norm() {
        let conditioned = linear_spectrum(&table(), 10.0).unwrap();
        let norm = |table: &Array2<f64>| table.iter().map(|x| x * x).sum::<f64>();
        assert!((norm(&conditioned) / norm(&table()) - 1.0).abs() < 1e-12);
        let values = singular_values(&conditioned).unwrap();
        assert!(((values[0] - values[1]) - (values[13] - values[14])).abs() < 1e-12);
        assert!((condition_number(&conditioned).unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn the_spike_stretches_along_its_direction() {
        let direction = draw(Kind::Gaussian, 1, 16, &mut StreamName::new("spike").rng()).unwrap();
        let spiked = spike(&table(), 5.0, direction.row(0)).unwrap();
        let unit = &direction.row(0) / direction.row(0).dot(&direction.row(0)).sqrt();
        let along = |table: &Array2<f64>| table.dot(&unit).mapv(f64::abs).mean().unwrap();
        assert!(along(&spiked) > 2.0 * along(&table()));
        assert_eq!(spike(&table(), 0.0, direction.row(0)).unwrap(), table());
    }

    #[test]
    fn impossible_requests_are_refused() {
        for kappa in [0.5, f64::NAN, f64::INFINITY] {
            assert_eq!(log_affine_spectrum(&table(), kappa).unwrap_err().exit_code(), 2);
            assert_eq!(linear_spectrum(&table(), kappa).unwrap_err().exit_code(), 2);
        }
        assert!(spike(&table(), -1.0, Array1::ones(16).view()).is_err());
        assert!(spike(&table(), 1.0, Array1::ones(15).view()).is_err());
        assert!(log_affine_spectrum(&Array2::ones((8, 4)), 10.0).is_err(), "rank one");
    }
}
