//! `pipeline.toml` as written: stages with their grids, figures and notebooks, each with its line.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IntoDeserializer;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::profile::Profile;
use crate::error::{Error, Result, unknown};

/// What `pipeline.toml` says. Names and lists are checked; parameters are checked against experiments by the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    pub path: PathBuf,
    /// In the order of the file, as are figures and notebooks.
    pub stages: Vec<Stage>,
    pub figures: Vec<Reader>,
    pub notebooks: Vec<Reader>,
}

/// A table of results and the grids that fill it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    pub name: String,
    pub title: String,
    pub experiment: String,
    /// The line that names the experiment.
    pub experiment_line: usize,
    pub grids: BTreeMap<Profile, Vec<Grid>>,
}

/// A product of parameter values, for a number of seeds.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    pub line: usize,
    pub seeds: u64,
    /// In the order of the file; the last one varies fastest.
    pub axes: Vec<Axis>,
}

/// One parameter of a grid and its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub name: String,
    pub line: usize,
    pub values: Vec<toml::Value>,
}

/// A figure or a notebook: something that reads the tables of stages.
#[derive(Debug, Clone, PartialEq)]
pub struct Reader {
    pub name: String,
    pub title: String,
    pub stages: Vec<String>,
}

impl Manifest {
    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            Error::io("read the pipeline", path, &error)
                .fix("run in the folder of the project, or name the file with --manifest FILE")
        })?;
        Self::parse(path, &text)
    }

    /// Reads `text`; `path` is only named in errors.
    pub fn parse(path: &Path, text: &str) -> Result<Self> {
        let source = Source { path, text };
        let document = DeTable::parse(text).map_err(|error| source.syntax(&error))?;
        source.manifest(document.get_ref())
    }

    /// The place of a line, for errors.
    pub fn place(&self, line: usize) -> String {
        place(&self.path, line)
    }

    /// The stage called `name`.
    pub fn stage(&self, name: &str) -> Result<&Stage> {
        let names = self.stages.iter().map(|stage| stage.name.as_str());
        self.stages.iter().find(|stage| stage.name == name).ok_or_else(|| unknown("stage", name, names))
    }
}

fn place(path: &Path, line: usize) -> String {
    format!("{}:{line}", path.display())
}

const TOP_KEYS: [&str; 3] = ["stage", "figure", "notebook"];
const STAGE_KEYS: [&str; 5] = ["title", "experiment", "smoke", "laptop", "paper"];
const READER_KEYS: [&str; 2] = ["title", "stages"];

/// The parsed text, with what is needed to say where something is in it.
struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

/// A key with its position and its value.
struct Item<'a> {
    name: &'a str,
    offset: usize,
    value: &'a Spanned<DeValue<'a>>,
}

impl Source<'_> {
    fn line(&self, offset: usize) -> usize {
        1 + self.text.as_bytes()[..offset.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count()
    }

    fn place(&self, offset: usize) -> String {
        place(self.path, self.line(offset))
    }

    fn fault(&self, offset: usize, what: impl Into<String>) -> Error {
        Error::input(what).at(self.place(offset))
    }

    fn syntax(&self, error: &toml::de::Error) -> Error {
        let offset = error.span().map_or(self.text.len(), |span| span.start);
        let fault = self.fault(offset, error.message().trim());
        if error.message().contains("duplicate key") {
            let name = error.span().and_then(|span| self.text.get(span)).unwrap_or("the name");
            return fault.fix(format!("'{name}' is already there; rename one of the two, or merge them"));
        }
        fault.fix("mend the TOML syntax on this line")
    }

    fn manifest(&self, document: &DeTable) -> Result<Manifest> {
        for item in items(document) {
            self.known(&item, "key", &TOP_KEYS)?;
        }
        let stages = self.sections(document, "stage", |name, section| self.stage(name, section))?;
        let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
        let figures = self.sections(document, "figure", |name, section| self.reader(name, section, &names))?;
        let notebooks = self.sections(document, "notebook", |name, section| self.reader(name, section, &names))?;
        if let Some(figure) = figures.iter().find(|figure| figure.title.is_empty()) {
            return Err(self.missing(document, "figure", &figure.name));
        }
        Ok(Manifest { path: self.path.to_owned(), stages, figures, notebooks })
    }

    fn missing(&self, document: &DeTable, kind: &str, name: &str) -> Error {
        let offset = section_items(document, kind).into_iter().find(|item| item.name == name).map_or(0, |i| i.offset);
        self.fault(offset, format!("{kind} '{name}' has no title")).fix("add a line: title = \"...\"")
    }

    /// Reads all `[kind.NAME]` tables.
    fn sections<T>(
        &self,
        document: &DeTable,
        kind: &str,
        read: impl Fn(&Item, &DeTable) -> Result<T>,
    ) -> Result<Vec<T>> {
        if let Some(item) = items(document).into_iter().find(|item| item.name == kind) {
            self.table(&item)?;
        }
        let mut seen: HashMap<String, (&str, usize)> = HashMap::new();
        let mut sections = Vec::new();
        for item in section_items(document, kind) {
            self.file_name(kind, &item)?;
            if let Some((other, line)) = seen.insert(item.name.to_lowercase(), (item.name, self.line(item.offset))) {
                return Err(self
                    .fault(item.offset, format!("{kind} '{}' differs from '{other}' only in case", item.name))
                    .fix(format!(
                        "rename one of them (the other is on line {line}): some disks can't tell them apart"
                    )));
            }
            sections.push(read(&item, self.table(&item)?)?);
        }
        Ok(sections)
    }

    fn stage(&self, head: &Item, section: &DeTable) -> Result<Stage> {
        let mut grids = BTreeMap::new();
        let (mut title, mut experiment) = (None, None);
        for item in items(section) {
            let noun = if matches!(item.value.get_ref(), DeValue::Array(_)) { "profile or key" } else { "key" };
            self.known(&item, noun, &STAGE_KEYS)?;
            match item.name {
                "title" => title = Some(self.text_of(&item)?.to_owned()),
                "experiment" => experiment = Some((self.text_of(&item)?.to_owned(), self.line(item.offset))),
                profile => drop(grids.insert(profile.parse()?, self.grids(&item)?)),
            }
        }
        let missing = |key: &str| {
            self.fault(head.offset, format!("stage '{}' has no {key}", head.name))
                .fix(format!("add a line: {key} = \"...\""))
        };
        let (experiment, experiment_line) = experiment.ok_or_else(|| missing("experiment"))?;
        let title = title.ok_or_else(|| missing("title"))?;
        Ok(Stage { name: head.name.to_owned(), title, experiment, experiment_line, grids })
    }

    fn grids(&self, item: &Item) -> Result<Vec<Grid>> {
        let wrong = || {
            self.fault(item.offset, format!("'{}' is not a list of grids", item.name))
                .fix(format!("write [[stage.NAME.{}]] with two brackets on each side", item.name))
        };
        let DeValue::Array(grids) = item.value.get_ref() else { return Err(wrong()) };
        if grids.is_empty() {
            return Err(self.fault(item.offset, format!("'{}' is an empty list", item.name)).fix("leave the key out"));
        }
        grids
            .iter()
            .map(|grid| match grid.get_ref() {
                DeValue::Table(table) => self.grid(grid.span().start, table),
                _ => Err(wrong()),
            })
            .collect()
    }

    fn grid(&self, offset: usize, table: &DeTable) -> Result<Grid> {
        let mut grid = Grid { line: self.line(offset), seeds: 1, axes: Vec::new() };
        for item in items(table) {
            if item.name == "seeds" {
                grid.seeds = self.seeds(&item)?;
            } else {
                grid.axes.push(self.axis(&item)?);
            }
        }
        Ok(grid)
    }

    fn seeds(&self, item: &Item) -> Result<u64> {
        match self.plain(item.offset, item.value)? {
            toml::Value::Integer(seeds @ 1..=1_000_000) => Ok(seeds as u64),
            other => Err(self
                .fault(item.offset, format!("seeds is {other}, not a whole number from 1 to 1000000"))
                .fix("seeds = 3 computes the seeds 0, 1 and 2; without the key there is one")),
        }
    }

    fn axis(&self, item: &Item) -> Result<Axis> {
        let values = match self.plain(item.offset, item.value)? {
            toml::Value::Array(values) => values,
            scalar => vec![scalar],
        };
        if values.is_empty() {
            return Err(self
                .fault(item.offset, format!("parameter '{}' is an empty list, so its grid has no cells", item.name))
                .fix("give at least one value, or remove the grid"));
        }
        Ok(Axis { name: item.name.to_owned(), line: self.line(item.offset), values })
    }

    fn reader(&self, head: &Item, section: &DeTable, known_stages: &[&str]) -> Result<Reader> {
        let mut reader = Reader { name: head.name.to_owned(), title: String::new(), stages: Vec::new() };
        for item in items(section) {
            self.known(&item, "key", &READER_KEYS)?;
            match item.name {
                "title" => reader.title = self.text_of(&item)?.to_owned(),
                _ => reader.stages = self.stage_names(&item, known_stages)?,
            }
        }
        if reader.stages.is_empty() {
            return Err(self
                .fault(head.offset, format!("'{}' reads no stage", head.name))
                .fix("name the stages whose tables it reads: stages = [\"...\"]"));
        }
        Ok(reader)
    }

    fn stage_names(&self, item: &Item, known_stages: &[&str]) -> Result<Vec<String>> {
        let DeValue::Array(names) = item.value.get_ref() else {
            return Err(self.fault(item.offset, "stages is not a list").fix("write stages = [\"...\"]"));
        };
        let mut stages = Vec::new();
        for name in names.iter() {
            let offset = name.span().start;
            let DeValue::String(text) = name.get_ref() else {
                return Err(self.fault(offset, "a stage name must be a text").fix("write stages = [\"...\"]"));
            };
            if !known_stages.contains(&text.as_ref()) {
                return Err(unknown("stage", text, known_stages.iter().copied()).at(self.place(offset)));
            }
            stages.push(text.to_string());
        }
        Ok(stages)
    }

    fn known(&self, item: &Item, noun: &str, keys: &[&str]) -> Result<()> {
        if keys.contains(&item.name) {
            return Ok(());
        }
        Err(unknown(noun, item.name, keys.iter().copied()).at(self.place(item.offset)))
    }

    /// Names become names of files and targets of make, so they are plain.
    fn file_name(&self, kind: &str, item: &Item) -> Result<()> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
        if item.name.chars().all(is_plain) && item.name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) {
            return Ok(());
        }
        Err(self
            .fault(item.offset, format!("{kind} '{}' is not a plain name", item.name))
            .fix("use ASCII letters, digits, _ and -, with a letter or digit first"))
    }

    fn table<'a>(&self, item: &Item<'a>) -> Result<&'a DeTable<'a>> {
        match item.value.get_ref() {
            DeValue::Table(table) => Ok(table),
            _ => Err(self.fault(item.offset, format!("'{}' is not a table", item.name)).fix("write [stage.NAME]")),
        }
    }

    fn text_of<'a>(&self, item: &Item<'a>) -> Result<&'a str> {
        match item.value.get_ref() {
            DeValue::String(text) if !text.trim().is_empty() => Ok(text),
            _ => Err(self
                .fault(item.offset, format!("'{}' is not a text", item.name))
                .fix(format!("write {} = \"...\"", item.name))),
        }
    }

    fn plain(&self, offset: usize, value: &Spanned<DeValue>) -> Result<toml::Value> {
        toml::Value::deserialize(value.clone().into_deserializer())
            .map_err(|error| self.fault(offset, error.message().trim()).fix("write a number, text, truth or list"))
    }
}

/// The entries of a table in the order of the file.
fn items<'a>(table: &'a DeTable<'a>) -> Vec<Item<'a>> {
    let mut items: Vec<Item> =
        table.iter().map(|(name, value)| Item { name: name.get_ref(), offset: name.span().start, value }).collect();
    items.sort_by_key(|item| item.offset);
    items
}

fn section_items<'a>(document: &'a DeTable<'a>, kind: &str) -> Vec<Item<'a>> {
    match document.get(kind).map(Spanned::get_ref) {
        Some(DeValue::Table(table)) => items(table),
        _ => Vec::new(),
    }
}
