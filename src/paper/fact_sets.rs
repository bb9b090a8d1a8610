//! The fact sets of the experiments (2512.00207, A.1.1): `F = β·d²` facts, a random bijection, embeddings on the sphere.
//!
//! Streams are named by what they make and not by the cell that asks, so that all methods, condition numbers and whitening
//! strengths of one seed see the same embeddings and the same facts.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::facts::conditioning::{linear_spectrum, log_affine_spectrum};
use crate::facts::embeddings::{Kind, draw};
use crate::facts::fact_set::{FactSet, random_bijection};
use crate::rng::StreamName;

/// How singular values are spread to reach a condition number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spectrum {
    /// Log-affine, largest singular value kept (2512.00207).
    LogAffine,
    /// Linear, Frobenius norm kept (code of 2607.10034).
    Linear,
}

/// Which keys go with conditioned values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keys {
    /// The same table as the values, conditioned with them: `K = V` taken literally.
    Tied,
    /// The table as drawn, before conditioning: only the geometry of the values varies.
    Isotropic,
}

/// Number of facts `F = round(β·d²)`.
pub fn facts_for(dimension: usize, facts_per_d2: f64) -> Result<usize> {
    let facts = (facts_per_d2 * (dimension * dimension) as f64).round();
    if dimension == 0 || !facts.is_finite() || facts < 2.0 {
        return Err(Error::input(format!("{facts_per_d2}·{dimension}² is not a number of facts"))
            .fix("use a dimension and facts_per_d2 that give at least 2 facts"));
    }
    if facts > 1e6 {
        return Err(
            Error::input(format!("{facts} facts are more than this experiment is made for")).fix("use at most 1e6")
        );
    }
    Ok(facts as usize)
}

/// A table on the sphere: the embeddings of one seed.
pub fn sphere(dimension: usize, facts: usize, seed: u64) -> Result<Array2<f64>> {
    let name = StreamName::new("embeddings on the sphere").with(dimension as u64).with(facts as u64).with(seed);
    draw(Kind::Sphere, facts, dimension, &mut name.rng())
}

/// The table of one seed with a condition number.
pub fn values(dimension: usize, facts: usize, spectrum: Spectrum, kappa: f64, seed: u64) -> Result<Array2<f64>> {
    let table = sphere(dimension, facts, seed)?;
    match spectrum {
        Spectrum::LogAffine => log_affine_spectrum(&table, kappa),
        Spectrum::Linear => linear_spectrum(&table, kappa),
    }
}

/// The fact set of one seed: conditioned values, keys as `keys` says, a random bijection.
pub fn fact_set(dimension: usize, facts: usize, kappa: f64, keys: Keys, seed: u64) -> Result<FactSet> {
    let values = values(dimension, facts, Spectrum::LogAffine, kappa, seed)?;
    let keys = match keys {
        Keys::Tied => values.clone(),
        Keys::Isotropic => sphere(dimension, facts, seed)?,
    };
    FactSet::new(keys, values, bijection(facts, seed))
}

/// The fact set of one seed on the sphere as drawn, keys tied to values (2512.00207, A.1.1), a random bijection.
pub fn spherical_fact_set(dimension: usize, facts: usize, seed: u64) -> Result<FactSet> {
    let table = sphere(dimension, facts, seed)?;
    FactSet::new(table.clone(), table, bijection(facts, seed))
}

fn bijection(facts: usize, seed: u64) -> Vec<usize> {
    random_bijection(facts, &mut StreamName::new("fact map").with(facts as u64).with(seed).rng())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditioning_leaves_the_map_and_the_isotropic_keys_alone() {
        let plain = fact_set(8, 16, 1.0, Keys::Isotropic, 3).unwrap();
        let stretched = fact_set(8, 16, 100.0, Keys::Isotropic, 3).unwrap();
        assert_eq!(plain.map, stretched.map);
        assert_eq!(plain.keys, stretched.keys);
        assert_ne!(plain.values, stretched.values);
        let tied = fact_set(8, 16, 100.0, Keys::Tied, 3).unwrap();
        assert_eq!((&tied.keys, &tied.values), (&stretched.values, &stretched.values));
    }

    #[test]
    fn numbers_of_facts() {
        assert_eq!(facts_for(64, 0.25).unwrap(), 1024);
        assert!(facts_for(0, 0.25).is_err() && facts_for(2, 0.1).is_err() && facts_for(64, f64::NAN).is_err());
    }
}
