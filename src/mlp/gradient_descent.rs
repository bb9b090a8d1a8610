//! Gated MLPs trained by gradient descent (2512.00207, A.1.3): SwiGLU, full batch, cross-entropy over all values, Adam with a
//! cosine schedule. Gradients are derived by hand; single precision; nothing is allocated in a step.
//!
//! Shapes: keys K (F×d), values V (n×d), gate and up (h×d), down (h×d, the transpose of `W_down`).
//! Forward: `P = K·[G; U]ᵀ` (F×2h), `H = silu(P_gate) ⊙ P_up` (F×h), `Y = H·D` (F×d), logits `Y·Vᵀ` (F×n).
//! Logits are made, turned into their gradient and multiplied by V in blocks of rows that stay in cache.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, s};
use rand::RngExt;

use super::gated::{Activation, GatedMlp};
use crate::error::{Error, Result};
use crate::facts::decoding::stored;
use crate::facts::fact_set::FactSet;
use crate::num::adam::{Adam, cosine};
use crate::num::softmax::{Contribution, cross_entropy_gradient, gated_silu, gated_silu_gradient};
use crate::rng::StreamName;

/// Rows of logits handled at once.
const LOGIT_ROWS: usize = 64;

/// How to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Steps T of the cosine schedule; training ends earlier once every fact is stored.
    pub steps: usize,
    pub learning_rate: f64,
    pub final_learning_rate: f64,
}

/// A trained MLP.
#[derive(Debug, Clone)]
pub struct Trained {
    pub mlp: GatedMlp,
    /// Steps taken.
    pub steps: usize,
    /// Mean cross-entropy before the last step.
    pub loss: f64,
    /// Facts with a positive margin in double precision.
    pub stored: usize,
}

/// Trains an MLP of `hidden` units until it stores every fact (checked in double precision) or the steps are used up.
///
/// ```
/// use factsmith::facts::embeddings::{Kind, draw};
/// use factsmith::facts::fact_set::{FactSet, random_bijection};
/// use factsmith::mlp::gradient_descent::{Settings, train};
/// use factsmith::rng::StreamName;
/// let mut rng = StreamName::new("doc").rng();
/// let table = draw(Kind::Sphere, 32, 16, &mut rng).unwrap();
/// let facts = FactSet::new(table.clone(), table, random_bijection(32, &mut rng)).unwrap();
/// let settings = Settings { steps: 1000, learning_rate: 1e-2, final_learning_rate: 1e-5 };
/// let trained = train(&facts, 8, settings, StreamName::new("training")).unwrap();
/// assert_eq!(trained.stored, 32);
/// ```
///
/// # Errors
/// When `hidden` or `steps` is 0 or the loss stops being a finite number.
pub fn train(facts: &FactSet, hidden: usize, settings: Settings, name: StreamName) -> Result<Trained> {
    if hidden == 0 || settings.steps == 0 {
        return Err(Error::input(format!("training {hidden} hidden units for {} steps", settings.steps))
            .fix("use at least one hidden unit and one step"));
    }
    let mut trainer = Trainer::new(facts, hidden, name);
    let mut adam = Adam::new(trainer.parameters.len());
    let mut loss = f64::INFINITY;
    for step in 0..settings.steps {
        let found = trainer.gradient();
        loss = found.loss / facts.len() as f64;
        if !loss.is_finite() {
            return Err(Error::failure(format!("training diverged: the loss at step {step} is {loss}"))
                .fix("use a smaller learning rate"));
        }
        if found.correct == facts.len() {
            let mlp = trainer.mlp();
            if stored(&mlp.margins(facts)) == facts.len() {
                return Ok(Trained { mlp, steps: step, loss, stored: facts.len() });
            }
        }
        let rate = cosine(settings.learning_rate, settings.final_learning_rate, step, settings.steps);
        adam.step(&mut trainer.parameters, &trainer.gradient, rate as f32);
    }
    let mlp = trainer.mlp();
    let stored = stored(&mlp.margins(facts));
    Ok(Trained { mlp, steps: settings.steps, loss, stored })
}

/// Parameters, their gradient and every buffer of a step.
pub struct Trainer {
    keys: Array2<f32>,
    values: Array2<f32>,
    map: Vec<usize>,
    hidden: usize,
    /// Gate, up and down, each h×d, one after the other.
    pub parameters: Vec<f32>,
    /// Gradient of the mean cross-entropy, in the same order.
    pub gradient: Vec<f32>,
    projected: Array2<f32>,
    activations: Array2<f32>,
    activation_gradient: Array2<f32>,
    outputs: Array2<f32>,
    output_gradient: Array2<f32>,
    logits: Vec<f32>,
}

impl Trainer {
    /// Weights uniform on `±1/√fan_in`.
    pub fn new(facts: &FactSet, hidden: usize, name: StreamName) -> Self {
        let (count, dimension) = facts.keys.dim();
        let mut rng = name.rng();
        let mut uniform = |count: usize, fan_in: usize| -> Vec<f32> {
            let bound = 1.0 / (fan_in as f64).sqrt();
            (0..count).map(|_| (bound * (2.0 * rng.random::<f64>() - 1.0)) as f32).collect()
        };
        let mut parameters = uniform(2 * hidden * dimension, dimension);
        parameters.extend(uniform(hidden * dimension, hidden));
        Self {
            keys: facts.keys.mapv(|x| x as f32),
            values: facts.values.mapv(|x| x as f32),
            map: facts.map.clone(),
            hidden,
            gradient: vec![0.0; parameters.len()],
            parameters,
            projected: Array2::zeros((count, 2 * hidden)),
            activations: Array2::zeros((count, hidden)),
            activation_gradient: Array2::zeros((count, hidden)),
            outputs: Array2::zeros((count, dimension)),
            output_gradient: Array2::zeros((count, dimension)),
            logits: vec![0.0; LOGIT_ROWS * facts.values.nrows()],
        }
    }

    /// Computes the loss (summed over facts) at the present parameters, and leaves the gradient of its mean in `gradient`.
    pub fn gradient(&mut self) -> Contribution {
        self.forward();
        let found = self.decode();
        self.backward();
        found
    }

    /// Multiply–adds of the matrix products of one step.
    pub fn products_per_step(&self) -> usize {
        let (count, dimension) = self.keys.dim();
        // Forward 3·F·d·h, backward 4·F·d·h (no gradient with respect to the keys), logits and their gradient 2·F·n·d.
        count * dimension * (8 * self.hidden + 2 * self.values.nrows()) - count * dimension * self.hidden
    }

    fn forward(&mut self) {
        let (hidden, dimension) = (self.hidden, self.keys.ncols());
        let (input, down) = self.parameters.split_at(2 * hidden * dimension);
        general_mat_mul(1.0, &self.keys, &matrix(input, 2 * hidden, dimension).t(), 0.0, &mut self.projected);
        for (row, mut activation) in self.projected.rows().into_iter().zip(self.activations.rows_mut()) {
            let (gate, up) = row.to_slice().expect("standard layout").split_at(hidden);
            gated_silu(gate, up, activation.as_slice_mut().expect("standard layout"));
        }
        general_mat_mul(1.0, &self.activations, &matrix(down, hidden, dimension), 0.0, &mut self.outputs);
    }

    fn decode(&mut self) -> Contribution {
        let (count, width) = (self.map.len(), self.values.nrows());
        let scale = 1.0 / count as f32;
        let mut sum = Contribution::default();
        for start in (0..count).step_by(LOGIT_ROWS) {
            let stop = (start + LOGIT_ROWS).min(count);
            let logits = &mut self.logits[..(stop - start) * width];
            let block = s![start..stop, ..];
            let mut view = matrix_mut(logits, stop - start, width);
            general_mat_mul(1.0, &self.outputs.slice(block), &self.values.t(), 0.0, &mut view);
            let found = cross_entropy_gradient(logits, width, &self.map[start..stop], scale);
            sum.loss += found.loss;
            sum.correct += found.correct;
            let view = matrix(logits, stop - start, width);
            general_mat_mul(1.0, &view, &self.values, 0.0, &mut self.output_gradient.slice_mut(block));
        }
        sum
    }

    fn backward(&mut self) {
        let (hidden, dimension) = (self.hidden, self.keys.ncols());
        let (_, down) = self.parameters.split_at(2 * hidden * dimension);
        let down = matrix(down, hidden, dimension);
        let (input_gradient, down_gradient) = self.gradient.split_at_mut(2 * hidden * dimension);
        let mut down_gradient = matrix_mut(down_gradient, hidden, dimension);
        general_mat_mul(1.0, &self.activations.t(), &self.output_gradient, 0.0, &mut down_gradient);
        general_mat_mul(1.0, &self.output_gradient, &down.t(), 0.0, &mut self.activation_gradient);
        for (mut row, gradient) in self.projected.rows_mut().into_iter().zip(self.activation_gradient.rows()) {
            let (gate, up) = row.as_slice_mut().expect("standard layout").split_at_mut(hidden);
            gated_silu_gradient(gate, up, gradient.to_slice().expect("standard layout"));
        }
        let mut input_gradient = matrix_mut(input_gradient, 2 * hidden, dimension);
        general_mat_mul(1.0, &self.projected.t(), &self.keys, 0.0, &mut input_gradient);
    }

    /// The present parameters as an MLP in double precision.
    pub fn mlp(&self) -> GatedMlp {
        let (hidden, dimension) = (self.hidden, self.keys.ncols());
        let part = |number: usize| {
            let size = hidden * dimension;
            matrix(&self.parameters[number * size..(number + 1) * size], hidden, dimension).mapv(f64::from)
        };
        GatedMlp {
            gate: part(0),
            gate_bias: None,
            up: part(1),
            down: part(2).reversed_axes(),
            activation: Activation::Silu,
        }
    }
}

fn matrix(entries: &[f32], rows: usize, columns: usize) -> ArrayView2<'_, f32> {
    ArrayView2::from_shape((rows, columns), entries).expect("a buffer made for this shape")
}

fn matrix_mut(entries: &mut [f32], rows: usize, columns: usize) -> ArrayViewMut2<'_, f32> {
    ArrayViewMut2::from_shape((rows, columns), entries).expect("a buffer made for this shape")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::{random_bijection, random_many_to_one};

    fn facts(count: usize, values: usize, dimension: usize) -> FactSet {
        let mut rng = StreamName::new("test").with(count as u64).rng();
        let keys = draw(Kind::Sphere, count, dimension, &mut rng).unwrap();
        let table = draw(Kind::Sphere, values, dimension, &mut rng).unwrap();
        let map = random_many_to_one(count, values, &mut rng);
        FactSet::new(keys, table, map).unwrap()
    }

    /// The plain twin: mean cross-entropy by the definition, in double precision.
    fn plain_loss(facts: &FactSet, mlp: &GatedMlp) -> f64 {
        let logits = mlp.forward(facts.keys.view()).dot(&facts.values.t());
        let of = |(row, target): (ndarray::ArrayView1<f64>, &usize)| {
            let top = row.fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            row.mapv(|x| (x - top).exp()).sum().ln() + top - row[*target]
        };
        logits.rows().into_iter().zip(&facts.map).map(of).sum::<f64>() / facts.len() as f64
    }

    #[test]
    fn loss_and_gradient_agree_with_the_plain_twin() {
        let facts = facts(LOGIT_ROWS + 9, 40, 12);
        let mut trainer = Trainer::new(&facts, 7, StreamName::new("training"));
        let found = trainer.gradient();
        assert!((found.loss / facts.len() as f64 - plain_loss(&facts, &trainer.mlp())).abs() < 1e-5);
        let gradient = trainer.gradient.clone();
        for index in (0..gradient.len()).step_by(11) {
            let mut loss_at = |step: f32| {
                let kept = trainer.parameters[index];
                trainer.parameters[index] = kept + step;
                let loss = plain_loss(&facts, &trainer.mlp());
                trainer.parameters[index] = kept;
                loss
            };
            let difference = (loss_at(1.0 / 256.0) - loss_at(-1.0 / 256.0)) * 128.0;
            let error = (f64::from(gradient[index]) - difference).abs();
            assert!(error < 1e-6 + 1e-3 * difference.abs(), "{index}: {} against {difference}", gradient[index]);
        }
    }

    #[test]
    fn a_wide_enough_mlp_stores_every_fact() {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
        let facts = FactSet::new(table.clone(), table, random_bijection(64, &mut rng)).unwrap();
        let settings = Settings { steps: 2000, learning_rate: 1e-2, final_learning_rate: 1e-5 };
        let trained = train(&facts, 12, settings, StreamName::new("training")).unwrap();
        assert_eq!(trained.stored, 64);
        assert!(trained.steps < 2000, "training stops once the facts are stored");
        let narrow = train(&facts, 1, settings, StreamName::new("training")).unwrap();
        assert!(narrow.stored < 64);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let settings = Settings { steps: 10, learning_rate: 1e-2, final_learning_rate: 1e-5 };
        let facts = facts(8, 8, 4);
        assert_eq!(train(&facts, 0, settings, StreamName::new("t")).unwrap_err().exit_code(), 2);
        assert!(train(&facts, 2, Settings { steps: 0, ..settings }, StreamName::new("t")).is_err());
        let wild = Settings { steps: 500, learning_rate: 1e30, final_learning_rate: 1e30 };
        assert!(train(&facts, 2, wild, StreamName::new("t")).is_err(), "divergence is an error, not a failed probe");
    }
}
