//! `factsmith measure`

use std::path::PathBuf;

use serde_json::json;

use super::Context;
use crate::error::Result;
use crate::facts::decodability::{Certificate, Cores, Decodability, decodability};
use crate::facts::files::read_table;
use crate::facts::geometry::{coherence, condition_number};

/// Measure how decodable a table of value embeddings is
///
/// Prints the decodability ρ with its certificate, coherence and condition number of any two-dimensional float table,
/// one value per row.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  factsmith measure values.npy
  factsmith measure values.npy --json

What is measured:
  ρ_i     the largest margin by which a unit vector tells value i from every other one:
          max over |u| ≤ 1 of the smallest ⟨(v_i − v_j)/|v_i − v_j|, u⟩ over j (2512.00207, section 3)
  ρ       the smallest ρ_i of the table; an MLP that stores facts with these values needs about ρ^-2 code entries
  gap     relative difference between a margin that is achieved and a bound no output can pass")]
pub struct Arguments {
    /// A .npy table of 32- or 64-bit floats, one value per row
    values: PathBuf,
}

pub fn execute(arguments: &Arguments, context: &mut Context) -> Result<u8> {
    let values = read_table(&arguments.values)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(context.threads())
        .build()
        .map_err(|error| crate::error::Error::failure(format!("cannot start threads: {error}")))?;
    let found = pool.install(|| decodability(&values, Cores::All))?;
    let (coherence, condition) = (coherence(&values), condition_number(&values)?);
    let (rows, dimension) = values.dim();
    if context.options.json {
        let weakest = &found.certificates[found.weakest];
        let duplicates: Vec<[usize; 2]> = duplicates(&found);
        context.print_json(&json!({
            "file": arguments.values.display().to_string(),
            "values": rows,
            "dimension": dimension,
            "rho": found.rho,
            "rho_upper": weakest.upper,
            "rho_mean": found.mean(),
            "weakest": found.weakest,
            "rival": weakest.rival,
            "worst_relative_gap": found.worst_gap(),
            "loose_certificates": found.loose(),
            "undecodable": found.undecodable(),
            "duplicates": duplicates,
            "coherence": coherence,
            "condition_number": condition.is_finite().then_some(condition),
        }))?;
    } else {
        context.print(&report(&found, rows, dimension, coherence, condition))?;
    }
    Ok(0)
}

/// Values that equal an earlier one, with it.
fn duplicates(found: &Decodability) -> Vec<[usize; 2]> {
    let twins = found.certificates.iter().enumerate();
    twins
        .filter_map(|(value, certificate)| certificate.duplicate.filter(|twin| *twin < value).map(|twin| [value, twin]))
        .collect()
}

/// Six digits, whatever the size.
fn plain(value: f64) -> String {
    if value == 0.0 || value >= 1e-3 { format!("{value:.6}") } else { format!("{value:.5e}") }
}

fn report(found: &Decodability, rows: usize, dimension: usize, coherence: f64, condition: f64) -> String {
    let weakest = &found.certificates[found.weakest];
    let mut text = format!(
        "{rows} values in {dimension} dimensions\n\
         decodability ρ    {}  (value {}, most easily taken for value {})\n\
         mean of the ρ_i   {}\n\
         certificate       ρ is at least {:.11e} and at most {:.11e}; largest relative gap of any value {:.1e}\n\
         coherence         {coherence:.6}\n\
         condition number  {}\n",
        plain(found.rho),
        found.weakest,
        weakest.rival,
        plain(found.mean()),
        weakest.lower,
        weakest.upper.max(weakest.lower),
        found.worst_gap(),
        if condition.is_finite() {
            format!("{condition:.3}")
        } else {
            "infinite: the table has not full rank".to_owned()
        },
    );
    if found.loose() > 0 {
        text.push_str(&format!(
            "loose             {} values have a ρ_i too small to be certified to a relative gap of {:.0e} in double precision\n",
            found.loose(),
            Certificate::TIGHT
        ));
    }
    if found.undecodable() > 0 {
        text.push_str(&format!(
            "undecodable       {} values: no output decodes to them, whatever the MLP (ρ_i = 0)\n",
            found.undecodable()
        ));
        for [value, twin] in duplicates(found).into_iter().take(5) {
            text.push_str(&format!("                  value {value} equals value {twin}\n"));
        }
    }
    text
}
