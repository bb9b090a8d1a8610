//! Fact-storing MLPs: measure, construct, verify, and reproduce the research on how language models store facts.
//!
//! A *fact set* maps key embeddings to value embeddings; an MLP *stores* a fact when its output for the key has a larger dot
//! product with the fact's value than with every other value. This crate measures how hard a table of values is to decode
//! ([`facts::decodability`]), builds MLPs that store a fact set ([`mlp`]), searches for the smallest one ([`capacity`]), and
//! re-runs the experiments of the papers ([`paper`]) on an engine that computes each grid cell once ([`pipeline`]).
//!
//! ```
//! use factsmith::facts::decodability::{Cores, decodability};
//! use factsmith::facts::embeddings::{Kind, draw};
//! use factsmith::facts::fact_set::{FactSet, random_bijection};
//! use factsmith::mlp::encoder_decoder::direct;
//! use factsmith::rng::StreamName;
//!
//! let mut rng = StreamName::new("example").rng();
//! let table = draw(Kind::Sphere, 64, 16, &mut rng)?;
//! let best = decodability(&table, Cores::All)?;
//! let facts = FactSet::new(table.clone(), table, random_bijection(64, &mut rng))?;
//! let mlp = direct(&facts, &best.outputs, 0.0, &mut rng)?.mlp;
//! assert!(mlp.margins(&facts).iter().all(|margin| *margin > 0.0));
//! # Ok::<(), factsmith::error::Error>(())
//! ```

pub mod capacity;
pub mod claims;
pub mod cli;
pub mod durable;
pub mod edit;
pub mod error;
pub mod facts;
pub mod figures;
pub mod language;
pub mod memory;
pub mod methods;
pub mod mlp;
pub mod notebook;
pub mod num;
pub mod paper;
pub mod pipeline;
pub mod rng;
pub mod table;
pub mod transformer;
