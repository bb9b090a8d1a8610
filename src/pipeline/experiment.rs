//! What the engine knows of an experiment: a pure function from checked parameters and a seed to records.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;

use crate::error::{Error, Result, unknown};
use crate::table::Record;

/// Checked parameters of one grid point in canonical form: typed, complete, sorted by name.
pub type Params = serde_json::Map<String, serde_json::Value>;

/// A pure function of (name, version, parameters, seed) that yields the rows of one cell.
pub trait Experiment: Sync {
    /// The name used in `pipeline.toml`.
    fn name(&self) -> &'static str;

    /// Raised whenever the numbers change for the same parameters.
    fn version(&self) -> u32;

    /// The parameter names a grid may give.
    fn fields(&self) -> &'static [&'static str];

    /// Checks a grid point as written and returns it in canonical form.
    fn canonical(&self, point: &toml::Table) -> Result<Params>;

    /// Predicted seconds of one core for this cell, up to a factor that recorded timings calibrate.
    fn cost(&self, params: &Params) -> f64;

    /// Computes the cell.
    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>>;
}

/// Parses a grid point into typed parameters `P`: an unknown name is an error with its near miss.
pub fn parse<P: DeserializeOwned>(point: &toml::Table, fields: &'static [&'static str]) -> Result<P> {
    if let Some(name) = point.keys().find(|name| !fields.contains(&name.as_str())) {
        return Err(unknown("parameter", name, fields.iter().copied()));
    }
    let borrowed = point.iter().map(|(name, value)| (name.as_str(), value.clone()));
    if let Ok(params) = P::deserialize(MapDeserializer::<_, toml::de::Error>::new(borrowed)) {
        return Ok(params);
    }
    // The same with a copy of the names, for an error that says which parameter is at fault.
    P::deserialize(toml::Value::Table(point.clone())).map_err(|error| {
        let what = match faulty_parameter(&error.to_string()) {
            Some(name) => format!("parameter '{name}': {}", error.message().trim()),
            None => error.message().trim().to_owned(),
        };
        Error::input(what).fix(format!("the parameters are: {}", fields.join(", ")))
    })
}

/// The toml crate names the key of a value only in the last line of its display: "in `d`".
fn faulty_parameter(display: &str) -> Option<&str> {
    display.lines().last()?.strip_prefix("in `")?.strip_suffix('`')
}

/// The canonical form of typed parameters. `-0.0` becomes `0.0`; a number that is not finite is an error.
pub fn canonical<P: Serialize>(params: &P) -> Result<Params> {
    let value = serde_json::to_value(params).map_err(|error| Error::failure(error.to_string()))?;
    let serde_json::Value::Object(mut map) = value else {
        return Err(Error::failure("parameters must be a struct"));
    };
    for (name, value) in &mut map {
        if value.is_null() {
            return Err(Error::input(format!("parameter '{name}' is not a finite number")).fix("give a finite number"));
        }
        if value.as_f64() == Some(0.0) && value.is_f64() {
            *value = serde_json::Value::from(0.0);
        }
    }
    Ok(map)
}

/// Canonical parameters back as the typed struct they were made from.
pub fn typed<P: DeserializeOwned>(params: &Params) -> Result<P> {
    P::deserialize(serde_json::Value::Object(params.clone())).map_err(|error| Error::failure(error.to_string()))
}
