//! How far what attention hands to the MLP is from the key (2607.10034, Fig 3A): trained without an MLP to copy the key.

use serde::{Deserialize, Serialize};

use super::successor_setting::Setting;
use crate::error::{Error, Result};
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::table::Record;
use crate::transformer::evaluation::{Usability, evaluate};
use crate::transformer::training::{self, WINDOW, train_until};

/// One transformer, measured twice: when the reference would stop, and at the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Embedding dimension d.
    pub dimension: usize,
    pub facts: usize,
    /// Junk tokens on each side of the key.
    pub junk_length: usize,
    #[serde(default = "paper_junk")]
    pub junk_tokens: usize,
    #[serde(default = "paper_learning_rate")]
    pub learning_rate: f64,
    /// Steps of training, each of 1,280 sequences.
    #[serde(default = "paper_steps")]
    pub attention_steps: usize,
    /// A residual connection around attention.
    #[serde(default)]
    pub attention_residual: bool,
    /// W_V and W_O are trained; the identity otherwise.
    #[serde(default = "yes")]
    pub trained_values: bool,
}

fn paper_junk() -> usize {
    16
}

fn paper_learning_rate() -> f64 {
    training::Settings::default().learning_rate
}

fn paper_steps() -> usize {
    4000
}

fn yes() -> bool {
    true
}

const FIELDS: &[&str] = &[
    "dimension",
    "facts",
    "junk_length",
    "junk_tokens",
    "learning_rate",
    "attention_steps",
    "attention_residual",
    "trained_values",
];

/// The reference stops at this accuracy, looked at after every [`WINDOW`] steps.
const STOPPING: f64 = 0.99;
/// Draws of the junk that every key is measured with: the reference has 64 batches of 512 sequences, 64 a key at F = 512.
const DRAWS: usize = 64;

/// The experiment `noise_floor`.
pub struct NoiseFloor;

impl Point {
    fn setting(&self, seed: u64) -> Setting {
        Setting {
            dimension: self.dimension,
            facts: self.facts,
            junk_length: self.junk_length,
            junk_tokens: self.junk_tokens,
            draws: DRAWS,
            attention_residual: self.attention_residual,
            trained_values: self.trained_values,
            seed,
        }
    }
}

impl Experiment for NoiseFloor {
    fn name(&self) -> &'static str {
        "noise_floor"
    }

    fn version(&self) -> u32 {
        1
    }

    fn fields(&self) -> &'static [&'static str] {
        FIELDS
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        let point: Point = experiment::parse(point, FIELDS)?;
        point.setting(0).check()?;
        if !(point.learning_rate.is_finite() && point.learning_rate > 0.0) || point.attention_steps == 0 {
            return Err(Error::input(format!("{} steps at a rate of {}", point.attention_steps, point.learning_rate))
                .fix("use a positive learning rate and at least one step"));
        }
        experiment::canonical(&point)
    }

    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let (step, evaluation) = point.setting(0).predicted_seconds(2.0 * (point.dimension * point.dimension) as f64);
        // Training is looked at until the accuracy is reached; most reach it soon or hardly ever.
        let looks = (point.attention_steps / WINDOW) as f64 / 2.0 + 1.0;
        point.attention_steps as f64 * step + looks * evaluation
    }

    fn memory(&self, params: &Params) -> f64 {
        experiment::typed::<Point>(params).map_or(0.0, |point| point.setting(0).predicted_bytes())
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        let setting = point.setting(seed);
        let (no_mlp, copying) = (setting.no_mlp(), setting.copying());
        let mut model = setting.model(&setting.tokens()?)?;
        let settings = training::Settings {
            learning_rate: point.learning_rate,
            most_steps: point.attention_steps,
            ..training::Settings::default()
        };
        let mut stopped: Option<(usize, Usability)> = None;
        let rng = &mut setting.sequences();
        let trained = train_until(&mut model, &no_mlp, &copying, settings, rng, |model, window| {
            if stopped.is_none() {
                let found = evaluate(model, &no_mlp, &copying);
                stopped = (found.accuracy >= STOPPING).then_some((window.step, found));
            }
            false
        })?;
        let last = (trained.steps, evaluate(&mut model, &no_mlp, &copying));
        // Without the accuracy the reference goes on to the end too.
        let stop = stopped.unwrap_or(last);
        Ok(vec![record("stopping rule", stopped.is_some(), stop), record("last step", stopped.is_some(), last)])
    }
}

fn record(moment: &str, is_reached: bool, (steps, found): (usize, Usability)) -> Record {
    Record::new()
        .with("moment", moment)
        .with("stopping_accuracy_reached", is_reached)
        .with("steps_taken", steps)
        .with("accuracy", found.accuracy)
        .with("mean_noise", found.mean_noise)
        .with("high_noise", found.high_noise)
        .with("mean_key_noise", found.mean_key_noise)
        .with("noise_floor", found.noise_floor)
        .with("mean_weight", found.mean_weight)
        .with("smallest_weight", found.smallest_weight)
        .with("failed_keys", found.failed_keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_points_are_refused() {
        let point = "dimension = 16\nfacts = 32\njunk_length = 4\n";
        let check = |text: &str| NoiseFloor.canonical(&toml::from_str(text).unwrap());
        assert_eq!(check(point).unwrap()["attention_steps"], 4000);
        for more in ["junk_tokens = 0", "learning_rate = -1.0", "attention_steps = 0", "residual = true"] {
            assert_eq!(check(&format!("{point}{more}")).unwrap_err().exit_code(), 2, "{more}");
        }
        assert!(check(&point.replace("junk_length = 4", "junk_length = 0")).is_err());
    }

    /// The quirk of the reference: its rule stops long before attention is as good as it gets.
    #[test]
    fn training_past_the_stopping_rule_brings_the_mean_noise_down() {
        let point = "dimension = 32\nfacts = 24\njunk_length = 2\njunk_tokens = 2\nlearning_rate = 2e-4\n\
                     attention_steps = 400\ntrained_values = false";
        let params = NoiseFloor.canonical(&toml::from_str(point).unwrap()).unwrap();
        let rows = NoiseFloor.run(&params, 0).unwrap();
        let of = |row: usize, column: &str| {
            let value = rows[row].values().iter().find(|(name, _)| name == column).unwrap().1.clone();
            let crate::table::Value::Float(Some(number)) = value else { panic!("{column} is {value:?}") };
            number
        };
        assert!(of(0, "accuracy") >= STOPPING && of(1, "mean_noise") < 0.5 * of(0, "mean_noise"), "{rows:?}");
        for row in 0..2 {
            let in_order = ["mean_noise", "mean_key_noise", "noise_floor"].map(|column| of(row, column));
            assert!(in_order.is_sorted() && of(row, "high_noise") <= of(row, "noise_floor"), "{rows:?}");
        }
    }
}
