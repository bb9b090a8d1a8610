//! A small experiment that reads a file.

use std::io::Write;
use std::path::PathBuf;

use factsmith::error::{Error, Result};
use factsmith::pipeline::experiment::{self, Experiment, Params};
use factsmith::table::Record;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Point {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
    factor: usize,
    /// Writes to the file as well.
    #[serde(default)]
    meddles: bool,
}

pub struct ReaderExperiment;

impl Experiment for ReaderExperiment {
    fn name(&self) -> &'static str {
        "reader"
    }

    fn version(&self) -> u32 {
        1
    }

    fn fields(&self) -> &'static [&'static str] {
        &["file", "factor", "meddles"]
    }

    fn file_fields(&self) -> &'static [&'static str] {
        &["file"]
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        experiment::canonical(&experiment::parse::<Point>(point, self.fields())?)
    }

    fn cost(&self, _: &Params) -> f64 {
        1e-3
    }

    fn memory(&self, _: &Params) -> f64 {
        1e6
    }

    fn run(&self, params: &Params, _: u64) -> Result<Vec<Record>> {
        let point: Point = experiment::typed(params)?;
        if std::env::var_os("FACTSMITH_TEST_FLAKY").is_some() {
            return Err(Error::failure("the reader is out of order"));
        }
        let Some(path) = point.file else { return Ok(vec![Record::new().with("bytes", 0_usize)]) };
        let bytes = std::fs::read(&path).map_err(|error| Error::io("read", &path, &error))?;
        if point.meddles {
            std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"more").unwrap();
        }
        Ok(vec![Record::new().with("bytes", point.factor * bytes.len())])
    }
}

pub static READER: ReaderExperiment = ReaderExperiment;
