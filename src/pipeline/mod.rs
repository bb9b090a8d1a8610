//! The engine: which cells are missing, in what order to compute them, and where results are kept.

pub mod experiment;
