//! Facts of a user on the command line: keys, values, and which value belongs to which key.

use std::path::{Path, PathBuf};

use clap::Args;

use super::inputs::Input;
use crate::error::{Error, Result};
use crate::facts::fact_set::FactSet;
use crate::facts::files::Source;
use crate::facts::files::fact_map::{FactMap, Side};
use crate::facts::files::names::Names;
use crate::facts::files::rows::Pick;

/// Where facts are read from.
#[derive(Args, Debug)]
pub struct FactOptions {
    /// The table of keys, one per row
    #[arg(long, value_name = "KEYS")]
    keys: Option<Source>,
    /// The table of values, one per row
    #[arg(long, value_name = "VALUES")]
    values: Option<Source>,
    /// Which value belongs to which key: a CSV, TSV or Parquet file with a key and a value in each line, by row number or by
    /// name [default: key i has value i]
    #[arg(long, value_name = "MAP")]
    facts: Option<PathBuf>,
    /// Names of the keys: a .txt file with a name per line, or FILE:COLUMN
    #[arg(long, value_name = "NAMES")]
    key_names: Option<Source>,
    /// Names of the values
    #[arg(long, value_name = "NAMES")]
    value_names: Option<Source>,
}

/// Facts in memory, and what they are called.
pub struct Facts {
    pub set: FactSet,
    /// Row of the key and row of the value of each fact.
    rows: Vec<(usize, usize)>,
    key_names: Option<Names>,
    value_names: Option<Names>,
}

impl FactOptions {
    /// Whether anything of facts was said.
    pub fn is_given(&self) -> bool {
        let tables = [&self.keys, &self.values, &self.key_names, &self.value_names];
        self.facts.is_some() || tables.iter().any(|source| source.is_some())
    }

    /// The files that are read.
    pub fn files(&self) -> Vec<&Path> {
        let tables = [&self.keys, &self.values, &self.key_names, &self.value_names];
        tables.into_iter().flatten().map(Source::path).chain(self.facts.as_deref()).collect()
    }

    /// Reads the facts.
    ///
    /// # Errors
    /// When a file cannot be read, dimensions differ, or the map names a row that is not there.
    pub fn read(&self) -> Result<Facts> {
        let keys = table(&self.keys, "keys")?;
        let values = table(&self.values, "values")?;
        let names = |source: &Option<Source>, rows| source.as_ref().map(|names| Names::read(names, rows)).transpose();
        let (key_names, value_names) =
            (names(&self.key_names, keys.nrows())?, names(&self.value_names, values.nrows())?);
        let map = match &self.facts {
            Some(path) => {
                let sides =
                    (Side::keys(keys.nrows(), key_names.as_ref()), Side::values(values.nrows(), value_names.as_ref()));
                FactMap::read(path, sides.0, sides.1)?
            }
            None => FactMap::in_order(keys.nrows(), values.nrows())?,
        };
        let chosen: Vec<usize> = map.facts.iter().map(|(key, _)| *key).collect();
        let own_keys =
            if chosen.iter().copied().eq(0..keys.nrows()) { keys } else { keys.select(ndarray::Axis(0), &chosen) };
        let set = FactSet::new(own_keys, values, map.facts.iter().map(|(_, value)| *value).collect())?;
        Ok(Facts { set, rows: map.facts, key_names, value_names })
    }
}

fn table(source: &Option<Source>, noun: &str) -> Result<ndarray::Array2<f64>> {
    let source = source
        .as_ref()
        .ok_or_else(|| Error::input(format!("no {noun} were given")).fix(format!("name the table: --{noun} FILE")))?;
    Ok(Input::read(source, None, &Pick::all())?.picked.table)
}

impl Facts {
    /// A fact for people: the key and the value by name, or by row number.
    pub fn label(&self, fact: usize) -> String {
        let (key, value) = self.rows[fact];
        let name = |names: &Option<Names>, row: usize| match names.as_ref().and_then(|names| names.of(row)) {
            Some(name) => format!("'{name}'"),
            None => row.to_string(),
        };
        format!("{} → {}", name(&self.key_names, key), name(&self.value_names, value))
    }
}
