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

/// Gated rectified units of one row: `hidden = max(gate, 0) ⊙ up`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn gated_relu(gate: &[f32], up: &[f32], hidden: &mut [f32]) {
    for ((hidden, gate), up) in hidden.iter_mut().zip(gate).zip(up) {
        *hidden = if *gate > 0.0 { gate * up } else { 0.0 };
    }
}

/// Gradient of [`gated_relu`]: replaces `gate` and `up` by the gradients with respect to them.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn gated_relu_gradient(gate: &mut [f32], up: &mut [f32], hidden_gradient: &[f32]) {
    for ((gate, up), gradient) in gate.iter_mut().zip(up).zip(hidden_gradient) {
        let is_on = *gate > 0.0;
        let (of_gate, of_up) = (gradient * *up, gradient * *gate);
        *gate = if is_on { of_gate } else { 0.0 };
        *up = if is_on { of_up } else { 0.0 };
    }
}

const LANES: usize = 16;

/// Gadgets that share h gates: `active = silu(gates)`, and `codes[j] = Σ_r active[r]·ups[j·h + r]`.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn shared_silu(gates: &[f32], ups: &[f32], active: &mut [f32], codes: &mut [f32]) {
    for (active, gate) in active.iter_mut().zip(gates) {
        *active = gate / (1.0 + exp(-gate));
    }
    for (code, ups) in codes.iter_mut().zip(ups.chunks_exact(active.len())) {
        let mut lanes = [0.0f32; LANES];
        let (blocks, up_blocks) = (active.chunks_exact(LANES), ups.chunks_exact(LANES));
        let rest: f32 = blocks.remainder().iter().zip(up_blocks.remainder()).map(|(active, up)| active * up).sum();
        for (active, ups) in blocks.zip(up_blocks) {
            for lane in 0..LANES {
                lanes[lane] += active[lane] * ups[lane];
            }
        }
        *code = lanes.iter().sum::<f32>() + rest;
    }
}

/// Gradient of [`shared_silu`]: replaces `gates` and `ups` by the gradients with respect to them. `of_active` (h) is room.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
pub fn shared_silu_gradient(
    gates: &mut [f32],
    ups: &mut [f32],
    active: &[f32],
    of_codes: &[f32],
    of_active: &mut [f32],
) {
    of_active.fill(0.0);
    for (of_code, ups) in of_codes.iter().zip(ups.chunks_exact_mut(active.len())) {
        for ((up, of_active), active) in ups.iter_mut().zip(of_active.iter_mut()).zip(active) {
            *of_active += of_code * *up;
            *up = of_code * active;
        }
    }
    for ((gate, of_active), active) in gates.iter_mut().zip(of_active).zip(active) {
        let sigmoid = 1.0 / (1.0 + exp(-*gate));
        *gate = *of_active * (sigmoid + active * (1.0 - sigmoid));
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
