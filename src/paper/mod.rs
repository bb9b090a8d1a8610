//! The experiments of the papers.

use crate::pipeline::experiment::Experiment;

/// All experiments that `pipeline.toml` may name.
pub fn experiments() -> Vec<&'static dyn Experiment> {
    Vec::new()
}
