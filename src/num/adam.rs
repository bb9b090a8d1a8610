//! Adam and the cosine schedule.

use multiversion::multiversion;

/// Adam (Kingma and Ba 2015) without weight decay, on one flat vector of parameters: β₁ = 0.9, β₂ = 0.999, ε = 1e-8.
#[derive(Debug, Clone)]
pub struct Adam {
    first: Vec<f32>,
    second: Vec<f32>,
    steps: i32,
}

const BETA1: f32 = 0.9;
const BETA2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

impl Adam {
    pub fn new(parameters: usize) -> Self {
        Self { first: vec![0.0; parameters], second: vec![0.0; parameters], steps: 0 }
    }

    /// One step: `p ← p − lr · m̂/(√v̂ + ε)`.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32], learning_rate: f32) {
        self.steps += 1;
        let bias1 = 1.0 - f64::from(BETA1).powi(self.steps);
        let bias2 = 1.0 - f64::from(BETA2).powi(self.steps);
        let rate = (f64::from(learning_rate) / bias1) as f32;
        let root = (1.0 / bias2.sqrt()) as f32;
        update(parameters, gradient, &mut self.first, &mut self.second, rate, root);
    }
}

/// The decoupled weight decay of AdamW (Loshchilov and Hutter 2019): `p ← factor·p` with `factor = 1 − lr·decay`, before the step.
pub fn decay(parameters: &mut [f32], factor: f32) {
    parameters.iter_mut().for_each(|parameter| *parameter *= factor);
}

#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2+fma"))]
fn update(parameters: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32], rate: f32, root: f32) {
    for (((parameter, gradient), first), second) in parameters.iter_mut().zip(gradient).zip(first).zip(second) {
        *first = BETA1 * *first + (1.0 - BETA1) * gradient;
        *second = BETA2 * *second + (1.0 - BETA2) * gradient * gradient;
        *parameter -= rate * *first / (second.sqrt() * root + EPSILON);
    }
}

/// Cosine annealing: `lr_t = last + (first − last)(1 + cos(π t/T))/2` for step `t` of `T`.
pub fn cosine(first: f64, last: f64, step: usize, steps: usize) -> f64 {
    last + 0.5 * (first - last) * (1.0 + (std::f64::consts::PI * step as f64 / steps as f64).cos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_length_of_the_learning_rate() {
        let mut parameters = [1.0f32, -2.0];
        Adam::new(2).step(&mut parameters, &[0.3, -40.0], 0.01);
        assert!((parameters[0] - 0.99).abs() < 1e-6 && (parameters[1] + 1.99).abs() < 1e-6);
    }

    #[test]
    fn a_quadratic_is_minimised() {
        let (mut x, mut adam) = ([5.0f32], Adam::new(1));
        for step in 0..500 {
            let gradient = [2.0 * (x[0] - 3.0)];
            adam.step(&mut x, &gradient, cosine(0.1, 1e-4, step, 500) as f32);
        }
        assert!((x[0] - 3.0).abs() < 1e-3, "{x:?}");
    }

    #[test]
    fn the_schedule_starts_and_ends_where_it_should() {
        assert_eq!(cosine(1.0, 0.1, 0, 10), 1.0);
        assert!((cosine(1.0, 0.1, 10, 10) - 0.1).abs() < 1e-15);
        assert!((cosine(1.0, 0.1, 5, 10) - 0.55).abs() < 1e-15);
    }
}
