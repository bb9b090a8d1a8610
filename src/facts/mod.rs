//! Embeddings, fact sets, decoding and its margins, decodability, whitening, and files of vectors.

pub mod conditioning;
pub mod decodability;
pub mod decoding;
pub mod embeddings;
pub mod fact_set;
pub mod files;
pub mod geometry;
pub mod screening;
pub mod whitening;
