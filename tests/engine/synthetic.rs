//! An experiment with parameters of every type, any name and version, that notes what it computes.

use std::sync::Mutex;

use factsmith::error::{Error, Result};
use factsmith::pipeline::experiment::{self, Experiment, Params};
use factsmith::table::Record;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub float: f64,
    #[serde(default)]
    pub int: i64,
    #[serde(default)]
    pub word: String,
    #[serde(default)]
    pub truth: bool,
    #[serde(default)]
    pub list: Vec<f64>,
}

pub struct Synthetic {
    name: &'static str,
    version: u32,
    computed: Mutex<Vec<(String, u64)>>,
}

impl Synthetic {
    pub fn new(name: &'static str, version: u32) -> Self {
        Self { name, version, computed: Mutex::default() }
    }

    /// Name, parameters and seed of each cell that was computed since the last call, sorted.
    pub fn take_computed(&self) -> Vec<String> {
        let mut cells: Vec<String> = std::mem::take(&mut *self.computed.lock().unwrap())
            .into_iter()
            .map(|(params, seed)| format!("{} {params} {seed}", self.name))
            .collect();
        cells.sort();
        cells
    }
}

impl Experiment for Synthetic {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> u32 {
        self.version
    }

    fn fields(&self) -> &'static [&'static str] {
        &["float", "int", "word", "truth", "list"]
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        experiment::canonical(&experiment::parse::<Point>(point, self.fields())?)
    }

    /// As many seconds as `float` says.
    fn cost(&self, params: &Params) -> f64 {
        params["float"].as_f64().unwrap_or(1.0)
    }

    /// As many megabytes as `int` says.
    fn memory(&self, params: &Params) -> f64 {
        1e6 * params["int"].as_f64().unwrap_or(0.0)
    }

    /// Fails when the word is "bad".
    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        self.computed.lock().unwrap().push((factsmith::pipeline::key::canonical_json(params), seed));
        if params["word"] == "bad" {
            return Err(Error::failure("a bad word"));
        }
        Ok(vec![Record::new().with("result", params["float"].as_f64().unwrap_or(0.0) + seed as f64)])
    }
}
