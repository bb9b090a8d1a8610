//! Editing facts of a language model: by swapping its fact expert, or by changing the expert's output matrix
//! (2512.00207, §5.4 and A.3.4; 2607.10034).

pub mod accuracies;
pub mod asked;
pub mod fine_tuning;
pub mod residuals;
pub mod study;
pub mod task;
pub mod weight_edits;
