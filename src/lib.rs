//! factsmith

pub mod cli;
pub mod durable;
pub mod error;
pub mod paper;
pub mod pipeline;
pub mod rng;
pub mod table;
