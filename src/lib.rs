//! factsmith

pub mod durable;
pub mod error;
pub mod pipeline;
pub mod rng;
pub mod table;
