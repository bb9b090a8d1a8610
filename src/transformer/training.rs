//! Training the attention around a frozen MLP: AdamW on batches of random pairs (2512.00207, A.2.2).

use super::batch::Batch;
use super::model::{Model, ROWS};
use crate::error::{Error, Result};
use crate::mlp::frozen::FrozenMlp;
use crate::num::adam::{Adam, decay};
use crate::num::softmax::Contribution;
use crate::rng::Rng;

/// How to train.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    pub learning_rate: f64,
    /// Decay of matrices, as a share of the learning rate.
    pub weight_decay: f64,
    /// Sequences in a step.
    pub batch: usize,
    pub most_steps: usize,
}

impl Default for Settings {
    /// 2512.00207, A.2.2: 4.8 million sequences at 2e-4; batch and decay are those of the code of 2607.10034.
    fn default() -> Self {
        Self { learning_rate: 2e-4, weight_decay: 0.1, batch: 1280, most_steps: 3750 }
    }
}

/// Steps over which convergence is judged.
pub const WINDOW: usize = 100;

/// Training has converged when a window has no wrong answer and this mean loss: answers are certain then, and the gradient is
/// gone. A smaller loss matters for other facts, whose margins may be smaller than those of the facts trained with.
const SETTLED: f64 = 1e-3;

/// What training did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trained {
    pub steps: usize,
    /// Mean cross-entropy of the last window.
    pub loss: f64,
    /// Whether training ended before its last step because it had converged.
    pub converged: bool,
}

/// Trains until the steps are used up or the answers are certain. `map` names the value of every key.
///
/// # Errors
/// When there is nothing to train with or the loss stops being a finite number.
pub fn train(model: &mut Model, mlp: &FrozenMlp, map: &[usize], settings: Settings, rng: &mut Rng) -> Result<Trained> {
    train_until(model, mlp, map, settings, rng, |_, window| window.wrong == 0 && window.mean() < SETTLED)
}

/// Trains until the steps are used up or `is_enough`, which is asked after every [`WINDOW`] steps and after the last.
///
/// # Errors
/// When there is nothing to train with or the loss stops being a finite number.
pub fn train_until(
    model: &mut Model,
    mlp: &FrozenMlp,
    map: &[usize],
    settings: Settings,
    rng: &mut Rng,
    mut is_enough: impl FnMut(&mut Model, &Window) -> bool,
) -> Result<Trained> {
    if settings.batch == 0 || settings.most_steps == 0 {
        return Err(Error::input(format!("{} steps of {} sequences", settings.most_steps, settings.batch))
            .fix("use at least one step and one sequence"));
    }
    let mut adam = Adam::new(model.parameters.len());
    let mut pass = mlp.pass(ROWS);
    let mut batch = Batch::of(model.task(), settings.batch);
    let decayed = model.matrix_parameters();
    let shrink = (1.0 - settings.learning_rate * settings.weight_decay) as f32;
    let mut window = Window::default();
    for step in 1..=settings.most_steps {
        batch.draw(model.task(), rng);
        let found = model.step(mlp, &mut pass, &batch, map);
        if !found.loss.is_finite() {
            return Err(Error::failure(format!("training diverged: the loss at step {step} is {}", found.loss))
                .fix("use a smaller learning rate"));
        }
        decay(&mut model.parameters[..decayed], shrink);
        adam.step(&mut model.parameters, &model.gradient, settings.learning_rate as f32);
        window.add(step, found, settings.batch);
        let is_last = step == settings.most_steps;
        if step % WINDOW == 0 || is_last {
            let converged = is_enough(model, &window);
            if converged || is_last {
                return Ok(Trained { steps: step, loss: window.mean(), converged: converged && !is_last });
            }
            window = Window::default();
        }
    }
    unreachable!("the last step returns")
}

/// What the steps since the last check did.
#[derive(Debug, Clone, Copy, Default)]
pub struct Window {
    /// The last of the steps, counted from 1.
    pub step: usize,
    loss: f64,
    wrong: usize,
    sequences: usize,
}

impl Window {
    fn add(&mut self, step: usize, found: Contribution, sequences: usize) {
        self.step = step;
        self.loss += found.loss;
        self.wrong += sequences - found.correct;
        self.sequences += sequences;
    }

    /// Mean cross-entropy.
    pub fn mean(&self) -> f64 {
        self.loss / self.sequences as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::evaluation::evaluate;
    use super::super::model::Design;
    use super::super::task::{Junk, Task};
    use super::*;
    use crate::facts::embeddings::{Kind, draw, normalise_rows};
    use crate::facts::fact_set::{FactSet, random_bijection};
    use crate::mlp::gradient_descent;
    use crate::mlp::plain::PlainMlp;
    use crate::mlp::trainable::Architecture;
    use crate::rng::StreamName;

    fn setup() -> (Model, FrozenMlp, Vec<usize>, FrozenMlp, Vec<usize>) {
        let mut rng = StreamName::new("test").rng();
        let tokens = draw(Kind::Gaussian, 32, 32, &mut rng).unwrap();
        let mut keys = tokens.clone();
        normalise_rows(&mut keys);
        let mut stored = || {
            let facts = FactSet::new(keys.clone(), tokens.clone(), random_bijection(32, &mut rng)).unwrap();
            let settings = gradient_descent::Settings { steps: 1000, learning_rate: 1e-2, final_learning_rate: 1e-4 };
            let name = StreamName::new("facts");
            let mlp = gradient_descent::train(&facts, Architecture::SwiGlu, 24, settings, name).unwrap().mlp;
            (FrozenMlp::new(&mlp), facts.map)
        };
        let ((mlp, map), (other, other_map)) = (stored(), stored());
        let task = Task::new(&tokens, &Junk { tokens: 2, templates: 4, ..Junk::default() }, &mut rng).unwrap();
        (Model::new(task, Design::default(), &mut rng), mlp, map, other, other_map)
    }

    /// The promise of the task: attention learned with one fact set answers another.
    #[test]
    fn training_finds_the_key_and_the_facts_can_be_swapped() {
        let (mut model, mlp, map, other, other_map) = setup();
        let before = evaluate(&mut model, &mlp, &map);
        let settings = Settings { learning_rate: 1e-2, batch: 256, most_steps: 2000, ..Settings::default() };
        train(&mut model, &mlp, &map, settings, &mut StreamName::new("batches").rng()).unwrap();
        let after = evaluate(&mut model, &mlp, &map);
        assert!(before.accuracy < 0.5 && after.accuracy > 0.99, "{before:?} {after:?}");
        assert!(after.mean_weight > 2.0 * before.mean_weight && after.noise_floor < before.noise_floor, "{after:?}");
        assert!(evaluate(&mut model, &other, &other_map).accuracy > 0.95);
        assert!(
            evaluate(&mut model, &mlp, &other_map).accuracy < 0.2,
            "the facts are in the MLP, not in the attention"
        );
    }

    #[test]
    fn training_is_repeatable_and_impossible_settings_are_refused() {
        let settings = Settings { batch: 64, most_steps: 20, ..Settings::default() };
        let run = |settings| {
            let (mut model, mlp, map, ..) = setup();
            let trained = train(&mut model, &mlp, &map, settings, &mut StreamName::new("batches").rng());
            trained.map(|trained| (trained, model.parameters))
        };
        assert_eq!(run(settings).unwrap(), run(settings).unwrap());
        assert_eq!(run(Settings { batch: 0, ..settings }).unwrap_err().exit_code(), 2);
        assert!(run(Settings { learning_rate: 1e30, most_steps: 50, ..settings }).is_err(), "divergence is an error");
    }
    /// The successor's protocol: attention learns with no MLP to copy the key, on junk drawn for every sequence.
    #[test]
    fn attention_trained_without_an_mlp_uses_one_that_it_never_saw() {
        let mut rng = StreamName::new("test").rng();
        let tokens = draw(Kind::Sphere, 32, 32, &mut rng).unwrap();
        let facts = FactSet::new(tokens.clone(), tokens.clone(), random_bijection(32, &mut rng)).unwrap();
        let of_facts = gradient_descent::Settings { steps: 1000, learning_rate: 1e-2, final_learning_rate: 1e-4 };
        let name = StreamName::new("facts");
        let mlp = gradient_descent::train(&facts, Architecture::SwiGlu, 24, of_facts, name).unwrap().mlp;
        let task = Task::new(&tokens, &Junk::around_a_key(4, 3, 16), &mut rng).unwrap().on_the_sphere();
        let design = Design { rotary: false, unit_output: true, ..Design::default() };
        let mut model = Model::new(task, design, &mut rng);
        let copy: Vec<usize> = (0..32).collect();
        let identity = FrozenMlp::new(&PlainMlp::identity(32).into());
        let settings = Settings { learning_rate: 1e-2, batch: 256, most_steps: 1000, ..Settings::default() };
        let mut checks = 0;
        let trained = train_until(&mut model, &identity, &copy, settings, &mut rng, |model, _| {
            checks += 1;
            evaluate(model, &identity, &copy).accuracy >= 0.99
        });
        let trained = trained.unwrap();
        assert!(trained.converged && trained.steps == WINDOW * checks, "{trained:?}");
        assert!(evaluate(&mut model, &identity, &copy).accuracy >= 0.99);
        assert!(evaluate(&mut model, &FrozenMlp::new(&mlp), &facts.map).accuracy > 0.95);
        assert!(evaluate(&mut model, &identity, &facts.map).accuracy < 0.2, "the facts are in the MLP");
    }
}
