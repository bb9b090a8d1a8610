//! factsmith

pub mod capacity;
pub mod claims;
pub mod cli;
pub mod durable;
pub mod error;
pub mod facts;
pub mod figures;
pub mod mlp;
pub mod notebook;
pub mod num;
pub mod paper;
pub mod pipeline;
pub mod rng;
pub mod table;
