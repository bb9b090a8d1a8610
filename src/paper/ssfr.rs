//! Usability: can a transformer that is trained around an MLP use other facts put in its place?
//! (2512.00207, §5.1–5.3, A.2; Figs 3a, 3b, 3c, 7, 8)

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ssfr_setting::{Change, Facts, Outcome, Setting};
use crate::capacity::{Range, smallest_size};
use crate::error::{Error, Result};
use crate::methods::Method;
use crate::methods::family::{Family, Ground, search};
use crate::methods::features::WIDEST;
use crate::mlp::lipschitz::{self, lipschitz};
use crate::mlp::network::Mlp;
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::table::Record;
use crate::transformer::training;

/// One transformer, or the search for the smallest MLP that one can use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
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
    /// Condition number of the embeddings; 1: as drawn.
    #[serde(default = "one")]
    pub kappa: f64,
    /// Whitening strength of the embeddings that the MLP is made for.
    #[serde(default)]
    pub alpha: f64,
    #[serde(default = "paper_learning_rate")]
    pub learning_rate: f64,
    /// Steps of the transformer's training, each of 1,280 sequences.
    #[serde(default = "paper_steps")]
    pub attention_steps: usize,
    #[serde(default = "paper_junk")]
    pub junk_tokens: usize,
    #[serde(default)]
    pub change: Change,
}

fn one() -> f64 {
    1.0
}

fn paper_learning_rate() -> f64 {
    training::Settings::default().learning_rate
}

fn paper_steps() -> usize {
    training::Settings::default().most_steps
}

fn paper_junk() -> usize {
    crate::transformer::task::Junk::default().tokens
}

const FIELDS: &[&str] = &[
    "method",
    "dimension",
    "facts",
    "size",
    "steps",
    "kappa",
    "alpha",
    "learning_rate",
    "attention_steps",
    "junk_tokens",
    "change",
];

/// Fact-adaptive accuracy above which an MLP counts as usable (A.2.3).
const USABLE: f64 = 0.99;
/// The largest MLP searched, as a multiple of the smallest that stores every fact, and the precision of the search.
const LARGEST: usize = 16;
const PRECISION: f64 = 0.1;
/// Sets the random parts of the other MLP apart from those of the one trained with.
const OTHER: u64 = 1 << 32;

/// The experiment `ssfr`.
pub struct Ssfr;

impl Experiment for Ssfr {
    fn name(&self) -> &'static str {
        "ssfr"
    }

    fn version(&self) -> u32 {
        1
    }

    fn fields(&self) -> &'static [&'static str] {
        FIELDS
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        let point: Point = experiment::parse(point, FIELDS)?;
        if !(point.kappa.is_finite() && point.kappa >= 1.0 && (0.0..=1.0).contains(&point.alpha)) {
            return Err(Error::input(format!("kappa is {} and alpha {}", point.kappa, point.alpha))
                .fix("use a finite kappa of at least 1 and an alpha between 0 and 1"));
        }
        if point.dimension == 0 || !(2..=1_000_000).contains(&point.facts) {
            return Err(Error::input(format!("{} facts in {} dimensions", point.facts, point.dimension))
                .fix("use 2 to 1,000,000 facts and at least one dimension"));
        }
        point.method.check_steps(point.steps)?;
        let rate_is_sound = point.learning_rate.is_finite() && point.learning_rate > 0.0;
        if !rate_is_sound || point.attention_steps == 0 || point.junk_tokens == 0 {
            return Err(Error::input(format!(
                "{} steps at a learning rate of {} with {} junk tokens",
                point.attention_steps, point.learning_rate, point.junk_tokens
            ))
            .fix("use a positive learning rate, and at least one step and one junk token"));
        }
        experiment::canonical(&point)
    }

    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        predicted_seconds(&point)
    }

    fn memory(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        predicted_bytes(&point)
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        let setting = Setting {
            dimension: point.dimension,
            facts: point.facts,
            kappa: point.kappa,
            junk_tokens: point.junk_tokens,
            change: point.change,
            seed,
        };
        let tokens = setting.tokens()?;
        let own = setting.facts(&tokens, "facts of the training", point.alpha)?;
        let other = setting.facts(&tokens, "other facts", point.alpha)?;
        let (own_ground, other_ground) = (Ground::new(&own.coded, seed), Ground::new(&other.coded, seed + OTHER));
        let mut own_family = point.method.family(&own_ground, point.steps)?;
        let mut other_family = point.method.family(&other_ground, point.steps)?;
        let mut probe = |size: usize, own_family: &mut dyn Family| -> Result<Probe> {
            let mlp = own.fold(own_family.build(size)?.mlp);
            let other_mlp = other.fold(other_family.build(size)?.mlp);
            let settings = training::Settings {
                learning_rate: point.learning_rate,
                most_steps: point.attention_steps,
                ..training::Settings::default()
            };
            let outcome = setting.outcome(&tokens, settings, (&own.raw, &mlp), (&other.raw, &other_mlp))?;
            Ok(Probe { size, stored: mlp.stored(&own.raw), other_stored: other_mlp.stored(&other.raw), mlp, outcome })
        };
        if point.size > 0 {
            return Ok(vec![record(&own, None, Some(&probe(point.size, &mut *own_family)?), 1)?]);
        }
        let storing = search(own_family.as_mut(), point.facts, |_, _| {})?.size;
        let Some(storing) = storing else { return Ok(vec![record(&own, None, None, 0)?]) };
        let mut probes = BTreeMap::new();
        let range = usable_range(storing, own_family.sizes());
        let found = smallest_size(range, point.facts, |size| {
            let probe = probes.entry(size).or_insert(probe(size, &mut *own_family)?);
            Ok(probe.passed(point.facts))
        })?;
        let best = found.size.and_then(|size| probes.get(&size)).or_else(|| most_accurate(&probes));
        Ok(vec![record(&own, Some(storing), best, probes.len())?])
    }
}

/// A transformer around an MLP of one size.
struct Probe {
    size: usize,
    mlp: Mlp,
    /// Facts that the MLPs store by themselves.
    stored: usize,
    other_stored: usize,
    outcome: Outcome,
}

impl Probe {
    fn is_usable(&self) -> bool {
        self.outcome.other.accuracy > USABLE
    }

    /// All facts where the MLP is usable, as many as are recalled otherwise.
    fn passed(&self, facts: usize) -> usize {
        if self.is_usable() { facts } else { (self.outcome.other.accuracy * facts as f64) as usize }
    }
}

/// From the smallest MLP that stores every fact upwards.
fn usable_range(storing: usize, sizes: Range) -> Range {
    let largest = (LARGEST * storing).min(sizes.largest).max(storing);
    Range { smallest: storing, largest, predicted: storing.div_ceil(2) * 3, step: 1.5, precision: PRECISION }
}

fn most_accurate(probes: &BTreeMap<usize, Probe>) -> Option<&Probe> {
    probes.values().max_by(|a, b| a.outcome.other.accuracy.total_cmp(&b.outcome.other.accuracy))
}

/// Seconds of one core: the transformers trained, and the MLPs they are trained around.
fn predicted_seconds(point: &Point) -> f64 {
    let (facts, dimension) = (point.facts as f64, point.dimension as f64);
    let batch = training::Settings::default().batch as f64;
    let parameters = match point.method {
        Method::GradientDescent | Method::GradientDescentRelu | Method::GradientDescentBilinear => facts * facts.log2(),
        _ => 3.0 * facts * dimension,
    };
    let step = 3e-4 + 2e-11 * batch * (2.0 * facts * dimension + 2.0 * parameters);
    let evaluations = 2.0 * 16.0 * facts * 1e-11 * (facts * dimension + parameters);
    let probes = if point.size > 0 { 1.0 } else { 5.0 };
    let building = point.steps as f64 * (4e-11 * facts * facts * dimension + 2e-5) + 2e-9 * facts * facts * dimension;
    let search = if point.size > 0 { 2.0 } else { 15.0 };
    probes * (point.attention_steps as f64 * step + evaluations) + search * building
}

/// Tables of `F·d` numbers, and what building the MLP needs; a search keeps the MLPs that it tried.
/// Measured at F = 4096, d = 128: 455 MB for gadgets, 112 MB for fitted features, 45 to 66 MB for the others; 206 MB for a
/// search of NTK MLPs at F = 256, d = 64.
fn predicted_bytes(point: &Point) -> f64 {
    let (facts, dimension, size) = (point.facts as f64, point.dimension as f64, point.size as f64);
    let is_search = point.size == 0;
    let tables = 8e6 + 75.0 * facts * dimension;
    let building = match point.method {
        Method::GadgetJl
        | Method::GadgetJlWide
        | Method::GadgetTrainedDecoder
        | Method::GadgetDirect
        | Method::SiluPairsJl => 24.0 * facts * facts,
        Method::Ntk | Method::NtkMarginOptimal | Method::NtkDegreeTwo | Method::Hebbian => {
            192.0 * dimension * if is_search { WIDEST as f64 } else { size }
        }
        Method::HebbianWhitened => 16.0 * if is_search { facts } else { size.min(facts) }.powi(2),
        Method::HebbianFitted => {
            let features = if is_search { 10.0 * facts / dimension } else { size };
            32.0 * features * features + 24.0 * features * facts
        }
        _ => 4e6,
    };
    tables + building
}

/// One row. `best` is the smallest usable MLP, or else the one used best.
fn record(own: &Facts, storing: Option<usize>, best: Option<&Probe>, probes: usize) -> Result<Record> {
    let facts = own.raw.len() as f64;
    let constant = best.map(|probe| lipschitz(&probe.mlp, &own.raw, lipschitz::KEYS)).transpose()?;
    let outcome = best.map(|probe| &probe.outcome);
    let other = outcome.map(|outcome| &outcome.other);
    let capacity = best.map(|probe| probe.other_stored as f64 / facts);
    Ok(Record::new()
        .with("usable", best.is_some_and(Probe::is_usable))
        .with("mlp_size", best.map(|probe| probe.size))
        .with("storing_size", storing)
        .with("hidden", best.map(|probe| probe.mlp.hidden()))
        .with("parameters", best.map(|probe| probe.mlp.parameters()))
        .with("own_capacity", best.map(|probe| probe.stored as f64 / facts))
        .with("capacity", capacity)
        .with("accuracy", outcome.map(|outcome| outcome.own.accuracy))
        .with("fact_adaptive_accuracy", other.map(|other| other.accuracy))
        .with("usability", other.zip(capacity).map(|(other, capacity)| other.accuracy / capacity.max(1.0 / facts)))
        .with("mean_weight", other.map(|other| other.mean_weight))
        .with("smallest_weight", other.map(|other| other.smallest_weight))
        .with("mean_noise", other.map(|other| other.mean_noise))
        .with("noise_floor", other.map(|other| other.noise_floor))
        .with("mean_margin", other.map(|other| other.mean_margin))
        .with("smallest_margin", other.map(|other| other.smallest_margin))
        .with("failed_keys", other.map(|other| other.failed_keys))
        .with("worst_template", other.map(|other| other.worst_template))
        .with("lipschitz", constant)
        .with("steps_taken", outcome.map(|outcome| outcome.trained.steps))
        .with("loss", outcome.map(|outcome| outcome.trained.loss))
        .with("converged", outcome.map(|outcome| outcome.trained.converged))
        .with("probes", probes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_points_are_refused() {
        let point = "method = \"gradient_descent\"\ndimension = 16\nfacts = 64\nsteps = 1000\n";
        let check = |text: &str| Ssfr.canonical(&toml::from_str(text).unwrap());
        assert_eq!(check(point).unwrap()["attention_steps"], 3750);
        for more in ["alpha = 2.0", "kappa = 0.5", "learning_rate = 0.0", "junk_tokens = 0", "change = \"residual\""] {
            assert_eq!(check(&format!("{point}{more}")).unwrap_err().exit_code(), 2, "{more}");
        }
        assert!(check(&point.replace("steps = 1000", "steps = 0")).is_err());
        assert!(check(&point.replace("64", "1")).is_err());
    }
}
