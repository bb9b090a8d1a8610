//! Vector kernels of single rows in training: entry by entry, so that they give the same bits at every vector width.

use multiversion::multiversion;
use ndarray::{ArrayView1, ArrayViewMut1};

/// The entries of a row of a table in standard layout, as all tables of training are.
pub fn entries(row: ArrayView1<'_, f32>) -> &[f32] {
    row.to_slice().expect("rows in standard layout")
}

/// The same to write to.
pub fn entries_mut(row: ArrayViewMut1<'_, f32>) -> &mut [f32] {
    row.into_slice().expect("rows in standard layout")
}

/// `row ← row/length`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn divide(row: &mut [f32], length: f32) {
    for entry in row {
        *entry /= length;
    }
}

/// `to ← to + factor·from`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn add_scaled(to: &mut [f32], factor: f32, from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

/// `mixed = second + weight·(first − second)`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn mix(mixed: &mut [f32], weight: f32, first: &[f32], second: &[f32]) {
    for ((mixed, first), second) in mixed.iter_mut().zip(first).zip(second) {
        *mixed = second + weight * (first - second);
    }
}

/// `gradient ← (gradient − along·unit)/length`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn project_out(gradient: &mut [f32], along: f32, unit: &[f32], length: f32) {
    for (gradient, unit) in gradient.iter_mut().zip(unit) {
        *gradient = (*gradient - along * unit) / length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More entries than a vector holds, and not a multiple.
    #[test]
    fn kernels_are_their_formulas_to_the_bit() {
        let row = |shift: f32| (0..37).map(|i| (i as f32 * 0.7 + shift).sin()).collect::<Vec<f32>>();
        let (a, b, c) = (row(0.1), row(1.3), row(2.6));
        let check = |kernel: &dyn Fn(&mut [f32]), formula: &dyn Fn(usize) -> f32| {
            let mut found = c.clone();
            kernel(&mut found);
            assert_eq!(found, (0..37).map(formula).collect::<Vec<f32>>());
        };
        check(&|row| divide(row, 1.7), &|i| c[i] / 1.7);
        check(&|row| add_scaled(row, 0.3, &a), &|i| c[i] + 0.3 * a[i]);
        check(&|row| mix(row, 0.3, &a, &b), &|i| b[i] + 0.3 * (a[i] - b[i]));
        check(&|row| project_out(row, 0.3, &a, 1.7), &|i| (c[i] - 0.3 * a[i]) / 1.7);
    }
}
