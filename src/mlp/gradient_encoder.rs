//! The trained encoder: a gated MLP that fits the codes of the facts by gradient descent (2512.00207, §4.1).
//!
//! Minimises the mean over facts and code entries of `(enc(k_i) − c_f(i))²`, full batch, Adam, cosine schedule, in units of the
//! codes' root mean square. Training ends once every fact is decoded: the codes need not be met exactly.

use ndarray::{Array2, Zip};

use super::gradient_descent::{Settings, Trained};
use super::network::Mlp;
use super::trainable::{Architecture, Trainable};
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::facts::screening::count_stored;
use crate::num::adam::{Adam, cosine};
use crate::rng::StreamName;

/// Settings of the project; the paper does not say its own.
pub const SETTINGS: Settings = Settings { steps: 3000, learning_rate: 1e-2, final_learning_rate: 1e-5 };

/// Steps between two checks of the decoding, which costs as much as a step.
const CHECK: usize = 20;

/// Trains an encoder of `hidden` units to `codes` (n×m, one per value) under the decoder `map` (d×m), and puts both together.
///
/// # Errors
/// When `hidden` or the steps are 0, shapes do not fit, or the loss stops being a finite number.
pub fn train(
    facts: &FactSet,
    codes: &Array2<f64>,
    map: &Array2<f64>,
    hidden: usize,
    settings: Settings,
    name: StreamName,
) -> Result<Trained> {
    settings.check(hidden)?;
    if codes.dim() != (facts.values.nrows(), map.ncols()) || map.nrows() != facts.dimension() {
        return Err(Error::failure(format!("codes {:?} and decoder {:?} do not fit", codes.dim(), map.dim())));
    }
    let scale = (codes.iter().map(|x| x * x).sum::<f64>() / codes.len() as f64).sqrt().max(f64::MIN_POSITIVE);
    let targets = facts.by_key(codes).mapv(|x| (x / scale) as f32);
    let mut network = Trainable::new(&facts.keys, Architecture::SwiGlu, hidden, map.ncols(), name);
    let mut adam = Adam::new(network.parameters.len());
    let whole = |network: &Trainable| network.mlp().then(&(map * scale));
    let mut loss = f64::INFINITY;
    for step in 0..settings.steps {
        network.forward();
        if step % CHECK == 0 && decoded(&network, facts, map) == facts.len() {
            let mlp: Mlp = whole(&network);
            if mlp.stored(facts) == facts.len() {
                return Ok(Trained { mlp, steps: step, loss, stored: facts.len() });
            }
        }
        loss = squared_error(&mut network, &targets);
        if !loss.is_finite() {
            return Err(Error::failure(format!("training the encoder diverged: the loss at step {step} is {loss}"))
                .fix("bring keys and values to lengths around 1"));
        }
        network.backward();
        let rate = cosine(settings.learning_rate, settings.final_learning_rate, step, settings.steps);
        adam.step(&mut network.parameters, &network.gradient, rate as f32);
    }
    let mlp = whole(&network);
    let stored = mlp.stored(facts);
    Ok(Trained { mlp, steps: settings.steps, loss, stored })
}

/// Facts that the present outputs decode to.
fn decoded(network: &Trainable, facts: &FactSet, map: &Array2<f64>) -> usize {
    let outputs = network.outputs.mapv(f64::from).dot(&map.t());
    count_stored(outputs.view(), facts.values.view(), &facts.map)
}

/// The mean squared error of the outputs; leaves its gradient in the network.
pub(super) fn squared_error(network: &mut Trainable, targets: &Array2<f32>) -> f64 {
    let share = 2.0 / targets.len() as f32;
    let mut sum = 0.0;
    let Trainable { outputs, output_gradient, .. } = network;
    Zip::from(output_gradient).and(outputs).and(targets).for_each(|gradient, output, target| {
        let difference = *output - target;
        sum += f64::from(difference * difference);
        *gradient = share * difference;
    });
    sum / targets.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::embeddings::{Kind, draw};
    use crate::facts::fact_set::random_bijection;

    fn facts() -> FactSet {
        let mut rng = StreamName::new("test").rng();
        let table = draw(Kind::Sphere, 64, 16, &mut rng).unwrap();
        FactSet::new(table.clone(), table, random_bijection(64, &mut rng)).unwrap()
    }

    #[test]
    fn the_gradient_is_that_of_the_squared_error() {
        let facts = facts();
        let targets = draw(Kind::Gaussian, 64, 5, &mut StreamName::new("codes").rng()).unwrap();
        let narrow = targets.mapv(|x| x as f32);
        let mut network = Trainable::new(&facts.keys, Architecture::SwiGlu, 6, 5, StreamName::new("encoder"));
        network.forward();
        squared_error(&mut network, &narrow);
        network.backward();
        let gradient = network.gradient.clone();
        for index in (0..gradient.len()).step_by(7) {
            let mut at = |step: f32| {
                let kept = network.parameters[index];
                network.parameters[index] = kept + step;
                let difference = network.mlp().forward(facts.keys.view()) - &targets;
                network.parameters[index] = kept;
                difference.iter().map(|x| x * x).sum::<f64>() / 320.0
            };
            let difference = (at(1.0 / 256.0) - at(-1.0 / 256.0)) * 128.0;
            let error = (f64::from(gradient[index]) - difference).abs();
            assert!(error < 1e-6 + 2e-3 * difference.abs(), "{index}: {} against {difference}", gradient[index]);
        }
    }

    #[test]
    fn a_wide_enough_encoder_stores_every_fact_and_a_narrow_one_does_not() {
        let facts = facts();
        let identity = Array2::eye(16);
        let train =
            |hidden| train(&facts, &facts.values, &identity, hidden, SETTINGS, StreamName::new("encoder")).unwrap();
        let wide = train(24);
        assert_eq!((wide.stored, wide.mlp.hidden()), (64, 24));
        assert!(wide.steps < SETTINGS.steps);
        assert!(train(1).stored < 64);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let facts = facts();
        let train = |hidden, codes: &Array2<f64>| {
            train(&facts, codes, &Array2::eye(16), hidden, SETTINGS, StreamName::new("t"))
        };
        assert_eq!(train(0, &facts.values).unwrap_err().exit_code(), 2);
        assert!(train(3, &Array2::zeros((64, 2))).is_err());
    }
}
