//! What Python finds: the loader of docs/pytorch.md, and a real table of embeddings measured and built on.

mod loader;
mod outputs;
mod token_table;
