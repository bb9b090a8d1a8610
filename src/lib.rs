//! factsmith

pub mod durable;
pub mod error;
pub mod notebook;
pub mod pipeline;
pub mod rng;
pub mod table;
