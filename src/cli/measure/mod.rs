//! `factsmith measure`

mod json;
mod report;
mod rows;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use super::Context;
use super::inputs::{Input, RowOptions};
use super::output::check_output;
use crate::error::{Error, Result};
use crate::facts::decodability::Certificate;
use crate::facts::files::Source;
use crate::facts::measurement::{Measurement, draw_anchors, usual_anchors};
use crate::facts::survey::Survey;
use crate::figures::{format_of, rho_distribution};
use crate::pipeline::progress::{about, tell};

/// Measure how decodable a table of value embeddings is
///
/// Prints the decodability ρ with its certificate, the values that are hardest to tell apart, coherence, spectrum, what
/// whitening would gain, and how large an MLP that stores one fact per value is predicted to be.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith measure values.npy
  factsmith measure model.safetensors:embed.weight --names tokens.txt --sample 4096
  factsmith measure values.parquet --keys keys.npy --json
  factsmith measure values.npy --parquet rho.parquet --plot rho.svg

Files: .npy, .npz:ARRAY, .safetensors:TENSOR, .parquet[:LIST COLUMN], .csv, .tsv; one vector per row.

What is measured:
  ρ_i     the largest margin by which a unit vector tells value i from every other one:
          max over |u| ≤ 1 of the smallest ⟨(v_i − v_j)/|v_i − v_j|, u⟩ over j (2512.00207, section 3)
  ρ       the smallest ρ_i of the table; an MLP that stores facts with these values needs about ρ^-2 code entries
  gap     relative difference between a margin that is achieved and a bound no output can pass")]
pub struct Arguments {
    /// The table of values, one per row: FILE, or FILE:NAME where a file holds several
    values: Source,
    /// A table of keys, whose geometry is measured too
    #[arg(long, value_name = "KEYS")]
    keys: Option<Source>,
    /// Names of the values: a .txt file with a name per line, or FILE:COLUMN of a CSV, TSV or Parquet file
    #[arg(long, value_name = "NAMES")]
    names: Option<Source>,
    #[command(flatten)]
    rows: RowOptions,
    /// Values whose ρ_i is measured, among all that are read: a number or 'all' [default: all, or a random sample that takes
    /// a few minutes]
    #[arg(long, value_name = "N")]
    anchors: Option<Anchors>,
    /// How many of the weakest values are listed
    #[arg(long, value_name = "N", default_value_t = 5)]
    worst: usize,
    /// Write a row per value: ρ_i, its bounds, the closest rival
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Draw the distribution of ρ_i, as SVG or PNG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl Arguments {
    /// The files that are read.
    fn files(&self) -> Vec<&Path> {
        [Some(&self.values), self.keys.as_ref(), self.names.as_ref()].into_iter().flatten().map(Source::path).collect()
    }
}

/// A number of values or all.
#[derive(Debug, Clone, Copy)]
enum Anchors {
    All,
    Some(usize),
}

impl FromStr for Anchors {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match (text, text.parse()) {
            ("all", _) => Ok(Self::All),
            (_, Ok(count)) if count > 0 => Ok(Self::Some(count)),
            _ => Err(Error::input("not a number of values").fix("give a number above 0, or 'all'")),
        }
    }
}

/// What was read and what was found.
struct Findings {
    values: Input,
    found: Measurement,
    keys: Option<(Input, Survey)>,
    worst: usize,
    seed: u64,
}

impl Findings {
    /// The value that the one of a certificate is most easily taken for; `None` where any output is taken for several.
    fn rival(&self, certificate: &Certificate) -> Option<usize> {
        if certificate.lower > 0.0 { Some(certificate.rival) } else { certificate.duplicate }
    }
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(context.threads())
        .build()
        .map_err(|error| Error::failure(format!("cannot start threads: {error}")))?;
    if let Some(path) = &arguments.plot {
        format_of(path)?;
    }
    for path in arguments.parquet.iter().chain(&arguments.plot) {
        check_output(path, &arguments.files())?;
    }
    let findings = pool.install(|| measure(arguments))?;
    if let Some(path) = &arguments.parquet {
        rows::table(&findings)?.write_parquet(path)?;
    }
    if let Some(path) = &arguments.plot {
        rho_distribution::figure(&findings.values.source.to_string(), &findings.found).write_file(path)?;
    }
    if context.options.json {
        context.print_json(&json::report(&findings))?;
    } else {
        context.print(&report::text(&findings))?;
    }
    Ok(0)
}

fn measure(arguments: &Arguments) -> Result<Findings> {
    let (pick, seed) = (arguments.rows.pick(), arguments.rows.seed);
    let values = Input::read(&arguments.values, arguments.names.as_ref(), &pick)?;
    let keys = arguments.keys.as_ref().map(|source| Input::read(source, None, &pick)).transpose()?;
    let (rows, dimension) = values.picked.table.dim();
    if let Some(other) = keys.as_ref().map(|keys| keys.picked.table.ncols()).filter(|other| *other != dimension) {
        return Err(Error::input(format!("keys have {other} dimensions, values {dimension}"))
            .fix("give keys and values of one model and layer"));
    }
    let count = match arguments.anchors {
        None => usual_anchors(rows, dimension),
        Some(Anchors::All) => rows,
        Some(Anchors::Some(count)) => count.min(rows),
    };
    let start = Instant::now();
    let found = Measurement::of(&values.picked.table, &draw_anchors(rows, count, seed))?;
    if !found.is_complete() {
        let all = about(start.elapsed().as_secs_f64() * rows as f64 / count as f64);
        tell(&format!("ρ_i was measured for {count} of {rows} values; --anchors all takes {all}"));
    }
    let survey = |keys: Input| Survey::of(&keys.picked.table).map(|survey| (keys, survey));
    Ok(Findings { values, found, keys: keys.map(survey).transpose()?, worst: arguments.worst, seed })
}
