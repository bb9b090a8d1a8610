//! How often one draw of the random decoder works (2512.00207, §4.2: m = O(ρ⁻²·log n) with probability above 2/3).

use serde::{Deserialize, Serialize};

use super::decodability::check_ranges;
use super::fact_sets::{Spectrum, facts_for, values};
use crate::error::{Error, Result};
use crate::facts::decodability::{Cores, decodability};
use crate::facts::decoding::stored;
use crate::mlp::johnson_lindenstrauss::NestedDecoder;
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::rng::StreamName;
use crate::table::Record;

/// One code length for one table of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Embedding dimension d.
    pub dimension: usize,
    /// β in `n = β·d²` values.
    pub facts_per_d2: f64,
    /// Condition number κ of the values.
    pub kappa: f64,
    /// c in `m = ⌈c·ln(n)/ρ²⌉`.
    pub multiple: f64,
}

const FIELDS: &[&str] = &["dimension", "facts_per_d2", "kappa", "multiple"];

/// Draws of the decoder.
const DRAWS: u64 = 60;

/// The experiment `random_decoders`.
pub struct RandomDecoders;

impl Experiment for RandomDecoders {
    fn name(&self) -> &'static str {
        "random_decoders"
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
        check_ranges(point.kappa, 0.0)?;
        if !(point.multiple > 0.0 && point.multiple <= 100.0) {
            return Err(
                Error::input(format!("multiple is {}", point.multiple)).fix("use a multiple above 0 and at most 100")
            );
        }
        experiment::canonical(&point)
    }

    /// U*, then a product of all values with all values per draw.
    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let values = point.facts_per_d2 * (point.dimension * point.dimension) as f64;
        0.005 + (60.0 + DRAWS as f64) * 5e-11 * values * values * point.dimension as f64
    }

    /// A dozen tables of `F·d` numbers. Measured: 12 MB at F = 1024, d = 64; 18 MB at F = 2048, d = 64.
    fn memory(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        5e6 + 100.0 * point.facts_per_d2 * (point.dimension * point.dimension * point.dimension) as f64
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        let count = facts_for(point.dimension, point.facts_per_d2)?;
        let values = values(point.dimension, count, Spectrum::LogAffine, point.kappa, seed)?;
        let best = decodability(&values, Cores::One)?;
        let length = (point.multiple * (count as f64).ln() / best.rho.powi(2)).ceil() as usize;
        let works = |draw: u64| {
            let name = StreamName::new("random decoder").with(point.dimension as u64).with(count as u64).with(seed);
            let mut decoder = NestedDecoder::new(point.dimension, name.with(draw));
            stored(&decoder.margins(&values, &best.outputs, length)) == count
        };
        let successes = (0..DRAWS).filter(|draw| works(*draw)).count();
        Ok(vec![
            Record::new()
                .with("facts", count)
                .with("rho", best.rho)
                .with("code_length", length)
                .with("draws", DRAWS as usize)
                .with("successes", successes)
                .with("success_share", successes as f64 / DRAWS as f64),
        ])
    }
}
