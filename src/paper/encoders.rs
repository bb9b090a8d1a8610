//! Encoders on their own: how exact they are and what they cost (2512.00207, §4.1, B.3.2, B.4; theorem 4.1).

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::fact_sets::{facts_for, sphere};
use crate::error::{Error, Result};
use crate::facts::embeddings::gaussian;
use crate::mlp::network::Mlp;
use crate::mlp::{encoder_gadget, paired, staircase, two_hot};
use crate::num::statistics::largest_magnitude;
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::rng::{Rng, StreamName};
use crate::table::Record;

/// Which encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Gadget,
    Staircase,
    SiluPairs,
    ReluPairs,
    TwoHotGated,
    TwoHotPlain,
}

impl Kind {
    fn is_two_hot(self) -> bool {
        matches!(self, Self::TwoHotGated | Self::TwoHotPlain)
    }
}

/// One fit to standard normal outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub encoder: Kind,
    /// Embedding dimension d.
    pub dimension: usize,
    /// β in `F = β·d²` keys on the sphere; 0 for two-hot keys, of which there are d(d − 1).
    #[serde(default)]
    pub facts_per_d2: f64,
    /// Number of outputs m.
    pub outputs: usize,
    /// Hidden units beyond F/d, as a share of them; for gadgets and SiLU pairs.
    #[serde(default)]
    pub slack: f64,
    /// Half the distance of SiLU pairs; 0 for the others.
    #[serde(default)]
    pub epsilon: f64,
}

impl Point {
    /// Number of facts, for predictions.
    fn facts(&self) -> f64 {
        let squared = (self.dimension * self.dimension) as f64;
        if self.encoder.is_two_hot() { squared - self.dimension as f64 } else { self.facts_per_d2 * squared }
    }
}

const FIELDS: &[&str] = &["encoder", "dimension", "facts_per_d2", "outputs", "slack", "epsilon"];

/// The experiment `encoders`.
pub struct Encoders;

impl Experiment for Encoders {
    fn name(&self) -> &'static str {
        "encoders"
    }

    fn version(&self) -> u32 {
        1
    }

    fn fields(&self) -> &'static [&'static str] {
        FIELDS
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        let point: Point = experiment::parse(point, FIELDS)?;
        if point.outputs == 0 || point.dimension < 2 {
            return Err(Error::input(format!("{} outputs in {} dimensions", point.outputs, point.dimension))
                .fix("use at least one output and two dimensions"));
        }
        if point.encoder.is_two_hot() != (point.facts_per_d2 == 0.0) {
            return Err(Error::input(format!("facts_per_d2 is {}", point.facts_per_d2)).fix(
                "give 'facts_per_d2' for keys on the sphere, and not for two-hot keys, of which there are d(d − 1)",
            ));
        }
        if (point.encoder == Kind::SiluPairs) != (point.epsilon > 0.0) {
            return Err(Error::input(format!("epsilon is {}", point.epsilon))
                .fix("give a positive 'epsilon' for silu_pairs, and for no other encoder"));
        }
        if !(point.slack >= 0.0 && point.slack.is_finite()) {
            return Err(Error::input(format!("slack is {}", point.slack)).fix("use 0 or a positive share"));
        }
        if !point.encoder.is_two_hot() {
            facts_for(point.dimension, point.facts_per_d2)?;
        }
        experiment::canonical(&point)
    }

    /// The Cholesky factor of an F×F matrix, or one small decomposition per bin.
    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let facts = point.facts();
        match point.encoder {
            Kind::Gadget | Kind::SiluPairs => 0.001 + 2.5e-10 * facts.powi(3),
            _ => 0.001 + 3e-9 * facts * (point.dimension * point.dimension) as f64,
        }
    }

    /// Tables of keys and outputs; gadgets and SiLU pairs need products of all keys with all keys, three numbers for each.
    /// Measured: 84 MB for gadgets at F = 2048, 383 MB at F = 4096; 8 MB for staircases there.
    fn memory(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let facts = point.facts();
        let tables = 5e6 + 8.0 * facts * (point.dimension + 4 * point.outputs) as f64;
        match point.encoder {
            Kind::Gadget | Kind::SiluPairs => tables + 24.0 * facts * facts,
            _ => tables,
        }
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        let keys = match point.encoder.is_two_hot() {
            true => two_hot::keys(point.dimension),
            false => sphere(point.dimension, facts_for(point.dimension, point.facts_per_d2)?, seed)?,
        };
        let name = StreamName::new("encoder").with(point.dimension as u64).with(keys.nrows() as u64).with(seed);
        let mut rng = name.rng();
        let outputs = gaussian((keys.nrows(), point.outputs), &mut rng);
        let encoder = fit(&point, &keys, &outputs, &mut rng)?;
        Ok(vec![record(&point, &keys, &outputs, &encoder)])
    }
}

fn fit(point: &Point, keys: &Array2<f64>, outputs: &Array2<f64>, rng: &mut Rng) -> Result<Mlp> {
    Ok(match point.encoder {
        Kind::Gadget => encoder_gadget::fit(keys, outputs.view(), point.slack, rng)?.mlp().into(),
        Kind::Staircase => staircase::fit(keys, outputs.view(), rng)?.mlp().into(),
        Kind::SiluPairs => paired::silu(keys, outputs.view(), point.slack, point.epsilon, rng)?.into(),
        Kind::ReluPairs => paired::relu(keys, outputs.view(), rng)?.into(),
        Kind::TwoHotGated => two_hot::gated(point.dimension, outputs.view())?.into(),
        Kind::TwoHotPlain => two_hot::plain(point.dimension, outputs.view())?.into(),
    })
}

fn record(point: &Point, keys: &Array2<f64>, outputs: &Array2<f64>, encoder: &Mlp) -> Record {
    let missing = encoder.forward(keys.view()) - outputs;
    let residual = largest_magnitude(missing.view()) / largest_magnitude(outputs.view());
    let (facts, hidden) = (keys.nrows(), encoder.hidden());
    // The matrix E that adds up the units of an output is fixed: its entries are not counted (B.4.1).
    let parameters = encoder.parameters() - encoder.down().len();
    Record::new()
        .with("facts", facts)
        .with("hidden", hidden)
        .with("hidden_per_output", hidden as f64 / point.outputs as f64)
        .with("parameters", parameters)
        .with("parameters_per_number", parameters as f64 / (facts * point.outputs) as f64)
        .with("relative_residual", residual)
        .with("largest_weight", encoder.largest_weight())
        // Bubeck et al. (2020): 4⌈F/d⌉ units for one output.
        .with("bubeck_hidden", 4 * facts.div_ceil(point.dimension))
}
