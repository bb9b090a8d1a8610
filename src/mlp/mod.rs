//! Fact-storing MLPs: the gated architecture, and one file per way to find its weights.

pub mod encoder_decoder;
pub mod encoder_gadget;
pub mod gated;
pub mod gradient_descent;
pub mod johnson_lindenstrauss;
pub mod ntk;
pub mod staircase;
