//! Embeddings, fact sets, decoding and its margins, decodability, whitening, predicted sizes, and files of vectors.

pub mod conditioning;
pub mod decodability;
pub mod decoding;
pub mod embeddings;
pub mod fact_set;
pub mod files;
pub mod geometry;
pub mod measurement;
pub mod screening;
pub mod size_prediction;
pub mod survey;
pub mod whitening;
