//! Construction scaling: the smallest MLP of every method that stores a random bijection of embeddings on the sphere
//! (2512.00207, §4; Figs 1, 2b, 2c, Table 1).

use serde::{Deserialize, Serialize};

use super::fact_sets::{facts_for, spherical_fact_set};
use crate::capacity::Found;
use crate::error::Result;
use crate::facts::fact_set::FactSet;
use crate::methods::Method;
use crate::methods::family::{Built, Ground, search};
use crate::methods::features::WIDEST;
use crate::mlp::hebbian_fitted;
use crate::mlp::lipschitz::{self, lipschitz};
use crate::mlp::verification::{Certainty, Verified, verify};
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::table::Record;

/// One search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub method: Method,
    /// Embedding dimension d.
    pub dimension: usize,
    /// α in `F = α·d²`.
    pub facts_per_d2: f64,
    /// Steps of training; 0 for methods that do not train.
    #[serde(default)]
    pub steps: usize,
}

const FIELDS: &[&str] = &["method", "dimension", "facts_per_d2", "steps"];

/// The experiment `construction_cost`.
pub struct ConstructionCost;

impl Experiment for ConstructionCost {
    fn name(&self) -> &'static str {
        "construction_cost"
    }

    /// 2: the residual is that of the outputs, no longer that of the codes.
    fn version(&self) -> u32 {
        3
    }

    fn fields(&self) -> &'static [&'static str] {
        FIELDS
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        let point: Point = experiment::parse(point, FIELDS)?;
        facts_for(point.dimension, point.facts_per_d2)?;
        point.method.check_steps(point.steps)?;
        experiment::canonical(&point)
    }

    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let dimension = point.dimension as f64;
        let facts = point.facts_per_d2 * dimension * dimension;
        predicted_seconds(point.method, facts, dimension, point.steps as f64)
    }

    fn memory(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let dimension = point.dimension as f64;
        predicted_bytes(point.method, point.facts_per_d2 * dimension * dimension, dimension)
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        let count = facts_for(point.dimension, point.facts_per_d2)?;
        let facts = spherical_fact_set(point.dimension, count, seed)?;
        let ground = Ground::new(&facts, seed);
        let mut family = point.method.family(&ground, point.steps)?;
        let found = search(family.as_mut(), count, |_, _| {})?;
        let built = found.size.map(|size| family.build(size)).transpose()?;
        Ok(vec![record(&ground, &found, built.as_ref())?])
    }
}

/// Seconds of one core: what a probe costs, times the probes of a search.
fn predicted_seconds(method: Method, facts: f64, dimension: f64, steps: f64) -> f64 {
    let scores = 5e-11 * facts * facts * dimension;
    let margin_optimal = 30.0 * scores;
    let trained_decoder = 5.0 * 1000.0 * (0.8 * scores + 2e-5);
    let encoder_step = |length: f64| 2e-11 * facts * length * facts * 3.0 + 2e-5;
    match method {
        Method::GradientDescent | Method::GradientDescentRelu | Method::GradientDescentBilinear => {
            5.0 * steps * (0.8 * scores + 2e-5)
        }
        Method::GadgetJl | Method::GadgetJlWide | Method::StaircaseJl | Method::SiluPairsJl | Method::ReluPairsJl => {
            0.005 + margin_optimal + 120.0 * scores
        }
        Method::GadgetTrainedDecoder | Method::StaircaseTrainedDecoder => trained_decoder,
        Method::TrainedEncoderJl | Method::TrainedEncoderDirect => {
            margin_optimal + 6.0 * steps * encoder_step(dimension)
        }
        Method::TrainedEncoderTrainedDecoder => trained_decoder + 6.0 * steps * encoder_step(0.2 * dimension),
        Method::GadgetDirect | Method::StaircaseDirect | Method::NaiveUnitNorm | Method::NaiveGeneralPosition => {
            0.002 + margin_optimal
        }
        Method::Ntk | Method::NtkMarginOptimal | Method::NtkDegreeTwo | Method::Hebbian => {
            margin_optimal + 1e-10 * facts * 16384.0 * dimension
        }
        Method::HebbianWhitened => 20.0 * scores + 1e-9 * facts * facts * facts / 10.0,
        Method::HebbianFitted => 500.0 * scores,
    }
}

/// Tables of `F·d` numbers, and what a method needs: gadgets products of all keys with all keys, three numbers for each; the
/// others their largest MLP. Measured at F = 2048, d = 128: 104 MB for gadgets, 76 to 108 MB for NTK, 13 to 41 MB for the others.
fn predicted_bytes(method: Method, facts: f64, dimension: f64) -> f64 {
    let tables = 8e6 + 75.0 * facts * dimension;
    let own = match method {
        Method::GadgetJl
        | Method::GadgetJlWide
        | Method::GadgetTrainedDecoder
        | Method::GadgetDirect
        | Method::SiluPairsJl => 24.0 * facts * facts,
        Method::Ntk | Method::NtkMarginOptimal | Method::NtkDegreeTwo | Method::Hebbian => {
            36.0 * dimension * WIDEST as f64
        }
        Method::HebbianWhitened => 4.0 * facts * facts,
        Method::HebbianFitted => hebbian_fitted::bytes(facts, 10.0 * facts / dimension),
        _ => 4e6,
    };
    tables + own
}

/// One row. What is said of an MLP is measured on the built one.
fn record(ground: &Ground, found: &Found, built: Option<&Built>) -> Result<Record> {
    let facts: &FactSet = ground.facts;
    let verified = built.map(|built| verify(&built.mlp, facts));
    let stores_all = verified.as_ref().is_some_and(|verified| verified.count(Certainty::Stored) == facts.len());
    let reached = built.filter(|_| stores_all);
    let constant = reached.map(|built| lipschitz(&built.mlp, facts, lipschitz::KEYS)).transpose()?;
    let count = |certainty| verified.as_ref().map(|verified| verified.count(certainty));
    Ok(Record::new()
        .with("facts", facts.len())
        .with("bits", ground.bits())
        .with("reached", reached.is_some())
        .with("size", reached.and(found.size))
        .with("size_smallest_ever", found.smallest_ever)
        .with("code_length", reached.and_then(|built| built.code_length))
        .with("hidden", reached.map(|built| built.mlp.hidden()))
        .with("parameters", reached.map(|built| built.mlp.parameters()))
        .with("stored", count(Certainty::Stored).unwrap_or(found.best()))
        .with("undecided", count(Certainty::Undecided))
        .with("smallest_margin", verified.as_ref().map(Verified::smallest_margin))
        .with("relative_residual", built.and_then(|built| built.relative_residual))
        .with("lipschitz", constant)
        .with("weight_norm", reached.map(|built| built.mlp.weight_norm()))
        .with("largest_weight", reached.map(|built| built.mlp.largest_weight()))
        .with("build_work", reached.map(|built| built.work))
        .with("largest_probe", found.probes.keys().next_back().copied())
        .with("probes", found.probes.len())
        .with("monotone", found.size == found.smallest_ever))
}
