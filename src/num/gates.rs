//! Vector kernels of hidden units in training: each with its gradient, which replaces the pre-activations in place.
//!
//! As in [`super::softmax`], no fused multiply-add is used.

use multiversion::multiversion;

use super::softmax::exp;

/// Gated SiLU of one row: `hidden = silu(gate) ⊙ up`, `silu(z) = z/(1 + e^(−z))`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn gated_silu(gate: &[f32], up: &[f32], hidden: &mut [f32]) {
    for ((hidden, gate), up) in hidden.iter_mut().zip(gate).zip(up) {
        *hidden = gate / (1.0 + exp(-gate)) * up;
    }
}

/// Gradient of [`gated_silu`]: replaces `gate` and `up` by the gradients with respect to them.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn gated_silu_gradient(gate: &mut [f32], up: &mut [f32], hidden_gradient: &[f32]) {
    for ((gate, up), gradient) in gate.iter_mut().zip(up).zip(hidden_gradient) {
        let sigmoid = 1.0 / (1.0 + exp(-*gate));
        let silu = *gate * sigmoid;
        let slope = sigmoid + silu * (1.0 - sigmoid);
        *gate = gradient * *up * slope;
        *up = gradient * silu;
    }
}

/// Bilinear units of one row: `hidden = gate ⊙ up`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn bilinear(gate: &[f32], up: &[f32], hidden: &mut [f32]) {
    for ((hidden, gate), up) in hidden.iter_mut().zip(gate).zip(up) {
        *hidden = gate * up;
    }
}

/// Gradient of [`bilinear`]: replaces `gate` and `up` by the gradients with respect to them.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn bilinear_gradient(gate: &mut [f32], up: &mut [f32], hidden_gradient: &[f32]) {
    for ((gate, up), gradient) in gate.iter_mut().zip(up).zip(hidden_gradient) {
        let kept = *gate;
        *gate = gradient * *up;
        *up = gradient * kept;
    }
}

/// Rectified units of one row.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn relu(units: &[f32], hidden: &mut [f32]) {
    for (hidden, unit) in hidden.iter_mut().zip(units) {
        *hidden = if *unit > 0.0 { *unit } else { 0.0 };
    }
}

/// Gradient of [`relu`]: replaces `units` by the gradient with respect to them.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn relu_gradient(units: &mut [f32], hidden_gradient: &[f32]) {
    for (unit, gradient) in units.iter_mut().zip(hidden_gradient) {
        *unit = if *unit > 0.0 { *gradient } else { 0.0 };
    }
}

/// `Φ(z)`, the standard normal distribution: Abramowitz and Stegun, 7.1.26, within 1e-7.
#[inline(always)]
fn normal_distribution(z: f32) -> f32 {
    let x = z.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let polynomial = 1.061_405_4 * t - 1.453_152;
    let polynomial = polynomial * t + 1.421_413_7;
    let polynomial = polynomial * t - 0.284_496_74;
    let polynomial = polynomial * t + 0.254_829_6;
    let tail = 0.5 * polynomial * t * exp(-x * x);
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// GELU units: `hidden = z·Φ(z)`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn gelu(units: &[f32], hidden: &mut [f32]) {
    for (hidden, unit) in hidden.iter_mut().zip(units) {
        *hidden = unit * normal_distribution(*unit);
    }
}

/// Gradient of [`gelu`]: replaces `units` by the gradient with respect to them.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn gelu_gradient(units: &mut [f32], hidden_gradient: &[f32]) {
    // 1/√(2π)
    const DENSITY: f32 = 0.398_942_3;
    for (unit, gradient) in units.iter_mut().zip(hidden_gradient) {
        let z = *unit;
        *unit = gradient * (normal_distribution(z) + z * DENSITY * exp(-0.5 * z * z));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gated_silu_gradient_is_that_of_the_function() {
        let value = |gate: f64, up: f64| gate / (1.0 + (-gate).exp()) * up;
        for (gate, up) in [(0.3, -1.2), (-2.0, 0.7), (4.0, 2.0), (0.0, 1.0)] {
            let (mut dgate, mut dup) = ([gate as f32], [up as f32]);
            gated_silu_gradient(&mut dgate, &mut dup, &[1.5]);
            let step = 1e-5;
            let by_gate = 1.5 * (value(gate + step, up) - value(gate - step, up)) / (2.0 * step);
            let by_up = 1.5 * (value(gate, up + step) - value(gate, up - step)) / (2.0 * step);
            assert!((f64::from(dgate[0]) - by_gate).abs() < 1e-5 && (f64::from(dup[0]) - by_up).abs() < 1e-5);
        }
    }
    #[test]
    fn gelu_and_its_gradient_are_those_of_the_normal_distribution() {
        use statrs::function::erf::erf;
        let value = |z: f64| z * 0.5 * (1.0 + erf(z / 2.0f64.sqrt()));
        for step in -60..=60 {
            let z = f64::from(step) * 0.1;
            let mut hidden = [0.0f32];
            gelu(&[z as f32], &mut hidden);
            assert!((f64::from(hidden[0]) - value(z)).abs() < 1e-6, "{z}");
            let mut unit = [z as f32];
            gelu_gradient(&mut unit, &[2.0]);
            let slope = 2.0 * (value(z + 1e-5) - value(z - 1e-5)) / 2e-5;
            assert!((f64::from(unit[0]) - slope).abs() < 2e-6, "{z}: {} {slope}", unit[0]);
        }
    }
}
