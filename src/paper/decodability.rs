//! Decodability of conditioned and whitened tables: ρ certified against F, d, κ and α (2512.00207, §3).

use serde::{Deserialize, Serialize};

use super::fact_sets::{Spectrum, facts_for, values};
use crate::error::{Error, Result};
use crate::facts::decodability::{Certificate, Cores, achieved_margins, decodability};
use crate::facts::geometry::{coherence, condition_number};
use crate::facts::whitening::Whitening;
use crate::pipeline::experiment::{self, Experiment, Params};
use crate::table::Record;

/// One table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Embedding dimension d.
    pub dimension: usize,
    /// β in `F = β·d²`.
    pub facts_per_d2: f64,
    /// Condition number κ.
    pub kappa: f64,
    /// Whitening strength α.
    pub alpha: f64,
    pub spectrum: Spectrum,
}

const FIELDS: &[&str] = &["dimension", "facts_per_d2", "kappa", "alpha", "spectrum"];

/// The experiment `decodability`.
pub struct DecodabilityOfTables;

impl Experiment for DecodabilityOfTables {
    fn name(&self) -> &'static str {
        "decodability"
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
        experiment::canonical(&point)
    }

    fn cost(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        seconds(point.facts_per_d2 * (point.dimension * point.dimension) as f64, point.dimension)
    }

    /// A dozen tables of `F·d` numbers. Measured: 28 MB at F = 4096, d = 64; 90 MB at F = 8192, d = 128.
    fn memory(&self, params: &Params) -> f64 {
        let Ok(point) = experiment::typed::<Point>(params) else { return 0.0 };
        let facts = point.facts_per_d2 * (point.dimension * point.dimension) as f64;
        5e6 + 90.0 * facts * point.dimension as f64
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        let facts = facts_for(point.dimension, point.facts_per_d2)?;
        let table = values(point.dimension, facts, point.spectrum, point.kappa, seed)?;
        let table = Whitening::fit(&table, point.alpha)?.apply(&table);
        let found = decodability(&table, Cores::One)?;
        if found.worst_gap() > Certificate::TIGHT {
            return Err(Error::failure(format!("a certificate has a relative gap of {:.1e}", found.worst_gap())));
        }
        let plain = achieved_margins(table.view(), table.view());
        let most_active = found.certificates.iter().map(|certificate| certificate.active).max().unwrap_or(0);
        Ok(vec![
            Record::new()
                .with("facts", facts)
                .with("rho", found.rho)
                .with("rho_mean", found.mean())
                .with("plain_margin", plain.iter().copied().fold(f64::INFINITY, f64::min))
                .with("worst_gap", found.worst_gap())
                .with("undecodable", found.undecodable())
                .with("most_active", most_active)
                .with("coherence", coherence(&table))
                .with("measured_kappa", condition_number(&table)?),
        ])
    }
}

/// Predicted seconds of one core for the decodability of a table: every anchor is priced against every value, at `d`
/// products each, and the active sets are kept. Fitted to single cells from F = 16 to 4096 and d = 16 to 64.
pub fn seconds(facts: f64, dimension: usize) -> f64 {
    1.5e-5 * facts + facts * facts * (1.2e-7 + 1.9e-9 * dimension as f64)
}

/// Condition numbers of the papers end at 1e4.
const LARGEST_KAPPA: f64 = 1e5;

/// 1 ≤ κ ≤ 1e5 and 0 ≤ α ≤ 1, checked when the manifest is read and not hours later.
pub fn check_ranges(kappa: f64, alpha: f64) -> Result<()> {
    if !(kappa.is_finite() && kappa >= 1.0) {
        return Err(Error::input(format!("kappa is {kappa}")).fix("use a finite condition number of at least 1"));
    }
    if kappa > LARGEST_KAPPA {
        return Err(Error::input(format!("kappa is {kappa:e}"))
            .fix(format!("use at most {LARGEST_KAPPA:e}: beyond it ρ cannot be certified in double precision")));
    }
    if !(0.0..=1.0).contains(&alpha) {
        return Err(Error::input(format!("alpha is {alpha}")).fix("use a whitening strength between 0 and 1"));
    }
    Ok(())
}
