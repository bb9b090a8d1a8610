//! Facts of a user on the command line: keys, values, and which value belongs to which key.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::inputs::Input;
use crate::error::{Error, Result};
use crate::facts::fact_set::{FactSet, Twins};
use crate::facts::files::Source;
use crate::facts::files::fact_map::{FactMap, Side};
use crate::facts::files::names::Names;
use crate::facts::files::rows::Pick;
use crate::mlp::network::Mlp;

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
    /// Rows of the table of keys.
    key_rows: usize,
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
        let key_rows = keys.nrows();
        let map = match &self.facts {
            Some(path) => FactMap::read(
                path,
                Side::keys(key_rows, key_names.as_ref()),
                Side::values(values.nrows(), value_names.as_ref()),
            )?,
            None => FactMap::in_order(keys.nrows(), values.nrows())?,
        };
        let chosen: Vec<usize> = map.facts.iter().map(|(key, _)| *key).collect();
        let own_keys =
            if chosen.iter().copied().eq(0..keys.nrows()) { keys } else { keys.select(ndarray::Axis(0), &chosen) };
        let set = FactSet::new(own_keys, values, map.facts.iter().map(|(_, value)| *value).collect())?;
        Ok(Facts { set, rows: map.facts, key_rows, key_names, value_names })
    }
}

fn table(source: &Option<Source>, noun: &str) -> Result<ndarray::Array2<f64>> {
    let source = source
        .as_ref()
        .ok_or_else(|| Error::input(format!("no {noun} were given")).fix(format!("name the table: --{noun} FILE")))?;
    Ok(Input::read(source, None, &Pick::all())?.picked.table)
}

impl Facts {
    /// Reads new facts: for each the place of the fact of its key, and its new value.
    ///
    /// # Errors
    /// As a fact map; and when a key has no fact.
    pub fn read_edits(&self, path: &Path) -> Result<Vec<(usize, usize)>> {
        let keys = Side::keys(self.key_rows, self.key_names.as_ref());
        let values = Side::values(self.set.values.nrows(), self.value_names.as_ref());
        let places: HashMap<usize, usize> = self.rows.iter().enumerate().map(|(fact, (key, _))| (*key, fact)).collect();
        let place = |(key, value): (usize, usize)| match places.get(&key) {
            Some(fact) => Ok((*fact, value)),
            None => Err(Error::input(format!("key {} has no fact to change", name(&self.key_names, key)))
                .at(path.display())
                .fix("an edit changes facts; to add some, name them in --facts and build again")),
        };
        FactMap::read(path, keys, values)?.facts.into_iter().map(place).collect()
    }

    /// Gives facts new values.
    pub fn set_values(&mut self, edits: &[(usize, usize)]) {
        for (fact, value) in edits {
            self.set.map[*fact] = *value;
            self.rows[*fact].1 = *value;
        }
    }

    /// Checks that an MLP of some size may store every fact.
    ///
    /// # Errors
    /// When equal keys or values make that impossible; names them.
    pub fn check_tellable(&self) -> Result<()> {
        let what = match self.set.twins() {
            None => return Ok(()),
            Some(Twins::Keys(one, other)) => {
                let key = |fact: usize| name(&self.key_names, self.rows[fact].0);
                format!("keys {} and {} are equal and have different values", key(one), key(other))
            }
            Some(Twins::Values(one, other)) => {
                let value = |row| name(&self.value_names, row);
                format!("values {} and {} are equal, and a tie is not stored", value(one), value(other))
            }
        };
        Err(Error::input(format!("no MLP stores every fact: {what}"))
            .fix("remove one of the two, or store what can be stored: factsmith build --size N"))
    }

    /// Checks that an MLP works in the dimension of keys and values.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_dimension(&self, mlp: &Mlp) -> Result<()> {
        let (inputs, outputs) = (mlp.matrices()[0].1.ncols(), mlp.down().nrows());
        if (inputs, outputs) == (self.set.dimension(), self.set.dimension()) {
            return Ok(());
        }
        Err(Error::input(format!(
            "the MLP works in {outputs} dimensions, keys and values have {}",
            self.set.dimension()
        ))
        .fix("give the keys and values that the MLP was built for"))
    }

    /// A fact for people: the key and the value by name, or by row number.
    pub fn label(&self, fact: usize) -> String {
        let (key, value) = self.rows[fact];
        format!("{} → {}", name(&self.key_names, key), name(&self.value_names, value))
    }
}

/// What a row is called: its name in quotes, or its number.
fn name(names: &Option<Names>, row: usize) -> String {
    match names.as_ref().and_then(|names| names.of(row)) {
        Some(name) => format!("'{name}'"),
        None => row.to_string(),
    }
}
