//! Cholesky factorisation by panels, and Gram matrices of which only the lower triangle is made.
//!
//! All but a sliver of the work are matrix products, which run at the rate of [`super::products`]; LAPACK's factorisation is
//! bound by the BLAS behind it (see [`super::linalg`]): 2,048 × 2,048 takes a quarter of its time here.

use std::ops::Range;

use multiversion::multiversion;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};

use super::products::{general_mat_mul, product};
use crate::error::{Error, Result};

/// Rows and columns of a panel.
const PANEL: usize = 128;

/// Columns of a product below the diagonal: many panels, so that what stands to its left is packed once for all of them.
const WIDE: usize = 4 * PANEL;

/// Adds `factor · rowsᵀ · rows` to the lower triangle of `gram`: `rows (n×m)`, `gram (m×m)`. The upper triangle is left undefined.
pub fn add_gram(factor: f64, rows: ArrayView2<f64>, gram: &mut Array2<f64>) {
    add_square(factor, rows.t(), gram.view_mut());
}

/// Adds `factor · table · tableᵀ` to the lower triangle of `square`: `table (m×k)`, `square (m×m)`.
fn add_square(factor: f64, table: ArrayView2<f64>, mut square: ArrayViewMut2<f64>) {
    let mut add = |rows: Range<usize>, columns: Range<usize>| {
        let mut part = square.slice_mut(s![rows.clone(), columns.clone()]);
        general_mat_mul(factor, &table.slice(s![rows, ..]), &table.slice(s![columns, ..]).t(), 1.0, &mut part);
    };
    let size = table.nrows();
    for start in (0..size).step_by(WIDE) {
        let stop = (start + WIDE).min(size);
        for panel in (start..stop).step_by(PANEL) {
            add(panel..stop, panel..(panel + PANEL).min(stop));
        }
        if stop < size {
            add(stop..size, start..stop);
        }
    }
}

/// The Cholesky factor `A = L·Lᵀ` of a symmetric positive definite matrix.
#[derive(Debug, Clone)]
pub struct Factor {
    /// The lower triangle is `L`.
    lower: Array2<f64>,
    /// Inverses of the diagonal panels of `L`.
    inverses: Vec<Array2<f64>>,
}

impl Factor {
    /// Factorises a matrix given by its lower triangle, in place.
    ///
    /// # Errors
    /// When the matrix is not positive definite to working precision; the message names the row where that shows.
    pub fn new(mut lower: Array2<f64>) -> Result<Self> {
        if !lower.is_standard_layout() {
            lower = lower.as_standard_layout().into_owned();
        }
        let size = lower.nrows();
        let mut inverses = Vec::with_capacity(size.div_ceil(PANEL));
        for start in (0..size).step_by(PANEL) {
            let stop = (start + PANEL).min(size);
            factorise_panel(lower.slice_mut(s![start..stop, start..stop]), start)?;
            let inverse = invert(lower.slice(s![start..stop, start..stop]));
            if stop < size {
                let below = product(&lower.slice(s![stop.., start..stop]), &inverse.t());
                lower.slice_mut(s![stop.., start..stop]).assign(&below);
                add_square(-1.0, below.view(), lower.slice_mut(s![stop.., stop..]));
            }
            inverses.push(inverse);
        }
        Ok(Self { lower, inverses })
    }

    /// `A⁻¹·rhs` for `rhs (n×k)`.
    pub fn solve(&self, rhs: ArrayView2<f64>) -> Array2<f64> {
        let mut solution = rhs.to_owned();
        self.solve_in_place(solution.view_mut());
        solution
    }

    /// `A⁻¹`.
    pub fn inverse(&self) -> Array2<f64> {
        let mut inverse = Array2::eye(self.lower.nrows());
        self.solve_in_place(inverse.view_mut());
        inverse
    }

    fn solve_in_place(&self, mut solution: ArrayViewMut2<f64>) {
        let mut room = Array2::zeros((PANEL.min(solution.nrows()), solution.ncols()));
        let mut apply = |inverse: ArrayView2<f64>, mut own: ArrayViewMut2<f64>| {
            let mut solved = room.slice_mut(s![..own.nrows(), ..]);
            general_mat_mul(1.0, &inverse, &own, 0.0, &mut solved);
            own.assign(&solved);
        };
        for (number, inverse) in self.inverses.iter().enumerate() {
            let (start, stop) = self.panel(number);
            let (done, mut rest) = solution.view_mut().split_at(Axis(0), start);
            let mut own = rest.slice_mut(s![..stop - start, ..]);
            general_mat_mul(-1.0, &self.lower.slice(s![start..stop, ..start]), &done, 1.0, &mut own);
            apply(inverse.view(), own);
        }
        for (number, inverse) in self.inverses.iter().enumerate().rev() {
            let (start, stop) = self.panel(number);
            let (mut rest, done) = solution.view_mut().split_at(Axis(0), stop);
            let mut own = rest.slice_mut(s![start.., ..]);
            general_mat_mul(-1.0, &self.lower.slice(s![stop.., start..stop]).t(), &done, 1.0, &mut own);
            apply(inverse.t(), own);
        }
    }

    fn panel(&self, number: usize) -> (usize, usize) {
        (number * PANEL, ((number + 1) * PANEL).min(self.lower.nrows()))
    }
}

/// The plain factorisation of a panel, column by column; `offset` is its first row.
fn factorise_panel(mut panel: ArrayViewMut2<f64>, offset: usize) -> Result<()> {
    for column in 0..panel.nrows() {
        let pivot = panel[[column, column]];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(Error::failure(format!(
                "the matrix is not positive definite to working precision at row {}",
                offset + column
            )));
        }
        let root = pivot.sqrt();
        panel[[column, column]] = root;
        let below: Vec<f64> = panel.slice(s![column + 1.., column]).iter().map(|entry| entry / root).collect();
        for ((number, factor), row) in below.iter().enumerate().zip(panel.rows_mut().into_iter().skip(column + 1)) {
            let row = row.into_slice().expect("rows of a table in standard layout");
            row[column] = *factor;
            subtract_scaled(&mut row[column + 1..], *factor, &below[..=number]);
        }
    }
    Ok(())
}

/// The inverse of a lower triangle, row by row; zeros above.
fn invert(lower: ArrayView2<f64>) -> Array2<f64> {
    let size = lower.nrows();
    let mut inverse = vec![0.0; size * size];
    for row in 0..size {
        let pivot = lower[[row, row]];
        let (above, own) = inverse.split_at_mut(row * size);
        for (inner, above) in above.chunks(size).enumerate() {
            subtract_scaled(own, lower[[row, inner]], &above[..=inner]);
        }
        own[..row].iter_mut().for_each(|entry| *entry /= pivot);
        own[row] = 1.0 / pivot;
    }
    Array2::from_shape_vec((size, size), inverse).expect("a square")
}

/// `to ← to − factor·from`, entry by entry, as far as `from` goes.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn subtract_scaled(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to -= factor * from;
    }
}

#[cfg(test)]
mod tests {
    use ndarray::ShapeBuilder;

    use super::*;

    fn rows(count: usize, width: usize) -> Array2<f64> {
        Array2::from_shape_fn((count, width), |(i, j)| ((i * 37 + j * 101 + i * j) as f64 * 0.71).sin())
    }

    fn mirrored(lower: &Array2<f64>) -> Array2<f64> {
        Array2::from_shape_fn(lower.dim(), |(i, j)| if i >= j { lower[[i, j]] } else { lower[[j, i]] })
    }

    #[test]
    fn systems_of_all_panel_sizes_are_solved() {
        for size in [1, 5, PANEL, PANEL + 1, 3 * PANEL + 17, WIDE + PANEL + 5] {
            let mut gram = Array2::eye(size) * 0.5;
            add_gram(1.0, rows(size + 9, size).view(), &mut gram);
            let full = mirrored(&gram);
            let rhs = rows(size, 3);
            let solution = Factor::new(gram.clone()).unwrap().solve(rhs.view());
            let by_columns = Array2::from_shape_fn(gram.dim().f(), |index| gram[index]);
            assert_eq!(Factor::new(by_columns).unwrap().solve(rhs.view()), solution);
            let residual = full.dot(&solution) - &rhs;
            assert!(residual.iter().all(|x| x.abs() < 1e-9), "{size}");
            let product = full.dot(&Factor::new(gram).unwrap().inverse()) - Array2::<f64>::eye(size);
            assert!(product.iter().all(|x| x.abs() < 1e-9), "{size}");
        }
    }

    /// Row by row, as it is written down.
    fn plain_factor(matrix: &Array2<f64>) -> Array2<f64> {
        let mut lower = Array2::<f64>::zeros(matrix.dim());
        for row in 0..matrix.nrows() {
            for column in 0..=row {
                let left = (0..column)
                    .fold(matrix[[row, column]], |left, inner| left - lower[[row, inner]] * lower[[column, inner]]);
                lower[[row, column]] = if row == column { left.sqrt() } else { left / lower[[column, column]] };
            }
        }
        lower
    }

    #[test]
    fn a_panel_and_its_inverse_are_those_of_the_plain_loops_to_the_bit() {
        for size in [1, 2, 37, PANEL] {
            let rows = rows(size + 9, size);
            let matrix = rows.t().dot(&rows) + Array2::<f64>::eye(size) * 0.5;
            let lower = plain_factor(&matrix);
            let mut panel = matrix.clone();
            factorise_panel(panel.view_mut(), 0).unwrap();
            let inverse = invert(panel.view());
            for row in 0..size {
                for column in 0..=row {
                    assert_eq!(panel[[row, column]], lower[[row, column]]);
                    let sum: f64 = (column..row).map(|inner| lower[[row, inner]] * inverse[[inner, column]]).sum();
                    let wanted = if row == column { 1.0 } else { -sum } / lower[[row, row]];
                    assert_eq!(inverse[[row, column]], wanted);
                    assert!(row == column || inverse[[column, row]] == 0.0);
                }
            }
        }
    }

    #[test]
    fn the_gram_matrix_is_the_product() {
        let rows = rows(40, 2 * WIDE + PANEL + 3);
        let mut gram = Array2::zeros((rows.ncols(), rows.ncols()));
        add_gram(0.5, rows.view(), &mut gram);
        add_gram(0.5, rows.view(), &mut gram);
        let difference = mirrored(&gram) - rows.t().dot(&rows);
        assert!(difference.iter().all(|x| x.abs() < 1e-11));
    }

    #[test]
    fn an_indefinite_matrix_names_its_row() {
        let mut matrix = Array2::eye(PANEL + 20);
        matrix[[PANEL + 3, PANEL + 3]] = -1.0;
        assert!(Factor::new(matrix).unwrap_err().to_string().contains(&format!("row {}", PANEL + 3)));
        let mut matrix = Array2::eye(20);
        matrix[[9, 4]] = f64::NAN;
        assert!(Factor::new(matrix).unwrap_err().to_string().contains("row 9"));
    }
}
