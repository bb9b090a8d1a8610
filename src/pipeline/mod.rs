//! The engine: which cells are missing, in what order to compute them, and where results are kept.
//!
//! `pipeline.toml` becomes a [`manifest::Manifest`]; with a profile, the experiments and a [`store::Store`] it becomes a
//! [`plan::Plan`]; [`run::run`] computes what the plan calls missing and writes one table per stage to
//! [`results::Results`].

mod assemble;
mod attempt;
pub mod budget;
mod checked_line;
mod compaction;
pub mod compare;
mod compute;
pub mod cost;
pub mod experiment;
pub mod explain;
pub mod failures;
pub mod garbage;
pub mod graph;
pub mod grid;
pub mod input_files;
mod journal;
pub mod key;
mod lock;
pub mod makefile;
pub mod manifest;
pub mod nearest;
pub mod plan;
pub mod profile;
pub mod progress;
pub mod receipt;
pub mod replay;
pub mod results;
pub mod run;
mod segment;
pub mod shard;
pub mod sources;
pub mod stop;
pub mod store;
pub mod verify;
mod writable;
