//! A small language model whose facts live in a frozen MLP behind a router (2512.00207, §5.4 and A.3).
//!
//! **Words.**
//! A [`relation::Relation`] holds facts as pairs of strings: films and their directors ([`films`]), facts of one's own
//! ([`fact_file`]) or made-up books and authors ([`synthetic`]). [`templates`] are sentences with a gap for the subject and the
//! object at the end. A [`corpus::Corpus`] is both as numbers of tokens.
//!
//! **Model.** Every next token of a sentence is predicted ([`model`]). Sentences of one template share all positions before the
//! subject; only the subject's position and those after it are computed per fact ([`batch`]). What reaches the experts depends
//! on neither the facts nor the MLP that holds them, so one pass over the sentences evaluates any number of MLPs ([`stream`]).
//!
//! ```
//! use factsmith::language::{corpus::Corpus, films, templates};
//! let corpus = Corpus::new(&films::one_per_director()?.first(64)?, &templates::films()?)?;
//! assert_eq!(corpus.text(0, 0), "The director of We Live in Public is Ondi Timoner");
//! assert_eq!((corpus.subjects.len(), corpus.templates.len()), (64, 16));
//! # Ok::<(), factsmith::error::Error>(())
//! ```

pub mod attention;
pub mod batch;
pub mod corpus;
pub mod editing;
pub mod fact_file;
pub mod films;
#[cfg(test)]
mod full_sequence;
pub mod layout;
pub mod mixture;
pub mod model;
mod permutation;
pub mod projection;
pub mod relation;
pub mod stream;
pub mod synthetic;
pub mod templates;
pub mod training;
