//! Inputs of a user: every format gives the same numbers, and what is wrong with a file is said in one error.

mod fact_maps;
mod fixtures;
mod formats;
mod measure;
mod refusals;
