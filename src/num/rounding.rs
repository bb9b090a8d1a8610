//! Rounding errors (Higham, Accuracy and Stability of Numerical Algorithms, §3.1).

/// The unit roundoff u in single and in double precision.
pub const SINGLE: f64 = f32::EPSILON as f64 / 2.0;
pub const DOUBLE: f64 = f64::EPSILON / 2.0;

/// `γ_n = n·u/(1 − n·u)`: what a sum of n products is off by at most, relative to that of their magnitudes.
pub fn gamma(length: usize, roundoff: f64) -> f64 {
    let products = length as f64 * roundoff;
    products / (1.0 - products)
}
