//! What the engine knows of an experiment: a pure function from checked parameters and a seed to records.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde_json::Value;

use crate::error::{Error, Result, unknown};
use crate::table::Record;

/// Checked parameters of one grid point in canonical form: typed, complete, sorted by name.
pub type Params = serde_json::Map<String, Value>;

/// A pure function of (name, version, parameters, seed) that yields the rows of one cell.
pub trait Experiment: Sync {
    /// The name used in `pipeline.toml`.
    fn name(&self) -> &'static str;

    /// Raised whenever the numbers change for the same parameters.
    fn version(&self) -> u32;

    /// The parameter names a grid may give.
    fn fields(&self) -> &'static [&'static str];

    /// Those of [`Self::fields`] that name a file, by its path as seen from the folder of `pipeline.toml`. What is in the file
    /// takes the place of the path in keys and tables, and wherever else parameters are read; [`Self::run`] gets a path that
    /// can be opened.
    fn file_fields(&self) -> &'static [&'static str] {
        &[]
    }

    /// Checks a grid point as written and returns it in canonical form.
    fn canonical(&self, point: &toml::Table) -> Result<Params>;

    /// Predicted seconds of one core for this cell, up to a factor that recorded timings calibrate.
    fn cost(&self, params: &Params) -> f64;

    /// Predicted bytes of memory that the cell holds at its peak, beyond what the program itself takes.
    fn memory(&self, params: &Params) -> f64;

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
        let name = faulty_parameter(&error.to_string()).map(str::to_owned);
        if let (Some(name), Some((word, variants))) = (&name, unknown_variant(error.message())) {
            return unknown(&format!("'{name}'"), word, variants);
        }
        let what = match name {
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

/// serde names the word and what it could be: "unknown variant `a`, expected `b` or `c`".
fn unknown_variant(message: &str) -> Option<(&str, Vec<&str>)> {
    let mut quoted = message.strip_prefix("unknown variant ")?.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    Some((word, quoted.collect()))
}

/// The canonical form of typed parameters. The type of a field decides, not how a number is written: `1`, `1.0` and `1e0`
/// are the same for a float, and none but `1` is one for an integer. `-0.0` becomes `0.0`; a number that is not finite is
/// an error. An absent value is one as well, because JSON can't tell it from such a number.
pub fn canonical<P: Serialize>(params: &P) -> Result<Params> {
    let value = serde_json::to_value(params).map_err(|error| Error::failure(error.to_string()))?;
    let Value::Object(mut map) = value else {
        return Err(Error::failure("parameters must be a struct"));
    };
    for (name, value) in &mut map {
        if !make_canonical(value) {
            return Err(Error::input(format!("parameter '{name}' is not a finite number")).fix("give a finite number"));
        }
    }
    Ok(map)
}

/// Returns whether all numbers in it are finite.
fn make_canonical(value: &mut Value) -> bool {
    match value {
        Value::Null => false,
        Value::Number(number) => {
            if number.is_f64() && number.as_f64() == Some(0.0) {
                *value = Value::from(0.0);
            }
            true
        }
        Value::Array(values) => values.iter_mut().all(make_canonical),
        Value::Object(map) => map.values_mut().all(make_canonical),
        Value::String(_) | Value::Bool(_) => true,
    }
}

/// Canonical parameters back as the typed struct they were made from.
pub fn typed<P: DeserializeOwned>(params: &Params) -> Result<P> {
    P::deserialize(Value::Object(params.clone())).map_err(|error| Error::failure(error.to_string()))
}
