//! Fact-storing MLPs: the architectures, and one file per way to find their weights.

pub mod encoder_decoder;
pub mod encoder_gadget;
pub mod frozen;
pub mod gated;
pub mod gradient_decoder;
pub mod gradient_descent;
pub mod gradient_encoder;
pub mod hebbian;
pub mod hebbian_fitted;
pub mod johnson_lindenstrauss;
pub mod lipschitz;
pub mod naive;
mod nested;
pub mod network;
pub mod ntk;
pub mod paired;
pub mod plain;
pub mod regression;
pub mod saved;
mod shared_gates;
mod single;
pub mod staircase;
pub mod trainable;
pub mod two_hot;
pub mod verification;
