//! The smallest MLP that a transformer of the successor can use (2607.10034, Fig 3B): trained around it, or trained without
//! one that is put in afterwards.

use std::collections::BTreeMap;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::ssfr::building_bytes;
use super::successor_setting::Setting;
use super::usable_sizes::{Building, PROBES, usable_products, usable_range};
use crate::capacity::smallest_size;
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::methods::Method;
use crate::methods::family::{Family, Ground, search};
use crate::mlp::frozen::FrozenMlp;
use crate::mlp::network::Mlp;
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::table::Record;
use crate::transformer::evaluation::{Usability, evaluate};
use crate::transformer::model::Model;
use crate::transformer::training::{self, WINDOW, train_until};

/// When the MLP comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Attention is trained around one MLP and judged with another of other facts.
    InsertThenTrain,
    /// Attention is trained without an MLP, and judged with one that it never saw.
    TrainThenInsert,
}

/// One search for the smallest usable MLP, or one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub schedule: Schedule,
    pub method: Method,
    /// Embedding dimension d.
    pub dimension: usize,
    pub facts: usize,
    /// Size of the MLP, as the method counts it; 0 searches the smallest usable one.
    #[serde(default)]
    pub size: usize,
    /// Steps of the MLP's own training; 0 for methods that do not train.
    #[serde(default)]
    pub steps: usize,
    /// An MLP is usable from this accuracy on.
    #[serde(default = "all")]
    pub usable_from: f64,
    #[serde(default = "paper_junk")]
    pub junk_length: usize,
    #[serde(default = "paper_junk")]
    pub junk_tokens: usize,
    #[serde(default = "paper_learning_rate")]
    pub learning_rate: f64,
    /// Steps of the transformer's training, each of 1,280 sequences.
    #[serde(default = "paper_steps")]
    pub attention_steps: usize,
    #[serde(default)]
    pub attention_residual: bool,
    #[serde(default)]
    pub trained_values: bool,
}

fn all() -> f64 {
    1.0
}

fn paper_junk() -> usize {
    9
}

fn paper_learning_rate() -> f64 {
    training::Settings::default().learning_rate
}

fn paper_steps() -> usize {
    4000
}

const FIELDS: &[&str] = &[
    "schedule",
    "method",
    "dimension",
    "facts",
    "size",
    "steps",
    "usable_from",
    "junk_length",
    "junk_tokens",
    "learning_rate",
    "attention_steps",
    "attention_residual",
    "trained_values",
];

/// Draws of the junk that every key is judged with.
const DRAWS: usize = 16;
/// Sets the random parts of the other MLP apart from those of the one trained with.
const OTHER: u64 = 1 << 32;

/// The experiment `insertion`.
pub struct Insertion;

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

    fn training(&self) -> training::Settings {
        training::Settings {
            learning_rate: self.learning_rate,
            most_steps: self.attention_steps,
            ..training::Settings::default()
        }
    }
}

impl Experiment for Insertion {
    fn name(&self) -> &'static str {
        "insertion"
    }

    fn version(&self) -> u32 {
        2
    }

    fn fields(&self) -> &'static [&'static str] {
        FIELDS
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        let point: Point = experiment::parse(point, FIELDS)?;
        point.setting(0).check()?;
        point.method.check_steps(point.steps)?;
        if !(point.learning_rate.is_finite() && point.learning_rate > 0.0) || point.attention_steps == 0 {
            return Err(Error::input(format!("{} steps at a rate of {}", point.attention_steps, point.learning_rate))
                .fix("use a positive learning rate and at least one step"));
        }
        if !(point.usable_from > 0.0 && point.usable_from <= 1.0) {
            return Err(Error::input(format!("usable_from is {}", point.usable_from))
                .fix("use an accuracy above 0 and at most 1"));
        }
        experiment::canonical(&point)
    }

    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        predicted_seconds(&point)
    }

    fn memory(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        point.setting(0).predicted_bytes() + building_bytes(point.method, point.facts, point.dimension, point.size)
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        let bench = Bench::new(&point, seed)?;
        let own_ground = Ground::new(&bench.own, seed);
        let other_ground = Ground::new(&bench.other, seed + OTHER);
        let mut own_family = point.method.family(&own_ground, point.steps)?;
        let mut other_family = point.method.family(&other_ground, point.steps)?;
        let mut trained = match point.schedule {
            Schedule::TrainThenInsert => Some(bench.trained_without()?),
            Schedule::InsertThenTrain => None,
        };
        let mut probe = |size: usize, own_family: &mut dyn Family| -> Result<Probe> {
            let other = other_family.build(size)?.mlp;
            match &mut trained {
                Some((model, steps)) => Ok(bench.put_in(model, *steps, size, other)),
                None => bench.trained_around(size, &own_family.build(size)?.mlp, other),
            }
        };
        if point.size > 0 {
            let probe = probe(point.size, own_family.as_mut())?;
            return Ok(vec![record(&point, None, Some(&probe), 1)]);
        }
        let storing = search(own_family.as_mut(), point.facts, |_, _| {})?.size;
        let Some(storing) = storing else { return Ok(vec![record(&point, None, None, 0)]) };
        let mut probes = BTreeMap::new();
        let found = smallest_size(usable_range(storing, own_family.sizes()), point.facts, |size| {
            let probe = probes.entry(size).or_insert(probe(size, own_family.as_mut())?);
            Ok(if probe.best >= point.usable_from { point.facts } else { 0 })
        })?;
        let best = found.size.and_then(|size| probes.get(&size)).or_else(|| most_accurate(&probes));
        Ok(vec![record(&point, Some(storing), best, probes.len())])
    }
}

fn most_accurate(probes: &BTreeMap<usize, Probe>) -> Option<&Probe> {
    probes.values().max_by(|a, b| a.best.total_cmp(&b.best))
}

/// What every size of one cell is probed with.
struct Bench<'a> {
    point: &'a Point,
    setting: Setting,
    tokens: Array2<f64>,
    /// The facts of the training.
    own: FactSet,
    /// Those that the transformer is judged with.
    other: FactSet,
}

/// A transformer with an MLP of one size.
struct Probe {
    size: usize,
    mlp: Mlp,
    /// Facts that the MLP stores by itself.
    stored: usize,
    /// The largest accuracy seen at any check, as the paper has it.
    best: f64,
    /// With the facts of the training, at the end; there are none where attention is trained without an MLP.
    own: Option<Usability>,
    /// At the end.
    other: Usability,
    steps: usize,
}

impl<'a> Bench<'a> {
    fn new(point: &'a Point, seed: u64) -> Result<Self> {
        let setting = point.setting(seed);
        let tokens = setting.tokens()?;
        let own = setting.facts(&tokens, "facts of the training")?;
        let other = setting.facts(&tokens, "other facts")?;
        Ok(Self { point, setting, tokens, own, other })
    }

    /// A transformer that learned to copy the key.
    fn trained_without(&self) -> Result<(Model, usize)> {
        let mut model = self.setting.model(&self.tokens)?;
        let (no_mlp, copying) = (self.setting.no_mlp(), self.setting.copying());
        let rng = &mut self.setting.sequences();
        let trained = train_until(&mut model, &no_mlp, &copying, self.point.training(), rng, |_, _| false)?;
        Ok((model, trained.steps))
    }

    fn put_in(&self, model: &mut Model, steps: usize, size: usize, mlp: Mlp) -> Probe {
        let other = evaluate(model, &FrozenMlp::new(&mlp), &self.other.map);
        let stored = mlp.stored(&self.other);
        Probe { size, stored, mlp, best: other.accuracy, own: None, other, steps }
    }

    fn trained_around(&self, size: usize, own: &Mlp, mlp: Mlp) -> Result<Probe> {
        let mut model = self.setting.model(&self.tokens)?;
        let (own, other) = (FrozenMlp::new(own), FrozenMlp::new(&mlp));
        let mut best = 0.0f64;
        let mut last = None;
        let rng = &mut self.setting.sequences();
        let trained = train_until(&mut model, &own, &self.own.map, self.point.training(), rng, |model, _| {
            let found = evaluate(model, &other, &self.other.map);
            best = best.max(found.accuracy);
            last = Some(found);
            false
        })?;
        let other = last.expect("training looks after the last step");
        let own = Some(evaluate(&mut model, &own, &self.own.map));
        Ok(Probe { size, stored: mlp.stored(&self.other), mlp, best, own, other, steps: trained.steps })
    }
}

/// Seconds of one core: the transformers trained and judged, and the MLPs they get.
fn predicted_seconds(point: &Point) -> f64 {
    let (facts, dimension) = (point.facts as f64, point.dimension as f64);
    let (step_around, evaluation) = point.setting(0).predicted_seconds(usable_products(point.method, facts));
    let (step_without, _) = point.setting(0).predicted_seconds(2.0 * dimension * dimension);
    let is_search = point.size == 0;
    let probes = if is_search { PROBES } else { 1.0 };
    let steps = point.attention_steps as f64;
    let transformers = match point.schedule {
        Schedule::InsertThenTrain => probes * (steps * step_around + (steps / WINDOW as f64 + 2.0) * evaluation),
        Schedule::TrainThenInsert => steps * step_without + probes * evaluation,
    };
    let mlps = Building { steps: point.steps, built: 2.0 * probes, searches: is_search, is_hard: false };
    transformers + mlps.seconds(facts, dimension)
}

/// One row. `best` is the smallest usable MLP, or else the one used best.
fn record(point: &Point, storing: Option<usize>, best: Option<&Probe>, probes: usize) -> Record {
    let other = best.map(|probe| &probe.other);
    Record::new()
        .with("usable", best.is_some_and(|probe| probe.best >= point.usable_from))
        .with("mlp_size", best.map(|probe| probe.size))
        .with("storing_size", storing)
        .with("hidden", best.map(|probe| probe.mlp.hidden()))
        .with("parameters", best.map(|probe| probe.mlp.parameters()))
        .with("capacity", best.map(|probe| probe.stored as f64 / point.facts as f64))
        .with("best_accuracy", best.map(|probe| probe.best))
        .with("accuracy", other.map(|other| other.accuracy))
        .with("own_accuracy", best.and_then(|probe| probe.own).map(|own| own.accuracy))
        .with("mean_weight", other.map(|other| other.mean_weight))
        .with("mean_noise", other.map(|other| other.mean_noise))
        .with("noise_floor", other.map(|other| other.noise_floor))
        .with("failed_keys", other.map(|other| other.failed_keys))
        .with("steps_taken", best.map(|probe| probe.steps))
        .with("probes", probes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_points_are_refused() {
        let point = "schedule = \"train_then_insert\"\nmethod = \"hebbian\"\ndimension = 16\nfacts = 32\n";
        let check = |text: &str| Insertion.canonical(&toml::from_str(text).unwrap());
        assert_eq!(check(point).unwrap()["junk_length"], 9);
        for more in ["usable_from = 1.5", "steps = 10", "learning_rate = 0.0", "junk_tokens = 0"] {
            assert_eq!(check(&format!("{point}{more}")).unwrap_err().exit_code(), 2, "{more}");
        }
        assert!(check(&point.replace("train_then", "never")).is_err());
    }

    /// Attention that never saw the MLP uses it, and so does attention that was trained around another.
    #[test]
    fn both_schedules_find_a_usable_mlp() {
        for schedule in ["train_then_insert", "insert_then_train"] {
            let point = format!(
                "schedule = \"{schedule}\"\nmethod = \"hebbian_fitted\"\ndimension = 32\nfacts = 16\njunk_length = 2\n\
                 junk_tokens = 1\nlearning_rate = 1e-2\nattention_steps = 300\nusable_from = 0.95"
            );
            let params = Insertion.canonical(&toml::from_str(&point).unwrap()).unwrap();
            let rows = Insertion.run(&params, 0).unwrap();
            let usable = rows[0].values().iter().find(|(name, _)| name == "usable").unwrap();
            assert_eq!(usable.1, crate::table::Value::from(true), "{rows:?}");
        }
    }
}
