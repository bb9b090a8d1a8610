//! factsmith

pub mod capacity;
pub mod durable;
pub mod error;
pub mod facts;
pub mod mlp;
pub mod num;
pub mod paper;
pub mod pipeline;
pub mod rng;
pub mod table;
