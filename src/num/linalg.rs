//! The only place that calls LAPACK.
//!
//! Decompositions are LAPACK's, through ndarray-linalg and OpenBLAS. Matrix products that take time are made in
//! [`super::products`], others by ndarray's `dot` on its own kernels (the matrixmultiply crate), none by BLAS: Debian 12's OpenBLAS
//! 0.3.21 takes processors newer than itself for a Prescott, and then multiplies at 25 GFLOP/s where matrixmultiply reaches 140
//! (one core, single precision, 1024³). OpenBLAS is held to one thread: cells run beside each other, and a result must not depend
//! on how many.

use std::sync::Once;

use ndarray::{Array1, Array2, ArrayView2, s};
use ndarray_linalg::{Cholesky, Diag, Eigh, JobSvd, SVDDC, SolveTriangular, UPLO};

use crate::error::{Error, Result};

unsafe extern "C" {
    fn openblas_set_num_threads(threads: std::ffi::c_int);
    fn openblas_get_corename() -> *const std::ffi::c_char;
    fn openblas_get_config() -> *const std::ffi::c_char;
}

/// Holds OpenBLAS to one thread; only the first call acts.
fn single_thread() {
    static ONCE: Once = Once::new();
    // SAFETY: the function of the linked OpenBLAS takes a plain int and may be called at any time.
    ONCE.call_once(|| unsafe { openblas_set_num_threads(1) });
}

/// The linked OpenBLAS and the processor kernel that it chose, for receipts: results can differ in the last bits between
/// kernels.
pub fn blas() -> String {
    // SAFETY: OpenBLAS returns pointers to static, zero-terminated strings.
    let text = |pointer| unsafe { std::ffi::CStr::from_ptr(pointer) }.to_string_lossy().into_owned();
    // SAFETY: both functions of the linked OpenBLAS take nothing and may be called at any time.
    let (config, kernel) = unsafe { (text(openblas_get_config()), text(openblas_get_corename())) };
    let version: Vec<&str> = config.split_whitespace().take(2).collect();
    format!("{}, kernel {kernel}", version.join(" "))
}

fn failed(operation: &str, error: impl std::fmt::Display) -> Error {
    Error::failure(format!("{operation} failed: {error}"))
}

/// Thin singular value decomposition `table = left · diag(values) · right`, values descending.
///
/// Shapes: `table (n×d)`, `left (n×r)`, `values (r)`, `right (r×d)` with `r = min(n, d)`. LAPACK `gesdd`.
pub fn thin_svd(table: &Array2<f64>) -> Result<(Array2<f64>, Array1<f64>, Array2<f64>)> {
    single_thread();
    let (left, values, right) =
        table.svddc(JobSvd::Some).map_err(|error| failed("singular value decomposition", error))?;
    match (left, right) {
        (Some(left), Some(right)) => Ok((left, values, right)),
        _ => Err(failed("singular value decomposition", "LAPACK returned no vectors")),
    }
}

/// Singular values, descending.
pub fn singular_values(table: &Array2<f64>) -> Result<Array1<f64>> {
    single_thread();
    table
        .svddc(JobSvd::None)
        .map(|(_, values, _)| values)
        .map_err(|error| failed("singular value decomposition", error))
}

/// Eigenvalues (ascending) and eigenvectors (columns) of a symmetric matrix.
pub fn symmetric_eigen(matrix: &Array2<f64>) -> Result<(Array1<f64>, Array2<f64>)> {
    single_thread();
    matrix.eigh(UPLO::Lower).map_err(|error| failed("symmetric eigendecomposition", error))
}

/// Solves `matrix · x = rhs` for a symmetric positive definite matrix: `matrix (n×n)`, `rhs (n×k)`, one factorisation.
///
/// # Errors
/// When the matrix is not positive definite to working precision.
pub fn solve_positive_definite(matrix: &Array2<f64>, rhs: ArrayView2<f64>) -> Result<Array2<f64>> {
    single_thread();
    let lower = matrix.cholesky(UPLO::Lower).map_err(|error| failed("Cholesky factorisation", error))?;
    solve_factored(&lower, rhs)
}

/// Solves `L·Lᵀ · x = rhs`.
fn solve_factored(lower: &Array2<f64>, rhs: ArrayView2<f64>) -> Result<Array2<f64>> {
    let halfway = lower
        .solve_triangular(UPLO::Lower, Diag::NonUnit, &rhs.to_owned())
        .map_err(|error| failed("triangular solve", error))?;
    lower
        .t()
        .to_owned()
        .solve_triangular(UPLO::Upper, Diag::NonUnit, &halfway)
        .map_err(|error| failed("triangular solve", error))
}

/// A solution, and how many dimensions its matrix spans to working precision.
#[derive(Debug, Clone)]
pub struct Solved {
    pub solution: Array2<f64>,
    pub rank: usize,
}

/// The least-squares solution of least norm of `matrix · x = rhs` for a symmetric positive semidefinite matrix: `matrix (n×n)`,
/// `rhs (n×k)`. By Cholesky; where a pivot says that the matrix is singular, by eigenvectors, without those whose eigenvalue is
/// below `n·ε` of the largest.
pub fn solve_semidefinite(matrix: &Array2<f64>, rhs: ArrayView2<f64>) -> Result<Solved> {
    single_thread();
    let size = matrix.nrows();
    let negligible = size as f64 * f64::EPSILON;
    let largest = matrix.diag().fold(0.0f64, |a, b| a.max(*b));
    if let Ok(lower) = matrix.cholesky(UPLO::Lower)
        && lower.diag().iter().all(|pivot| pivot * pivot > negligible * largest)
    {
        return Ok(Solved { solution: solve_factored(&lower, rhs)?, rank: size });
    }
    let (eigenvalues, vectors) = symmetric_eigen(matrix)?;
    let least = negligible * eigenvalues.last().copied().unwrap_or(0.0);
    let rank = eigenvalues.iter().filter(|eigenvalue| **eigenvalue > least).count();
    let vectors = vectors.slice(s![.., size - rank..]);
    let mut coefficients = vectors.t().dot(&rhs);
    for (mut row, eigenvalue) in coefficients.rows_mut().into_iter().zip(eigenvalues.slice(s![size - rank..])) {
        row /= *eigenvalue;
    }
    Ok(Solved { solution: vectors.dot(&coefficients), rank })
}

/// The solution of least Euclidean norm of `matrix · x = rhs`: `matrix (n×d)` with `n ≤ d` rows in general position,
/// `rhs (n×k)`, result `(d×k)`. By SVD; singular values below `1e-13` of the largest are an error.
pub fn least_norm_solution(matrix: &Array2<f64>, rhs: ArrayView2<f64>) -> Result<Array2<f64>> {
    let (left, values, right) = thin_svd(matrix)?;
    let largest = values.first().copied().unwrap_or(0.0);
    if let Some(rank) = values.iter().position(|value| *value <= 1e-13 * largest) {
        return Err(Error::input(format!("{} rows span only {rank} dimensions", matrix.nrows()))
            .fix("remove duplicate or linearly dependent keys"));
    }
    let mut coefficients = left.t().dot(&rhs);
    for (mut row, value) in coefficients.rows_mut().into_iter().zip(&values) {
        row /= *value;
    }
    Ok(right.t().dot(&coefficients))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_positive_definite_solve_solves() {
        let matrix = array![[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]];
        let rhs = array![[1.0, 0.0], [2.0, 1.0], [3.0, -1.0]];
        let solution = solve_positive_definite(&matrix, rhs.view()).unwrap();
        let residual = matrix.dot(&solution) - &rhs;
        assert!(residual.iter().all(|value| value.abs() < 1e-14), "{residual}");
    }

    #[test]
    fn an_indefinite_matrix_is_an_error() {
        assert!(solve_positive_definite(&array![[1.0, 2.0], [2.0, 1.0]], array![[1.0], [1.0]].view()).is_err());
    }

    #[test]
    fn a_singular_matrix_gets_the_solution_of_least_norm_and_its_rank() {
        let rows = array![[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]];
        let rhs = rows.t().dot(&array![[1.0], [2.0]]);
        let found = solve_semidefinite(&rows.t().dot(&rows), rhs.view()).unwrap();
        assert_eq!(found.rank, 2);
        let wanted = least_norm_solution(&rows, array![[1.0], [2.0]].view()).unwrap();
        assert!((found.solution - wanted).iter().all(|value: &f64| value.abs() < 1e-13));
        let whole = array![[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]];
        let found = solve_semidefinite(&whole, rhs.view()).unwrap();
        assert_eq!(found.rank, 3);
        assert!((whole.dot(&found.solution) - rhs).iter().all(|value: &f64| value.abs() < 1e-14));
        assert_eq!(solve_semidefinite(&Array2::zeros((2, 2)), array![[1.0], [1.0]].view()).unwrap().rank, 0);
    }

    #[test]
    fn the_least_norm_solution_solves_and_is_least() {
        let matrix = array![[1.0, 2.0, 3.0], [0.0, 1.0, -1.0]];
        let rhs = array![[1.0], [2.0]];
        let solution = least_norm_solution(&matrix, rhs.view()).unwrap();
        let residual = matrix.dot(&solution) - &rhs;
        assert!(residual.iter().all(|value| value.abs() < 1e-14));
        let kernel = array![[5.0], [-1.0], [-1.0]];
        assert!(solution.t().dot(&kernel)[[0, 0]].abs() < 1e-13, "a solution of least norm has no part in the kernel");
    }

    #[test]
    fn dependent_rows_are_an_error() {
        let matrix = array![[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]];
        assert!(
            least_norm_solution(&matrix, array![[1.0], [2.0]].view()).unwrap_err().to_string().contains("span only 1")
        );
    }

    #[test]
    fn singular_values_rebuild_the_table() {
        let table = array![[3.0, 1.0], [1.0, 3.0], [0.0, 2.0]];
        let (left, values, right) = thin_svd(&table).unwrap();
        let rebuilt = (left * &values).dot(&right);
        assert!((rebuilt - &table).iter().all(|value: &f64| value.abs() < 1e-14));
        assert!((singular_values(&table).unwrap() - values).iter().all(|value| value.abs() < 1e-14));
    }
}
