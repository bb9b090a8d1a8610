//! Random embedding tables.

use ndarray::{Array2, Axis};
use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::rng::Rng;

/// How the rows of a table are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Uniform on the unit sphere (2512.00207, A.1.1): a Gaussian row divided by its norm.
    Sphere,
    /// Independent standard normal entries.
    Gaussian,
    /// Independent entries uniform on [0, 1).
    Uniform,
}

/// Draws a table of `count` rows in `dimension` dimensions.
///
/// ```
/// use factsmith::facts::embeddings::{Kind, draw};
/// use factsmith::rng::StreamName;
/// let keys = draw(Kind::Sphere, 100, 16, &mut StreamName::new("doc").rng()).unwrap();
/// assert_eq!(keys.dim(), (100, 16));
/// assert!((keys.row(3).dot(&keys.row(3)) - 1.0).abs() < 1e-12);
/// ```
///
/// # Errors
/// When `count` or `dimension` is 0.
pub fn draw(kind: Kind, count: usize, dimension: usize, rng: &mut Rng) -> Result<Array2<f64>> {
    if count == 0 || dimension == 0 {
        return Err(Error::input(format!("an embedding table of {count} rows in {dimension} dimensions is empty"))
            .fix("use at least one row and one dimension"));
    }
    let shape = (count, dimension);
    Ok(match kind {
        Kind::Uniform => Array2::from_shape_simple_fn(shape, || rng.random::<f64>()),
        Kind::Gaussian => gaussian(shape, rng),
        Kind::Sphere => {
            let mut table = gaussian(shape, rng);
            normalise_rows(&mut table);
            table
        }
    })
}

/// A matrix of independent standard normal entries, drawn row by row.
pub fn gaussian(shape: (usize, usize), rng: &mut Rng) -> Array2<f64> {
    Array2::from_shape_simple_fn(shape, || StandardNormal.sample(rng))
}

/// Divides every row by its Euclidean norm; a row of zeros stays as it is.
pub fn normalise_rows(table: &mut Array2<f64>) {
    for mut row in table.axis_iter_mut(Axis(0)) {
        let mut norm = row.dot(&row).sqrt();
        if !(1e-140..1e140).contains(&norm) {
            // Squares overflowed or vanished: bring the largest entry to 1 first.
            let largest = row.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            if largest == 0.0 {
                continue;
            }
            row /= largest;
            norm = row.dot(&row).sqrt();
        }
        row /= norm;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamName;

    #[test]
    fn moments_are_those_of_the_distribution() {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Gaussian, 400, 50, &mut rng).unwrap();
        assert!(table.mean().unwrap().abs() < 0.03 && (table.var(0.0) - 1.0).abs() < 0.03);
        let table = draw(Kind::Uniform, 400, 50, &mut rng).unwrap();
        assert!((table.mean().unwrap() - 0.5).abs() < 0.01 && (table.var(0.0) - 1.0 / 12.0).abs() < 0.003);
        let table = draw(Kind::Sphere, 400, 50, &mut rng).unwrap();
        assert!((table.var(0.0) - 1.0 / 50.0).abs() < 1e-3);
    }

    #[test]
    fn an_empty_table_is_refused() {
        let mut rng = StreamName::new("test").rng();
        assert_eq!(draw(Kind::Sphere, 0, 4, &mut rng).unwrap_err().exit_code(), 2);
    }
}
