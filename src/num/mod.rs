//! Numerical ground: linear algebra, vector kernels, optimisers, statistics.

pub mod adam;
pub mod cholesky;
pub mod factor;
pub mod gates;
pub mod linalg;
pub mod pricing;
pub mod products;
pub mod rounding;
pub mod rows;
pub mod softmax;
pub mod statistics;
