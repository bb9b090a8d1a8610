//! Fact-storage cost: the smallest MLP of each method that stores a random bijection (2512.00207, A.1; Figs 2a, 5, 6).

use serde::{Deserialize, Serialize};

use super::decodability::{check_ranges, seconds};
use super::fact_sets::{Keys, fact_set, facts_for};
use crate::capacity::{Found, Range, smallest_size};
use crate::error::{Error, Result};
use crate::facts::decodability::{Cores, decodability};
use crate::facts::decoding::stored;
use crate::facts::fact_set::FactSet;
use crate::facts::geometry::coherence;
use crate::facts::whitening::Whitening;
use crate::mlp::encoder_decoder::{direct, with_decoder};
use crate::mlp::gradient_descent::{self, train};
use crate::mlp::johnson_lindenstrauss::NestedDecoder;
use crate::mlp::network::Mlp;
use crate::mlp::ntk::{self, NestedNtk};
use crate::mlp::trainable::Architecture;
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::rng::StreamName;
use crate::table::Record;

/// How the MLP is made, and which size is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Gradient descent; hidden size h.
    GradientDescent,
    /// Gated encoder gadgets and a JL decoder; code length m.
    Constructed,
    /// The same encoder putting out U* itself (m = d, no search).
    Direct,
    /// Hermite construction on the values; hidden size h.
    Ntk,
    /// Hermite construction on the margin-optimal outputs U*; hidden size h.
    NtkMarginOptimal,
}

/// One search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub method: Method,
    /// Embedding dimension d.
    pub dimension: usize,
    /// β in `F = β·d²`.
    pub facts_per_d2: f64,
    /// Condition number κ of the values.
    pub kappa: f64,
    /// Whitening strength α; 0 builds on the raw values.
    pub alpha: f64,
    pub keys: Keys,
    /// Steps of gradient descent; 0 for the constructions.
    #[serde(default)]
    pub steps: usize,
}

const FIELDS: &[&str] = &["method", "dimension", "facts_per_d2", "kappa", "alpha", "keys", "steps"];

/// JL decoders drawn per fact set; the median size is reported and built.
const DRAWS: usize = 5;
/// Largest code length and hidden sizes searched.
const LARGEST_CODE: usize = 1 << 18;
const LARGEST_NTK: usize = 1 << 14;
/// Relative precision of the search for sizes that run into thousands.
const PRECISION: f64 = 0.01;

/// The experiment `storage_cost`.
pub struct StorageCost;

impl Experiment for StorageCost {
    fn name(&self) -> &'static str {
        "storage_cost"
    }

    fn version(&self) -> u32 {
        1
    }

    fn fields(&self) -> &'static [&'static str] {
        FIELDS
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        let point: Point = experiment::parse(point, FIELDS)?;
        facts_for(point.dimension, point.facts_per_d2)?;
        check_ranges(point.kappa, point.alpha)?;
        if (point.method == Method::GradientDescent) != (point.steps > 0) {
            return Err(Error::input(format!("{} steps for this method", point.steps))
                .fix("give 'steps' for gradient_descent, and for no other method"));
        }
        experiment::canonical(&point)
    }

    /// The search of the method, and the decodability of the values: of the raw ones, and of the whitened ones.
    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let facts = point.facts_per_d2 * (point.dimension * point.dimension) as f64;
        let product = facts * facts * point.dimension as f64;
        let features = facts * LARGEST_NTK as f64 * point.dimension as f64;
        let tables = if point.alpha == 0.0 { 1.0 } else { 2.0 };
        let search = match point.method {
            // About five probes of all steps; a step is two products with all values and some small ones.
            Method::GradientDescent => 5.0 * point.steps as f64 * (4e-11 * product + 2e-5),
            // Some sixty probes of d×d decoders, one Cholesky, one forward pass.
            Method::Constructed => 0.006 + 1.1e-8 * product,
            Method::Direct => 0.002 + 3e-9 * product,
            Method::Ntk | Method::NtkMarginOptimal => 0.02 + 1.5e-10 * features,
        };
        search + tables * seconds(facts, point.dimension)
    }

    /// Products of all keys with all values: `F²` numbers, three of them for gates, in single precision for training.
    /// Measured: 137 MB for gates and 62 MB for features at F = 2304, 34 MB for training at F = 1600.
    fn memory(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let facts = point.facts_per_d2 * (point.dimension * point.dimension) as f64;
        match point.method {
            Method::Constructed | Method::Direct => 10e6 + 24.0 * facts * facts,
            Method::GradientDescent | Method::Ntk | Method::NtkMarginOptimal => 13e6 + 9.0 * facts * facts,
        }
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        let search = Search::new(&point, seed)?;
        let outcome = match point.method {
            Method::GradientDescent => search.gradient_descent(point.steps)?,
            Method::Constructed => search.constructed()?,
            Method::Direct => search.direct()?,
            Method::Ntk => search.ntk(&search.coded.values)?,
            Method::NtkMarginOptimal => search.ntk(&search.outputs)?,
        };
        Ok(vec![search.record(&outcome)])
    }
}

/// What every method starts from.
struct Search {
    seed: u64,
    /// The fact set that has to be stored.
    facts: FactSet,
    /// The fact set the MLP is built for: whitened when α > 0, else the same.
    coded: FactSet,
    value_whitening: Option<Whitening>,
    key_whitening: Option<Whitening>,
    rho: f64,
    coded_rho: f64,
    /// U* of the coded values.
    outputs: ndarray::Array2<f64>,
}

/// What a method found.
struct Outcome {
    found: Found,
    /// Smallest and largest size over the draws of random parts, where there are several.
    draws: Option<(usize, usize)>,
    /// The MLP of the found size, for the raw fact set.
    mlp: Option<Mlp>,
    relative_residual: Option<f64>,
}

impl Search {
    fn new(point: &Point, seed: u64) -> Result<Self> {
        let count = facts_for(point.dimension, point.facts_per_d2)?;
        let facts = fact_set(point.dimension, count, point.kappa, point.keys, seed)?;
        let raw = decodability(&facts.values, Cores::One)?;
        if point.alpha == 0.0 {
            let coded = facts.clone();
            let (value_whitening, key_whitening) = (None, None);
            let (rho, coded_rho, outputs) = (raw.rho, raw.rho, raw.outputs);
            return Ok(Self { seed, facts, coded, value_whitening, key_whitening, rho, coded_rho, outputs });
        }
        let value_whitening = Whitening::fit(&facts.values, point.alpha)?;
        let key_whitening = match point.keys {
            Keys::Tied => Some(Whitening::fit(&facts.keys, point.alpha)?),
            Keys::Isotropic => None,
        };
        let keys = key_whitening.as_ref().map_or_else(|| facts.keys.clone(), |whitening| whitening.apply(&facts.keys));
        let coded = FactSet::new(keys, value_whitening.apply(&facts.values), facts.map.clone())?;
        let white = decodability(&coded.values, Cores::One)?;
        Ok(Self {
            seed,
            facts,
            coded,
            value_whitening: Some(value_whitening),
            key_whitening,
            rho: raw.rho,
            coded_rho: white.rho,
            outputs: white.outputs,
        })
    }

    fn stream(&self, purpose: &str) -> StreamName {
        StreamName::new(purpose).with(self.facts.dimension() as u64).with(self.facts.len() as u64).with(self.seed)
    }

    /// The MLP for the raw fact set.
    fn fold(&self, mut mlp: Mlp) -> Mlp {
        if let Some(whitening) = &self.value_whitening {
            mlp = mlp.fold_value_whitening(whitening);
        }
        if let Some(whitening) = &self.key_whitening {
            mlp = mlp.fold_key_whitening(whitening);
        }
        mlp
    }

    fn gradient_descent(&self, steps: usize) -> Result<Outcome> {
        let (count, dimension) = (self.facts.len(), self.facts.dimension());
        let settings = gradient_descent::Settings { steps, learning_rate: 2e-2, final_learning_rate: 1e-4 };
        let bits = count as f64 * (count as f64).log2();
        let range = Range {
            smallest: 1,
            largest: 4 * count,
            predicted: (0.4 * bits / (3 * dimension) as f64).ceil() as usize,
            step: 1.25,
            precision: 0.0,
        };
        let mut best: Option<(usize, Mlp)> = None;
        let found = smallest_size(range, count, |hidden| {
            let trained = train(
                &self.coded,
                Architecture::SwiGlu,
                hidden,
                settings,
                self.stream("training").with(hidden as u64),
            )?;
            let mlp = self.fold(trained.mlp);
            let stored = stored(&mlp.margins(&self.facts));
            if stored == count && best.as_ref().is_none_or(|(size, _)| hidden < *size) {
                best = Some((hidden, mlp));
            }
            Ok(stored)
        })?;
        let mlp = best.filter(|(size, _)| Some(*size) == found.size).map(|(_, mlp)| mlp);
        Ok(Outcome { found, draws: None, mlp, relative_residual: None })
    }

    fn constructed(&self) -> Result<Outcome> {
        let (count, dimension) = (self.facts.len(), self.facts.dimension());
        let predicted = 2.0 * (count as f64).ln() / self.coded_rho.max(1e-6).powi(2);
        let range = Range {
            smallest: 1,
            largest: LARGEST_CODE,
            predicted: (0.5 * predicted).ceil() as usize,
            step: 1.5,
            precision: PRECISION,
        };
        let mut draws = Vec::with_capacity(DRAWS);
        for draw in 0..DRAWS {
            let mut decoder = NestedDecoder::new(dimension, self.stream("decoder").with(draw as u64));
            let found = smallest_size(range, count, |size| {
                Ok(stored(&decoder.margins(&self.coded.values, &self.outputs, size)))
            })?;
            draws.push((found, decoder));
        }
        draws.sort_by_key(|(found, _)| found.size.unwrap_or(usize::MAX));
        let sizes = (draws[0].0.size, draws[DRAWS - 1].0.size);
        let (found, mut decoder) = draws.swap_remove(DRAWS / 2);
        let built = match found.size {
            None => None,
            Some(size) => {
                let mut rng = self.stream("gates").rng();
                Some(with_decoder(&self.coded, &self.outputs, &decoder.matrix(size), 0.0, &mut rng)?)
            }
        };
        Ok(Outcome {
            found,
            draws: sizes.0.zip(sizes.1),
            relative_residual: built.as_ref().map(|built| built.relative_residual),
            mlp: built.map(|built| self.fold(built.mlp)),
        })
    }

    fn direct(&self) -> Result<Outcome> {
        let built = direct(&self.coded, &self.outputs, 0.0, &mut self.stream("gates").rng())?;
        let mlp = self.fold(built.mlp);
        let stored = stored(&mlp.margins(&self.facts));
        let size = self.facts.dimension();
        let reached = (stored == self.facts.len()).then_some(size);
        let found = Found { size: reached, smallest_ever: reached, probes: [(size, stored)].into() };
        Ok(Outcome { found, draws: None, mlp: Some(mlp), relative_residual: Some(built.relative_residual) })
    }

    fn ntk(&self, targets: &ndarray::Array2<f64>) -> Result<Outcome> {
        let count = self.facts.len();
        let range = Range {
            smallest: 1,
            largest: LARGEST_NTK,
            predicted: self.facts.dimension(),
            step: 2.0,
            precision: PRECISION,
        };
        let mut family = NestedNtk::new(&self.coded, targets, ntk::Settings::default(), self.stream("features"));
        let found = smallest_size(range, count, |size| Ok(family.stored(size)))?;
        let mlp = found.size.map(|size| self.fold(family.into_mlp(size).into()));
        Ok(Outcome { found, draws: None, mlp, relative_residual: None })
    }

    /// One row. `stored` and `smallest_margin` are those of the built MLP on the raw fact set, by a forward pass.
    fn record(&self, outcome: &Outcome) -> Record {
        let count = self.facts.len();
        let margins = outcome.mlp.as_ref().map(|mlp| mlp.margins(&self.facts));
        let verified = margins.as_deref().map_or(outcome.found.best(), stored);
        let reached = outcome.found.size.filter(|_| verified == count);
        let mlp = outcome.mlp.as_ref().filter(|_| reached.is_some());
        let draws = outcome.draws.filter(|_| reached.is_some());
        Record::new()
            .with("facts", count)
            .with("rho", self.rho)
            .with("coded_rho", self.coded_rho)
            .with("coherence", coherence(&self.facts.values))
            .with("reached", reached.is_some())
            .with("size", reached)
            .with("size_smallest_draw", draws.map(|(smallest, _)| smallest))
            .with("size_largest_draw", draws.map(|(_, largest)| largest))
            .with("hidden", mlp.map(Mlp::hidden))
            .with("parameters", mlp.map(Mlp::parameters))
            .with("stored", verified)
            .with("smallest_margin", margins.map(|margins| margins.iter().copied().fold(f64::INFINITY, f64::min)))
            .with("relative_residual", outcome.relative_residual)
            .with("probes", outcome.found.probes.len())
            .with("monotone", outcome.found.size == outcome.found.smallest_ever)
    }
}
