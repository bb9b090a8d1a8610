//! Vector kernels of training: exponential, softmax cross-entropy with its gradient.
//!
//! No fused multiply-add is used: the kernels give the same bits at every vector width.

use multiversion::multiversion;

const LANES: usize = 16;

/// `eˣ` in single precision, within 2 units in the last place for −87 ≤ x ≤ 88; clamped outside.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    let x = if x < -87.0 { -87.0 } else { x };
    let x = if x > 88.0 { 88.0 } else { x };
    // Rounds x/ln 2 to the nearest whole number by adding and taking away 1.5·2²³.
    let shifted = x * std::f32::consts::LOG2_E + 12_582_912.0;
    let whole = shifted - 12_582_912.0;
    // ln 2 in two parts, so that the remainder keeps its digits.
    let rest = (x - whole * 0.693_359_4) - whole * -2.121_944_4e-4;
    let polynomial = 1.987_569_1e-4;
    let polynomial = polynomial * rest + 1.398_199_9e-3;
    let polynomial = polynomial * rest + 8.333_452e-3;
    let polynomial = polynomial * rest + 4.166_579_6e-2;
    let polynomial = polynomial * rest + 1.666_666_5e-1;
    let polynomial = polynomial * rest + 0.5;
    let value = polynomial * rest * rest + rest + 1.0;
    // `shifted` carries the whole number in its low bits; moved to the exponent it is 2^whole.
    let power = f32::from_bits((shifted.to_bits().wrapping_shl(23)).wrapping_add(127 << 23));
    value * power
}

/// What a block of rows contributes to a cross-entropy step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Contribution {
    /// Sum over rows of `−log softmax(logits)[target]`.
    pub loss: f64,
    /// Rows whose target has strictly the largest logit.
    pub correct: usize,
}

/// Softmax cross-entropy and its gradient, in place: each row of `logits` (length `width`) becomes
/// `(softmax(row) − onehot(target)) · scale`.
pub fn cross_entropy_gradient(logits: &mut [f32], width: usize, targets: &[usize], scale: f32) -> Contribution {
    let mut sum = Contribution::default();
    for (row, &target) in logits.chunks_exact_mut(width).zip(targets) {
        let own = row[target];
        row[target] = f32::NEG_INFINITY;
        let rival = maximum(row);
        row[target] = own;
        let top = if own > rival { own } else { rival };
        let total = exponentials(row, top);
        let factor = scale / total;
        scale_row(row, factor);
        row[target] -= scale;
        sum.loss += f64::from(top) + f64::from(total).ln() - f64::from(own);
        sum.correct += usize::from(own > rival);
    }
    sum
}

/// Cross-entropy of one row of logits against tokens that follow so many times, and its gradient in place: the row becomes
/// `(N·softmax(row) − counts)·scale` with N the sum of the counts. Returns `−Σ count·log softmax(row)[token]`.
pub fn counted_cross_entropy_gradient(row: &mut [f32], targets: &[(usize, f32)], scale: f32) -> f64 {
    let (mut number, mut own) = (0.0f64, 0.0f64);
    for (token, count) in targets {
        number += f64::from(*count);
        own += f64::from(*count) * f64::from(row[*token]);
    }
    let top = maximum(row);
    let total = exponentials(row, top);
    scale_row(row, number as f32 * scale / total);
    for (token, count) in targets {
        row[*token] -= count * scale;
    }
    number * (f64::from(top) + f64::from(total).ln()) - own
}

/// `log Σ e^entry`; the row is used up.
pub fn log_sum(row: &mut [f32]) -> f64 {
    let top = maximum(row);
    f64::from(top) + f64::from(exponentials(row, top)).ln()
}

/// The largest entry; negative infinity for an empty row.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn maximum(row: &[f32]) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for lane in 0..LANES {
            lanes[lane] = if chunk[lane] > lanes[lane] { chunk[lane] } else { lanes[lane] };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a })
}

/// Probabilities below `e^−60` count as 0. They are below the rounding error of any sum here, and the subnormal numbers that
/// they would turn into slow every later product down tenfold.
const NEGLIGIBLE: f32 = -60.0;

#[inline(always)]
fn probability(x: f32) -> f32 {
    let value = exp(x);
    if x < NEGLIGIBLE { 0.0 } else { value }
}

/// Replaces each entry by `e^(entry − top)` and returns the sum, in fixed lanes.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn exponentials(row: &mut [f32], top: f32) -> f32 {
    let mut lanes = [0.0f32; LANES];
    let mut chunks = row.chunks_exact_mut(LANES);
    for chunk in &mut chunks {
        for lane in 0..LANES {
            chunk[lane] = probability(chunk[lane] - top);
            lanes[lane] += chunk[lane];
        }
    }
    let mut tail = 0.0;
    for entry in chunks.into_remainder() {
        *entry = probability(*entry - top);
        tail += *entry;
    }
    lanes.iter().sum::<f32>() + tail
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn scale_row(row: &mut [f32], factor: f32) {
    for entry in row {
        *entry *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_accurate() {
        for step in -8700..8800 {
            let x = step as f32 * 0.01;
            let truth = f64::from(x).exp();
            assert!((f64::from(exp(x)) / truth - 1.0).abs() < 3e-7, "e^{x}");
        }
        assert!(exp(-1e9) > 0.0 && exp(1e9).is_finite());
    }

    #[test]
    fn cross_entropy_agrees_with_the_definition() {
        let width = 37;
        let logits: Vec<f32> = (0..3 * width).map(|i| ((i * 29) % 17) as f32 * 0.4 - 3.0).collect();
        let targets = [5, 0, 36];
        let mut gradient = logits.clone();
        let sum = cross_entropy_gradient(&mut gradient, width, &targets, 0.5);
        let mut loss = 0.0;
        for (row, &target) in targets.iter().enumerate() {
            let exponentials: Vec<f64> =
                logits[row * width..(row + 1) * width].iter().map(|x| f64::from(*x).exp()).collect();
            let total: f64 = exponentials.iter().sum();
            loss -= (exponentials[target] / total).ln();
            for (column, value) in exponentials.iter().enumerate() {
                let wanted = 0.5 * (value / total - f64::from(u8::from(column == target)));
                assert!((f64::from(gradient[row * width + column]) - wanted).abs() < 1e-6);
            }
        }
        assert!((sum.loss - loss).abs() < 1e-4);
    }

    #[test]
    fn counted_targets_are_as_many_rows() {
        let logits = [0.3f32, -1.0, 2.0, 0.1];
        let mut counted = logits;
        let loss = counted_cross_entropy_gradient(&mut counted, &[(1, 2.0), (3, 1.0)], 0.5);
        let mut rows: Vec<f32> = logits.repeat(3);
        let plain = cross_entropy_gradient(&mut rows, 4, &[1, 1, 3], 0.5);
        assert!((loss - plain.loss).abs() < 1e-6);
        for (token, entry) in counted.iter().enumerate() {
            let sum: f32 = rows.iter().skip(token).step_by(4).sum();
            assert!((entry - sum).abs() < 1e-6);
        }
        let exact = logits.iter().map(|x| f64::from(*x).exp()).sum::<f64>().ln();
        assert!((log_sum(&mut logits.clone()) - exact).abs() < 1e-6);
    }

    #[test]
    fn a_tie_is_not_correct() {
        let mut logits = vec![1.0, 1.0, 0.0, 2.0, 1.0, 0.0];
        assert_eq!(cross_entropy_gradient(&mut logits, 3, &[0, 0], 1.0).correct, 1);
    }
}
