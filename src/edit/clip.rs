//! Residuals held to a share of the outputs they are added to (2607.10034 and its released code).

use ndarray::{Array2, ArrayView2};

/// Shortens residuals (N₁×d) to `‖R_i‖ ≤ share·‖W·k_i‖`, with the outputs `W·k_i` (N₁×d, without a bias); shorter ones stay.
///
/// ```
/// use factsmith::edit::clip::clip;
/// use ndarray::array;
/// let mut residuals = array![[3.0, 4.0], [0.1, 0.0]];
/// clip(&mut residuals, array![[0.0, 5.0], [1.0, 0.0]].view(), 0.5);
/// assert_eq!(residuals, array![[1.5, 2.0], [0.1, 0.0]]);
/// ```
pub fn clip(residuals: &mut Array2<f64>, outputs: ArrayView2<f64>, share: f64) {
    let norm = |row: ndarray::ArrayView1<f64>| row.dot(&row).sqrt();
    for (mut residual, output) in residuals.rows_mut().into_iter().zip(outputs.rows()) {
        let (length, limit) = (norm(residual.view()), share * norm(output));
        if length > limit {
            residual *= limit / length;
        }
    }
}
