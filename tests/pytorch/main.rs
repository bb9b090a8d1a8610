//! What Python finds: the loader of docs/pytorch.md, and a real model's embeddings and activations measured and built on.

mod activations;
mod fetched;
mod loader;
mod outputs;
mod token_table;
