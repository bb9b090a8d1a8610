//! Facts in words, and sentences about them: what a language model learns from (2512.00207, A.3.1).
//!
//! A [`relation::Relation`] holds facts as pairs of strings: films and their directors ([`films`]), facts of one's own
//! ([`fact_file`]) or made-up books and authors ([`synthetic`]). [`templates`] are sentences with a gap for the subject and the
//! object at the end. A [`corpus::Corpus`] is both as numbers of tokens.
//!
//! ```
//! use factsmith::language::{corpus::Corpus, films, templates};
//! let corpus = Corpus::new(&films::one_per_director()?.first(64)?, &templates::films()?)?;
//! assert_eq!(corpus.text(0, 0), "The director of We Live in Public is Ondi Timoner");
//! assert_eq!((corpus.subjects.len(), corpus.templates.len()), (64, 16));
//! # Ok::<(), factsmith::error::Error>(())
//! ```

pub mod corpus;
pub mod fact_file;
pub mod films;
mod permutation;
pub mod relation;
pub mod synthetic;
pub mod templates;
