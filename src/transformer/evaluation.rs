//! Evaluation over every template with every key. With junk drawn for every sequence the templates are a sample of it, the
//! keys never are.

use super::batch::Batch;
use super::model::{Answer, Model, ROWS};
use crate::mlp::frozen::FrozenMlp;
use crate::num::statistics::quantile;

/// How a transformer uses an MLP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usability {
    /// Share of pairs of template and key whose value has the largest logit.
    pub accuracy: f64,
    /// Attention on the key.
    pub mean_weight: f64,
    pub smallest_weight: f64,
    /// The distance between the MLP's input and the normalised key: mean, what 5 % of the pairs exceed, the mean over keys of
    /// their largest, and the largest of all (the noise floor).
    pub mean_noise: f64,
    pub high_noise: f64,
    pub mean_key_noise: f64,
    pub noise_floor: f64,
    /// Logit of the right value minus the largest other, as the dot product of a unit output with values of norm about 1.
    pub mean_margin: f64,
    pub smallest_margin: f64,
    /// Keys that at least one template fails on.
    pub failed_keys: usize,
    /// The accuracy of the worst template.
    pub worst_template: f64,
}

/// Evaluates a model with an MLP on the facts that the MLP stores.
pub fn evaluate(model: &mut Model, mlp: &FrozenMlp, map: &[usize]) -> Usability {
    let batch = Batch::every_pair(model.task());
    let (facts, dimension) = (model.task().facts, model.task().dimension() as f64);
    let answers = model.answers(mlp, &mut mlp.pass(ROWS), &batch, map);
    let is_right = |answer: &Answer| answer.margin > 0.0;
    let right = |answers: &[Answer]| answers.iter().filter(|answer| is_right(answer)).count() as f64;
    let over = |of: fn(&Answer) -> f32| answers.iter().map(move |answer| f64::from(of(answer)));
    let mean = |of: fn(&Answer) -> f32| over(of).sum::<f64>() / answers.len() as f64;
    let smallest = |of: fn(&Answer) -> f32| over(of).fold(f64::INFINITY, f64::min);
    let noises: Vec<f64> = over(|answer| answer.noise).collect();
    let worst_of = |key: usize| noises.iter().skip(key).step_by(facts).copied().fold(0.0, f64::max);
    let fails_on = |key: &usize| answers.iter().skip(*key).step_by(facts).any(|answer| !is_right(answer));
    Usability {
        accuracy: right(&answers) / answers.len() as f64,
        mean_weight: mean(|answer| answer.weight),
        smallest_weight: smallest(|answer| answer.weight),
        mean_noise: mean(|answer| answer.noise),
        high_noise: quantile(&noises, 0.95),
        mean_key_noise: (0..facts).map(worst_of).sum::<f64>() / facts as f64,
        noise_floor: noises.iter().copied().fold(0.0, f64::max),
        mean_margin: mean(|answer| answer.margin) / dimension,
        smallest_margin: smallest(|answer| answer.margin) / dimension,
        failed_keys: (0..facts).filter(fails_on).count(),
        worst_template: answers.chunks(facts).map(right).fold(f64::INFINITY, f64::min) / facts as f64,
    }
}
