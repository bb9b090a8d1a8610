//! A one-layer transformer around a frozen fact-storing MLP, on Synthetic Sequential Factual Recall (2512.00207, §5 and A.2).
//!
//! A sequence is a junk prefix, a key, and a junk suffix; the model names the key's value at the last position. There are a
//! few templates (prefix and suffix) and one key in each sequence, so everything is computed by that structure: what the
//! query of a template sees of its junk is shared by all keys ([`attention`]), and a pair of template and key costs one
//! product with the key, the MLP and the logits ([`model`]).
//!
//! The successor's variant (2607.10034) draws junk for every sequence; without positions and with a query token, what counts of
//! the junk is how often each kind occurs ([`counted`]).

pub mod attention;
pub mod batch;
pub mod counted;
pub mod evaluation;
#[cfg(test)]
mod full_sequence;
pub mod model;
pub mod rotary;
pub mod task;
pub mod training;
