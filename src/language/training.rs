//! Training the language model around its frozen fact expert: AdamW on shuffled epochs of all sentences.

use rand::seq::SliceRandom;

use super::batch::{Positions, all_pairs};
use super::model::{Model, ROWS};
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::mlp::frozen::FrozenMlp;
use crate::num::adam::{Adam, decay};
use crate::rng::Rng;

/// How to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    pub learning_rate: f64,
    /// Decay of matrices, as a share of the learning rate.
    pub weight_decay: f64,
    /// Sentences in a step.
    pub batch: usize,
    /// Training ends with the epoch that these steps fall into.
    pub most_steps: usize,
    /// Training ends after an epoch with this recall.
    pub enough: f64,
}

impl Default for Settings {
    /// Those of the code of 2607.10034.
    fn default() -> Self {
        Self { learning_rate: 2e-4, weight_decay: 0.1, batch: 32, most_steps: 150_000, enough: 0.99 }
    }
}

/// What training did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trained {
    pub epochs: usize,
    pub steps: usize,
    /// Mean cross-entropy of a prediction over the last epoch, in nats.
    pub loss: f64,
    /// Share of sentences whose object has the largest logit, after the epoch that was kept.
    pub recall: f64,
}

/// Trains until the recall is enough or the epochs are used up, and keeps the parameters of the epoch with the best recall.
///
/// # Errors
/// When there is nothing to train with or the loss stops being a finite number.
pub fn train(model: &mut Model, mlp: &FrozenMlp, settings: Settings, rng: &mut Rng) -> Result<Trained> {
    if settings.batch == 0 || settings.most_steps == 0 {
        return Err(Error::input(format!("{} steps of batches of {}", settings.most_steps, settings.batch))
            .fix("use at least one step and one sentence a batch"));
    }
    if !(settings.learning_rate.is_finite() && settings.learning_rate > 0.0) {
        return Err(Error::input(format!("a learning rate of {}", settings.learning_rate)).fix("use a positive number"));
    }
    let corpus = model.corpus();
    let mut pairs = all_pairs(&corpus);
    let mut adam = Adam::new(model.parameters.len());
    let mut pass = mlp.pass(ROWS);
    let matrices = model.layout.matrices();
    let shrink = (1.0 - settings.learning_rate * settings.weight_decay) as f32;
    let mut best = (f64::NEG_INFINITY, model.parameters.clone());
    let mut trained = Trained { epochs: 0, steps: 0, loss: 0.0, recall: 0.0 };
    while trained.steps < settings.most_steps && best.0 < settings.enough {
        pairs.shuffle(rng);
        let (mut loss, mut predictions) = (0.0, 0.0);
        for batch in pairs.chunks(settings.batch) {
            let found = model.step(mlp, &mut pass, batch);
            loss += found.loss;
            predictions += found.predictions;
            if !loss.is_finite() {
                return Err(Error::failure(format!("training diverged at step {}", trained.steps + 1))
                    .fix("use a smaller learning rate"));
            }
            decay(&mut model.parameters[..matrices], shrink);
            adam.step(&mut model.parameters, &model.gradient, settings.learning_rate as f32);
            trained.steps += 1;
        }
        trained.epochs += 1;
        trained.loss = loss / predictions;
        let recall = Stream::of(model, Positions::Object).recall(mlp, &model.heads(), &corpus.objects);
        if recall > best.0 {
            best = (recall, model.parameters.clone());
        }
    }
    (trained.recall, model.parameters) = best;
    Ok(trained)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::full_sequence::tests::setting;
    use crate::rng::StreamName;

    fn trained(settings: Settings) -> Result<(Trained, Vec<f32>)> {
        let mut case = setting();
        let mlp = FrozenMlp::new(&case.mlp);
        let trained = train(&mut case.model, &mlp, settings, &mut StreamName::new("training").rng())?;
        Ok((trained, case.model.parameters))
    }

    #[test]
    fn training_is_repeatable_and_lowers_the_loss() {
        let settings = Settings { learning_rate: 1e-2, batch: 3, most_steps: 10, enough: 2.0, ..Settings::default() };
        let (short, parameters) = trained(settings).unwrap();
        assert_eq!(trained(settings).unwrap(), (short, parameters));
        assert_eq!((short.epochs, short.steps), (4, 12), "the last epoch is taken whole");
        let long = trained(Settings { most_steps: 300, ..settings }).unwrap().0;
        assert!(long.loss < 0.7 * short.loss, "{long:?} {short:?}");
    }

    #[test]
    fn impossible_settings_are_refused() {
        let settings = Settings { most_steps: 5, ..Settings::default() };
        for bad in [
            Settings { batch: 0, ..settings },
            Settings { most_steps: 0, ..settings },
            Settings { learning_rate: 0.0, ..settings },
            Settings { learning_rate: f64::NAN, ..settings },
        ] {
            assert_eq!(trained(bad).unwrap_err().exit_code(), 2, "{bad:?}");
        }
    }
}
