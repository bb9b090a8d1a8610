//! The plainest edit: Adam on the output matrix of the fact expert, minimising the mean cross-entropy of the new objects after one
//! sentence per altered fact. Fewer steps are a prefix of more.

use ndarray::Array2;

use super::asked::Asked;
use crate::num::adam::Adam;
use crate::num::products::general_mat_mul;

/// The output matrix (d×h) after each of `steps` (in ascending order). `hidden` are the activations of the rows asked, n×h.
pub fn trajectory(
    asked: &Asked,
    hidden: &Array2<f32>,
    down: &Array2<f32>,
    learning_rate: f64,
    steps: &[usize],
) -> Vec<(usize, Array2<f32>)> {
    let mut down = down.as_standard_layout().to_owned();
    let mut outputs = hidden.dot(&down.t());
    let (mut of_outputs, mut gradient) = (outputs.clone(), down.clone());
    let mut adam = Adam::new(down.len());
    let share = 1.0 / hidden.nrows() as f32;
    let mut snapshots = Vec::with_capacity(steps.len());
    for step in 1..=steps.last().copied().unwrap_or(0) {
        asked.losses(&outputs, &mut of_outputs);
        general_mat_mul(share, &of_outputs.t(), hidden, 0.0, &mut gradient);
        let parameters = down.as_slice_mut().expect("standard layout");
        adam.step(parameters, gradient.as_slice().expect("standard layout"), learning_rate as f32);
        general_mat_mul(1.0, hidden, &down.t(), 0.0, &mut outputs);
        if steps.contains(&step) {
            snapshots.push((step, down.clone()));
        }
    }
    snapshots
}
