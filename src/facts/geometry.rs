//! Plain measures of an embedding table.

use ndarray::Array2;

use super::embeddings::normalise_rows;
use crate::error::Result;
use crate::num::linalg::singular_values;
use crate::num::products::product;

/// Coherence: the largest `|cos(e_a, e_b)|` over pairs `a ≠ b` (2512.00207, A.1.4). 0 for a table of one row.
///
/// ```
/// use factsmith::facts::geometry::coherence;
/// use ndarray::array;
/// assert!((coherence(&array![[1.0, 0.0], [1.0, 1.0], [0.0, -2.0]]) - 0.5f64.sqrt()).abs() < 1e-15);
/// ```
pub fn coherence(table: &Array2<f64>) -> f64 {
    let mut unit = table.clone();
    normalise_rows(&mut unit);
    let mut largest = 0.0f64;
    const BLOCK: usize = 256;
    for start in (0..unit.nrows()).step_by(BLOCK) {
        let stop = (start + BLOCK).min(unit.nrows());
        let cosines = product(&unit.slice(ndarray::s![start..stop, ..]), &unit.t());
        for (offset, row) in cosines.rows().into_iter().enumerate() {
            for (other, cosine) in row.iter().enumerate() {
                if other != start + offset {
                    largest = largest.max(cosine.abs());
                }
            }
        }
    }
    largest.min(1.0)
}

/// Condition number: largest singular value over smallest; infinite for a table without full rank.
pub fn condition_number(table: &Array2<f64>) -> Result<f64> {
    let values = singular_values(table)?;
    let (largest, smallest) = (values[0], values[values.len() - 1]);
    Ok(if smallest <= f64::EPSILON * largest { f64::INFINITY } else { largest / smallest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn condition_numbers_of_known_tables() {
        assert!((condition_number(&array![[3.0, 0.0], [0.0, 0.5]]).unwrap() - 6.0).abs() < 1e-14);
        assert_eq!(condition_number(&array![[1.0, 1.0], [1.0, 1.0]]).unwrap(), f64::INFINITY);
    }

    #[test]
    fn coherence_ignores_scale_and_sign() {
        assert!((coherence(&array![[1.0, 0.0], [-7.0, 0.0]]) - 1.0).abs() < 1e-15);
        assert_eq!(coherence(&array![[1.0, 2.0]]), 0.0);
        for scale in [1e300, 1e-300] {
            let table = array![[1.0, 0.0], [1.0, 1.0]] * scale;
            assert!((coherence(&table) - 0.5f64.sqrt()).abs() < 1e-15);
        }
    }
}
