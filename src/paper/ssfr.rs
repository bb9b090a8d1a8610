//! Usability: can a transformer that is trained around an MLP use other facts put in its place?
//! (2512.00207, §5.1–5.3, A.2; Figs 3a, 3b, 3c, 7, 8)

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ssfr_setting::{Change, Facts, Outcome, Setting};
use super::usable_sizes::{Building, PROBES, range_from, usable_products, usable_range};
use crate::capacity::smallest_size;
use crate::error::{Error, Result};
use crate::methods::Method;
use crate::methods::family::{Family, Ground, search};
use crate::methods::features::WIDEST;
use crate::mlp::hebbian_fitted;
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
    /// One, or several around MLPs of one size, a row each: the MLPs are the same for all.
    #[serde(default = "paper_learning_rate")]
    pub learning_rate: Rates,
    /// Steps of the transformer's training, each of 1,280 sequences.
    #[serde(default = "paper_steps")]
    pub attention_steps: usize,
    #[serde(default = "paper_junk")]
    pub junk_tokens: usize,
    #[serde(default)]
    pub change: Change,
    /// Where a search for the smallest usable size starts, as a multiple of the size that is predicted to store every fact;
    /// 0: at the smallest size that stores every fact, which is searched before. That first search trains MLPs that fail, each
    /// for all its steps.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub search_from: f64,
}

/// Learning rates of the transformer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Rates {
    One(f64),
    Several(Vec<f64>),
}

impl Rates {
    fn all(&self) -> &[f64] {
        match self {
            Self::One(rate) => std::slice::from_ref(rate),
            Self::Several(rates) => rates,
        }
    }
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

fn one() -> f64 {
    1.0
}

fn paper_learning_rate() -> Rates {
    Rates::One(training::Settings::default().learning_rate)
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
    "search_from",
];

/// Fact-adaptive accuracy above which an MLP counts as usable (A.2.3).
const USABLE: f64 = 0.99;
/// Sets the random parts of the other MLP apart from those of the one trained with.
const OTHER: u64 = 1 << 32;

/// The experiment `ssfr`.
pub struct Ssfr;

impl Experiment for Ssfr {
    fn name(&self) -> &'static str {
        "ssfr"
    }

    fn version(&self) -> u32 {
        2
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
        let rates = point.learning_rate.all();
        let rates_are_sound = !rates.is_empty() && rates.iter().all(|rate| rate.is_finite() && *rate > 0.0);
        if !rates_are_sound || point.attention_steps == 0 || point.junk_tokens == 0 {
            return Err(Error::input(format!(
                "{} steps at learning rates of {rates:?} with {} junk tokens",
                point.attention_steps, point.junk_tokens
            ))
            .fix("use a positive learning rate, and at least one step and one junk token"));
        }
        let is_search = point.size == 0;
        if is_search && rates.len() > 1 {
            return Err(Error::input(format!("a search with the learning rates {rates:?}"))
                .fix("give a search one learning rate, or give 'size'"));
        }
        if !(point.search_from >= 0.0 && point.search_from.is_finite()) || (!is_search && point.search_from > 0.0) {
            return Err(Error::input(format!("search_from is {} and size {}", point.search_from, point.size))
                .fix("use 0 or a positive multiple, and none with 'size'"));
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
        let mut stored = |size: usize, own_family: &mut dyn Family| -> Result<Stored> {
            let mlp = own.fold(own_family.build(size)?.mlp);
            let other_mlp = other.fold(other_family.build(size)?.mlp);
            Ok(Stored {
                size,
                stored: mlp.stored(&own.raw),
                other_stored: other_mlp.stored(&other.raw),
                mlp,
                other_mlp,
            })
        };
        let trained = |stored: &Stored, learning_rate: f64| {
            let most_steps = point.attention_steps;
            let settings = training::Settings { learning_rate, most_steps, ..training::Settings::default() };
            setting.outcome(&tokens, settings, (&own.raw, &stored.mlp), (&other.raw, &stored.other_mlp))
        };
        if point.size > 0 {
            let stored = stored(point.size, own_family.as_mut())?;
            return rows(&own, &stored, &point.learning_rate, |rate| trained(&stored, rate));
        }
        let (storing, range) = match point.search_from {
            0.0 => {
                let storing = search(own_family.as_mut(), point.facts, |_, _| {})?.size;
                let Some(storing) = storing else { return Ok(vec![record(&own, None, None, 0)?]) };
                (Some(storing), usable_range(storing, own_family.sizes()))
            }
            multiple => (None, range_from(multiple, own_family.sizes())),
        };
        let rate = point.learning_rate.all()[0];
        let mut probes = BTreeMap::new();
        let found = smallest_size(range, point.facts, |size| {
            let stored = stored(size, own_family.as_mut())?;
            // A transformer recalls no more than the MLP holds.
            let can_be_usable = stored.other_stored as f64 > USABLE * point.facts as f64;
            let outcome = can_be_usable.then(|| trained(&stored, rate)).transpose()?;
            let passed = outcome.as_ref().map_or(0, |outcome| passed(outcome, point.facts));
            probes.insert(size, (stored, outcome));
            Ok(passed)
        })?;
        let count = probes.len();
        let usable = found.size.and_then(|size| probes.remove(&size));
        let best = usable.or_else(|| probes.into_values().max_by(|(_, a), (_, b)| recalled(a).total_cmp(&recalled(b))));
        let best = best.and_then(|(stored, outcome)| Some((stored, outcome?)));
        Ok(vec![record(&own, storing, best.as_ref().map(|(stored, outcome)| (stored, outcome)), count)?])
    }
}

/// A row for each learning rate; what several are given carries its own.
fn rows(own: &Facts, stored: &Stored, rates: &Rates, trained: impl Fn(f64) -> Result<Outcome>) -> Result<Vec<Record>> {
    let row = |rate: &f64| record(own, None, Some((stored, &trained(*rate)?)), 1);
    match rates {
        Rates::One(rate) => Ok(vec![row(rate)?]),
        Rates::Several(rates) => {
            rates.iter().map(|rate| Ok(Record::new().with("learning_rate", *rate).and(row(rate)?))).collect()
        }
    }
}

/// MLPs of one size.
struct Stored {
    size: usize,
    mlp: Mlp,
    /// The one of other facts.
    other_mlp: Mlp,
    /// Facts that the MLPs store by themselves.
    stored: usize,
    other_stored: usize,
}

fn is_usable(outcome: &Outcome) -> bool {
    outcome.other.accuracy > USABLE
}

/// All facts where the MLP is usable, as many as are recalled otherwise.
fn passed(outcome: &Outcome, facts: usize) -> usize {
    if is_usable(outcome) { facts } else { (outcome.other.accuracy * facts as f64) as usize }
}

fn recalled(outcome: &Option<Outcome>) -> f64 {
    outcome.map_or(0.0, |outcome| outcome.other.accuracy)
}

/// Seconds of one core: the transformers trained, and the MLPs they are trained around.
fn predicted_seconds(point: &Point) -> f64 {
    let (facts, dimension) = (point.facts as f64, point.dimension as f64);
    let batch = training::Settings::default().batch as f64;
    let products = usable_products(point.method, facts);
    let step = 3e-4 + 2e-11 * batch * (2.0 * facts * dimension + 2.0 * products);
    let evaluations = 2.0 * 16.0 * facts * 1e-11 * (facts * dimension + products);
    let is_search = point.size == 0;
    let probes = if is_search { PROBES } else { point.learning_rate.all().len() as f64 };
    let mlps = Building {
        steps: point.steps,
        built: if is_search { 2.0 * PROBES } else { 2.0 },
        searches: is_search && point.search_from == 0.0,
        is_hard: point.kappa > 100.0,
    };
    probes * (point.attention_steps as f64 * step + evaluations) + mlps.seconds(facts, dimension)
}

/// Tables of `F·d` numbers, and what building the MLP needs; a search keeps the MLPs that it tried.
/// Measured at F = 4096, d = 128: 455 MB for gadgets, 112 MB for fitted features, 45 to 66 MB for the others; 206 MB for a
/// search of NTK MLPs at F = 256, d = 64.
fn predicted_bytes(point: &Point) -> f64 {
    8e6 + 75.0 * (point.facts * point.dimension) as f64
        + building_bytes(point.method, point.facts, point.dimension, point.size)
}

/// Bytes of building an MLP of a size, or of searching one where the size is 0.
pub(super) fn building_bytes(method: Method, facts: usize, dimension: usize, size: usize) -> f64 {
    let is_search = size == 0;
    let (facts, dimension, size) = (facts as f64, dimension as f64, size as f64);
    match method {
        Method::GadgetJl
        | Method::GadgetJlWide
        | Method::GadgetTrainedDecoder
        | Method::GadgetDirect
        | Method::SiluPairsJl => 24.0 * facts * facts,
        Method::Ntk | Method::NtkMarginOptimal | Method::NtkDegreeTwo | Method::Hebbian => {
            192.0 * dimension * if is_search { WIDEST as f64 } else { size }
        }
        Method::HebbianWhitened => 16.0 * if is_search { facts } else { size.min(facts) }.powi(2),
        Method::HebbianFitted => hebbian_fitted::bytes(facts, if is_search { 10.0 * facts / dimension } else { size }),
        _ => 4e6,
    }
}

/// One row. `best` is the smallest usable MLP, or else the one used best.
fn record(own: &Facts, storing: Option<usize>, best: Option<(&Stored, &Outcome)>, probes: usize) -> Result<Record> {
    let facts = own.raw.len() as f64;
    let (mlps, outcome) = best.unzip();
    let constant = mlps.map(|mlps| lipschitz(&mlps.mlp, &own.raw, lipschitz::KEYS)).transpose()?;
    let other = outcome.map(|outcome| &outcome.other);
    let capacity = mlps.map(|mlps| mlps.other_stored as f64 / facts);
    Ok(Record::new()
        .with("usable", outcome.is_some_and(is_usable))
        .with("mlp_size", mlps.map(|mlps| mlps.size))
        .with("storing_size", storing)
        .with("hidden", mlps.map(|mlps| mlps.mlp.hidden()))
        .with("parameters", mlps.map(|mlps| mlps.mlp.parameters()))
        .with("own_capacity", mlps.map(|mlps| mlps.stored as f64 / facts))
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
    fn run(point: &str) -> Vec<Record> {
        Ssfr.run(&Ssfr.canonical(&toml::from_str(point).unwrap()).unwrap(), 0).unwrap()
    }

    const SMALL: &str = "method = \"gradient_descent\"\nsteps = 1000\ndimension = 16\nfacts = 32\njunk_tokens = 2\n\
                         attention_steps = 200\n";

    /// Several learning rates share their MLPs, and each row is the one that its rate would give alone.
    #[test]
    fn several_learning_rates_are_a_row_each() {
        let alone = run(&format!("{SMALL}size = 16\nlearning_rate = 2e-3"));
        let together = run(&format!("{SMALL}size = 16\nlearning_rate = [2e-4, 2e-3]"));
        assert_eq!(together.len(), 2);
        assert_eq!(together[1].values()[0], ("learning_rate".to_owned(), crate::table::Value::from(2e-3)));
        assert_eq!(together[1].values()[1..], *alone[0].values());
        assert_ne!(together[0].values()[1..], *alone[0].values());
        let search = format!("{SMALL}learning_rate = [2e-4, 2e-3]");
        assert_eq!(Ssfr.canonical(&toml::from_str(&search).unwrap()).unwrap_err().exit_code(), 2);
    }

    /// The keys of cells stay as they were where a search starts as it did.
    #[test]
    fn a_search_may_start_elsewhere_and_says_so_in_its_key() {
        let canonical = |more: &str| Ssfr.canonical(&toml::from_str(&format!("{SMALL}{more}")).unwrap());
        assert!(!canonical("").unwrap().contains_key("search_from"));
        assert_eq!(canonical("search_from = 2.0").unwrap()["search_from"], 2.0);
        assert!(canonical("search_from = 2.0\nsize = 16").is_err() && canonical("search_from = -1.0").is_err());
        let rows = run(&format!("{SMALL}search_from = 1.0"));
        let of = |name: &str| rows[0].values().iter().find(|(other, _)| other == name).unwrap().1.clone();
        assert_eq!(of("storing_size"), crate::table::Value::Int(None));
        assert!(matches!(of("probes"), crate::table::Value::Int(Some(2..))), "{rows:?}");
    }
}
