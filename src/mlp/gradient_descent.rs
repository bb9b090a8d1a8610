//! MLPs trained by gradient descent (2512.00207, A.1.3): full batch, cross-entropy over all values, Adam with a cosine schedule.
//!
//! Logits are made, turned into their gradient and multiplied by the values in blocks of rows that stay in cache.

use ndarray::{Array2, s};

use super::network::Mlp;
use super::trainable::{Architecture, Trainable, matrix, matrix_mut};
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::num::adam::{Adam, cosine};
use crate::num::products::general_mat_mul;
use crate::num::softmax::{Contribution, cross_entropy_gradient};
use crate::rng::StreamName;

/// Rows of logits handled at once.
pub const LOGIT_ROWS: usize = 64;

/// How to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Steps T of the cosine schedule; training ends earlier once every fact is stored.
    pub steps: usize,
    pub learning_rate: f64,
    pub final_learning_rate: f64,
}

impl Settings {
    /// Refuses a size or a number of steps of 0.
    pub(super) fn check(self, size: usize) -> Result<()> {
        if size == 0 || self.steps == 0 {
            return Err(Error::input(format!("training a size of {size} for {} steps", self.steps))
                .fix("use a size of at least 1 and at least one step"));
        }
        Ok(())
    }
}

/// A trained MLP.
#[derive(Debug, Clone)]
pub struct Trained {
    pub mlp: Mlp,
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
/// use factsmith::mlp::trainable::Architecture;
/// use factsmith::rng::StreamName;
/// let mut rng = StreamName::new("doc").rng();
/// let table = draw(Kind::Sphere, 32, 16, &mut rng).unwrap();
/// let facts = FactSet::new(table.clone(), table, random_bijection(32, &mut rng)).unwrap();
/// let settings = Settings { steps: 1000, learning_rate: 1e-2, final_learning_rate: 1e-5 };
/// let trained = train(&facts, Architecture::SwiGlu, 8, settings, StreamName::new("training")).unwrap();
/// assert_eq!(trained.stored, 32);
/// ```
///
/// # Errors
/// When `hidden` or `steps` is 0 or the loss stops being a finite number.
pub fn train(
    facts: &FactSet,
    architecture: Architecture,
    hidden: usize,
    settings: Settings,
    name: StreamName,
) -> Result<Trained> {
    settings.check(hidden)?;
    let mut trainer = Trainer::new(facts, architecture, hidden, name);
    let mut adam = Adam::new(trainer.network.parameters.len());
    let mut loss = f64::INFINITY;
    for step in 0..settings.steps {
        let found = trainer.gradient();
        loss = found.loss / facts.len() as f64;
        if !loss.is_finite() {
            let error = if step == 0 {
                Error::input(format!("the loss before training is {loss}"))
            } else {
                Error::failure(format!("training diverged: the loss at step {step} is {loss}"))
            };
            return Err(error.fix("bring keys and values to lengths around 1"));
        }
        if found.correct == facts.len() {
            let mlp = trainer.network.mlp();
            if mlp.stored(facts) == facts.len() {
                return Ok(Trained { mlp, steps: step, loss, stored: facts.len() });
            }
        }
        let rate = cosine(settings.learning_rate, settings.final_learning_rate, step, settings.steps);
        adam.step(&mut trainer.network.parameters, &trainer.network.gradient, rate as f32);
    }
    let mlp = trainer.network.mlp();
    let stored = mlp.stored(facts);
    Ok(Trained { mlp, steps: settings.steps, loss, stored })
}

/// A network and the cross-entropy of its decoding.
pub struct Trainer {
    pub network: Trainable,
    values: Array2<f32>,
    map: Vec<usize>,
    logits: Vec<f32>,
}

impl Trainer {
    /// A network of `hidden` units with random weights; see [`Trainable::new`].
    pub fn new(facts: &FactSet, architecture: Architecture, hidden: usize, name: StreamName) -> Self {
        Self {
            network: Trainable::new(&facts.keys, architecture, hidden, facts.dimension(), name),
            values: facts.values.mapv(|x| x as f32),
            map: facts.map.clone(),
            logits: vec![0.0; LOGIT_ROWS * facts.values.nrows()],
        }
    }

    /// Computes the loss (summed over facts) at the present parameters, and leaves the gradient of its mean in the network.
    pub fn gradient(&mut self) -> Contribution {
        self.network.forward();
        let Trainable { outputs, output_gradient, .. } = &mut self.network;
        let found = decode(outputs, &self.values, &self.map, &mut self.logits, output_gradient);
        self.network.backward();
        found
    }

    /// Multiply–adds of the matrix products of one step: those of the network, the logits and their gradient.
    pub fn products_per_step(&self) -> usize {
        self.network.products() + 2 * self.map.len() * self.values.len()
    }
}

/// Cross-entropy of `softmax(outputs·Vᵀ)` against `map`: leaves the gradient of its mean with respect to the outputs, and
/// returns the sum. `outputs` and `output_gradient` F×d, `values` n×d, `logits` a buffer of [`LOGIT_ROWS`]·n.
pub fn decode(
    outputs: &Array2<f32>,
    values: &Array2<f32>,
    map: &[usize],
    logits: &mut [f32],
    output_gradient: &mut Array2<f32>,
) -> Contribution {
    let (count, width) = (map.len(), values.nrows());
    let scale = 1.0 / count as f32;
    let mut sum = Contribution::default();
    for start in (0..count).step_by(LOGIT_ROWS) {
        let stop = (start + LOGIT_ROWS).min(count);
        let logits = &mut logits[..(stop - start) * width];
        let block = s![start..stop, ..];
        let mut view = matrix_mut(logits, stop - start, width);
        general_mat_mul(1.0, &outputs.slice(block), &values.t(), 0.0, &mut view);
        let found = cross_entropy_gradient(logits, width, &map[start..stop], scale);
        sum.loss += found.loss;
        sum.correct += found.correct;
        let view = matrix(logits, stop - start, width);
        general_mat_mul(1.0, &view, values, 0.0, &mut output_gradient.slice_mut(block));
    }
    sum
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
    fn plain_loss(facts: &FactSet, mlp: &Mlp) -> f64 {
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
        for architecture in [Architecture::SwiGlu, Architecture::Bilinear, Architecture::Relu] {
            agrees_with_the_plain_twin(&facts, architecture);
        }
    }

    fn agrees_with_the_plain_twin(facts: &FactSet, architecture: Architecture) {
        let mut trainer = Trainer::new(facts, architecture, 7, StreamName::new("training"));
        let found = trainer.gradient();
        assert!((found.loss / facts.len() as f64 - plain_loss(facts, &trainer.network.mlp())).abs() < 1e-5);
        let gradient = trainer.network.gradient.clone();
        for index in (0..gradient.len()).step_by(11) {
            let mut loss_at = |step: f32| {
                let kept = trainer.network.parameters[index];
                trainer.network.parameters[index] = kept + step;
                let loss = plain_loss(facts, &trainer.network.mlp());
                trainer.network.parameters[index] = kept;
                loss
            };
            let (step, here) = (1.0 / 4096.0, loss_at(0.0));
            let (right, left) = ((loss_at(step) - here) / f64::from(step), (here - loss_at(-step)) / f64::from(step));
            // At the bend of a rectified unit the gradient is the slope of one side.
            let found = f64::from(gradient[index]);
            let error = [0.5 * (left + right), left, right]
                .iter()
                .map(|slope| (found - slope).abs())
                .fold(f64::INFINITY, f64::min);
            assert!(error < 2e-6 + 1e-3 * found.abs(), "{architecture:?} {index}: {found}, sides {left} and {right}");
        }
    }

    #[test]
    fn a_wide_enough_mlp_stores_every_fact() {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
        let facts = FactSet::new(table.clone(), table, random_bijection(64, &mut rng)).unwrap();
        let settings = Settings { steps: 2000, learning_rate: 1e-2, final_learning_rate: 1e-5 };
        let trained = train(&facts, Architecture::SwiGlu, 12, settings, StreamName::new("training")).unwrap();
        assert_eq!(trained.stored, 64);
        assert!(trained.steps < 2000, "training stops once the facts are stored");
        let narrow = train(&facts, Architecture::SwiGlu, 1, settings, StreamName::new("training")).unwrap();
        assert!(narrow.stored < 64);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let settings = Settings { steps: 10, learning_rate: 1e-2, final_learning_rate: 1e-5 };
        let facts = facts(8, 8, 4);
        assert_eq!(train(&facts, Architecture::SwiGlu, 0, settings, StreamName::new("t")).unwrap_err().exit_code(), 2);
        assert!(
            train(&facts, Architecture::SwiGlu, 2, Settings { steps: 0, ..settings }, StreamName::new("t")).is_err()
        );
        let wild = Settings { steps: 500, learning_rate: 1e30, final_learning_rate: 1e30 };
        assert!(
            train(&facts, Architecture::SwiGlu, 2, wild, StreamName::new("t")).is_err(),
            "divergence is an error, not a failed probe"
        );
    }
}
