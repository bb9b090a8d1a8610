//! A small experiment that can also go wrong in every way.

use std::time::Duration;

use factsmith::error::{Error, Result};
use factsmith::pipeline::experiment::{self, Experiment, Params};
use factsmith::rng::StreamName;
use factsmith::table::Record;
use rand::Rng as _;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Toy {
    d: usize,
    kappa: f64,
    #[serde(default)]
    fault: Fault,
}

#[derive(Serialize, Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Fault {
    #[default]
    None,
    Panic,
    Error,
    Nan,
    Abort,
    Slow,
    Long,
    Empty,
    Flaky,
    Drift,
}

pub struct ToyExperiment;

impl Experiment for ToyExperiment {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn version(&self) -> u32 {
        1
    }

    fn fields(&self) -> &'static [&'static str] {
        &["d", "kappa", "fault"]
    }

    fn canonical(&self, point: &toml::Table) -> Result<Params> {
        let toy: Toy = experiment::parse(point, self.fields())?;
        if toy.kappa < 1.0 {
            return Err(Error::input(format!("'kappa' is {}", toy.kappa)).fix("use a number of at least 1"));
        }
        experiment::canonical(&toy)
    }

    fn cost(&self, params: &Params) -> f64 {
        // An aborting cell comes last, so that the others are in the journal by then.
        if params["fault"] == "abort" { 1e-9 } else { params["d"].as_f64().unwrap_or(1.0) }
    }

    fn memory(&self, _: &Params) -> f64 {
        1e6
    }

    fn run(&self, params: &Params, seed: u64) -> Result<Vec<Record>> {
        let toy: Toy = experiment::typed(params)?;
        match toy.fault {
            Fault::None => {}
            Fault::Panic => panic!("the toy is broken"),
            Fault::Error => return Err(Error::failure("the toy gave up")),
            Fault::Nan => return Ok(vec![Record::new().with("margin", f64::NAN)]),
            // After a kill the rerun is to succeed, so the file says whether this is the first time.
            Fault::Abort if std::env::var_os("FACTSMITH_TEST_ABORT").is_some() => std::process::abort(),
            Fault::Abort => {}
            Fault::Slow => std::thread::sleep(Duration::from_millis(30)),
            Fault::Long => std::thread::sleep(Duration::from_secs(60)),
            Fault::Empty => return Ok(Vec::new()),
            Fault::Flaky if std::env::var_os("FACTSMITH_TEST_FLAKY").is_some() => {
                return Err(Error::failure("the toy is out of order"));
            }
            Fault::Drift if std::env::var_os("FACTSMITH_TEST_DRIFT").is_some() => {
                return Ok(vec![Record::new().with("anchor", 0_usize).with("margin", 0.5)]);
            }
            Fault::Flaky | Fault::Drift => {}
        }
        let mut rng = StreamName::new("toy").with(toy.d as u64).with(toy.kappa.to_bits()).with(seed).rng();
        let record = |anchor: usize| {
            Record::new().with("anchor", anchor).with("margin", (rng.next_u64() >> 11) as f64 / 2_f64.powi(53))
        };
        Ok((0..3).map(record).collect())
    }
}

pub static TOY: ToyExperiment = ToyExperiment;
