//! Fact-storing MLPs: measure, construct, verify, and reproduce the research on how language models store facts.
//!
//! Facts of one's own, from two files to a file that PyTorch reads (`.npy`, `.npz`, `.safetensors`, Parquet, CSV or TSV; see
//! [`facts::files`]):
//!
//! ```
//! use factsmith::facts::{decodability::{Cores, decodability}, fact_set::FactSet, files::read_table};
//! use factsmith::methods::{Method, family::{Ground, search}};
//! use factsmith::mlp::{saved, verification::{Certainty, verify}};
//! # use factsmith::{facts::embeddings::{Kind, draw}, rng::StreamName};
//! # let folder = tempfile::tempdir().unwrap();
//! # std::env::set_current_dir(&folder).unwrap();
//! # for (file, table) in ["keys.csv", "values.csv"].iter().zip([1, 2]) {
//! #     let table = draw(Kind::Sphere, 64, 16, &mut StreamName::new("example").with(table).rng())?;
//! #     let line = |row: ndarray::ArrayView1<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
//! #     std::fs::write(file, table.rows().into_iter().map(line).collect::<String>()).unwrap();
//! # }
//!
//! let (keys, values) = (read_table("keys.csv".as_ref())?, read_table("values.csv".as_ref())?);
//! println!("decodability ρ = {:.3}", decodability(&values, Cores::All)?.rho);
//! let map = (0..keys.nrows()).collect(); // the value of key i is value i
//! let facts = FactSet::new(keys, values, map)?;
//! let ground = Ground::new(&facts, 0);
//! let mut family = Method::HebbianFitted.family(&ground, 0)?;
//! let size = search(family.as_mut(), facts.len(), |_, _| {})?.size.expect("some size stores every fact");
//! let mlp = family.build(size)?.mlp;
//! assert_eq!(verify(&mlp, &facts).count(Certainty::Stored), facts.len());
//! saved::write("mlp.safetensors".as_ref(), &mlp, saved::Precision::Double, &"smallest".into())?;
//! # assert!(saved::read("mlp.safetensors".as_ref())?.0.parameters() < 3 * 64 * 16);
//! # Ok::<(), factsmith::error::Error>(())
//! ```
//!
//! `factsmith measure`, `build`, `verify`, `edit` and `show` do the same from the command line.
//!
//! A *fact set* maps key embeddings to value embeddings; an MLP *stores* a fact when its output for the key has a larger dot
//! product with the fact's value than with every other value. This crate measures how hard a table of values is to decode
//! ([`facts::decodability`]), builds MLPs that store a fact set ([`methods`], [`mlp`]), searches for the smallest one
//! ([`capacity`]), changes facts ([`edit`]), and re-runs the experiments of the papers ([`paper`]) on an engine that computes each
//! grid cell once ([`pipeline`]).

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
