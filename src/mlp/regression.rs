//! An MLP fitted to the values themselves by least squares (2512.00207, A.3.2): what the language-modelling experiments use.
//!
//! Minimises the mean over facts and dimensions of `(g(k_i) − v_f(i))²`, full batch, Adam, cosine schedule, in units of the
//! values' root mean square. Unlike the other trained MLPs it goes on after every fact is stored, so that margins grow.

use super::gradient_descent::{Settings, Trained};
use super::gradient_encoder::squared_error;
use super::trainable::{Architecture, Trainable};
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::num::adam::{Adam, cosine};
use crate::rng::StreamName;

/// Training ends when the mean squared error, as a share of the values' mean square, is this small (the cutoff of the code of
/// 2607.10034).
const CUTOFF: f64 = 1e-7;

/// Trains a SwiGLU MLP of `hidden` units; `loss` is the mean squared error as a share of the values' mean square.
///
/// ```
/// use factsmith::facts::embeddings::{Kind, draw};
/// use factsmith::facts::fact_set::{FactSet, random_bijection};
/// use factsmith::mlp::gradient_descent::Settings;
/// use factsmith::mlp::regression::train;
/// use factsmith::rng::StreamName;
/// let mut rng = StreamName::new("doc").rng();
/// let table = draw(Kind::Sphere, 32, 16, &mut rng).unwrap();
/// let facts = FactSet::new(table.clone(), table, random_bijection(32, &mut rng)).unwrap();
/// let settings = Settings { steps: 1000, learning_rate: 1e-2, final_learning_rate: 1e-5 };
/// let trained = train(&facts, 16, settings, StreamName::new("training")).unwrap();
/// assert!(trained.stored == 32 && trained.loss < 0.3);
/// ```
///
/// # Errors
/// When `hidden` or the steps are 0 or the loss stops being a finite number.
pub fn train(facts: &FactSet, hidden: usize, settings: Settings, name: StreamName) -> Result<Trained> {
    settings.check(hidden)?;
    let targets = facts.by_key(&facts.values);
    let scale = (targets.iter().map(|x| x * x).sum::<f64>() / targets.len() as f64).sqrt().max(f64::MIN_POSITIVE);
    let narrow = targets.mapv(|x| (x / scale) as f32);
    let mut network = Trainable::new(&facts.keys, Architecture::SwiGlu, hidden, facts.dimension(), name);
    let mut adam = Adam::new(network.parameters.len());
    let (mut loss, mut steps) = (f64::INFINITY, 0);
    while steps < settings.steps && loss > CUTOFF {
        network.forward();
        loss = squared_error(&mut network, &narrow);
        if !loss.is_finite() {
            return Err(Error::failure(format!("training diverged: the loss at step {steps} is {loss}"))
                .fix("use a smaller learning rate"));
        }
        network.backward();
        let rate = cosine(settings.learning_rate, settings.final_learning_rate, steps, settings.steps);
        adam.step(&mut network.parameters, &network.gradient, rate as f32);
        steps += 1;
    }
    let mlp = network.mlp().scaled(scale);
    let stored = mlp.stored(facts);
    Ok(Trained { mlp, steps, loss, stored })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_bijection;

    #[test]
    fn enough_units_meet_the_values_and_few_do_not() {
        let mut rng = StreamName::new("regression").rng();
        let table = draw(Kind::Gaussian, 48, 12, &mut rng).unwrap();
        let facts = FactSet::new(table.clone(), table, random_bijection(48, &mut rng)).unwrap();
        let settings = Settings { steps: 3000, learning_rate: 1e-2, final_learning_rate: 1e-5 };
        let fit = |hidden| train(&facts, hidden, settings, StreamName::new("training")).unwrap();
        let (wide, narrow) = (fit(48), fit(4));
        assert!(wide.stored == 48 && wide.loss < 1e-3, "{}", wide.loss);
        let difference = wide.mlp.forward(facts.keys.view()) - facts.by_key(&facts.values);
        let squares = |table: &ndarray::Array2<f64>| table.iter().map(|x| x * x).sum::<f64>();
        let share = squares(&difference) / squares(&facts.values);
        assert!(share < 2.0 * wide.loss + 1e-6, "{share} {}", wide.loss);
        assert!(narrow.loss > 0.3 && narrow.stored < 48, "{}", narrow.loss);
        assert_eq!(train(&facts, 0, settings, StreamName::new("training")).unwrap_err().exit_code(), 2);
    }
}
