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

    /// The folder that paths in it count from.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
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
            let first = self.first_of(self.line(offset)).map_or_else(String::new, |line| format!(" on line {line}"));
            return fault.fix(format!("'{name}' is already there{first}; rename one of the two, or merge them"));
        }
        fault.fix("mend the TOML syntax on this line")
    }

    /// The line that a later one repeats: the same table, or the same key of its table.
    fn first_of(&self, repeated: usize) -> Option<usize> {
        let key = |line: &str| line.split(['#', '=']).next().unwrap_or(line).trim().to_owned();
        let lines: Vec<String> = self.text.lines().take(repeated).map(key).collect();
        let (last, before) = lines.split_last()?;
        let is_table = |line: &String| line.starts_with('[');
        let start = if is_table(last) { 0 } else { before.iter().rposition(is_table).map_or(0, |header| header + 1) };
        before[start..].iter().position(|line| line == last).map(|found| start + found + 1)
    }

    fn manifest(&self, document: &DeTable) -> Result<Manifest> {
        for item in items(document) {
            self.known(&item, "key", &TOP_KEYS)?;
        }
        let stages = self.sections(document, "stage", |name, section| self.stage(name, section))?;
        let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
        let reader = |kind: &str| {
            self.sections(document, kind, |name, section| self.reader(kind == "figure", name, section, &names))
        };
        let (figures, notebooks) = (reader("figure")?, reader("notebook")?);
        Ok(Manifest { path: self.path.to_owned(), stages, figures, notebooks })
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
        let (experiment, experiment_line) = experiment.ok_or_else(|| self.missing(head, "experiment"))?;
        let title = title.ok_or_else(|| self.missing(head, "title"))?;
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

    fn reader(&self, needs_title: bool, head: &Item, section: &DeTable, known_stages: &[&str]) -> Result<Reader> {
        let mut reader = Reader { name: head.name.to_owned(), title: String::new(), stages: Vec::new() };
        let mut says_stages = false;
        for item in items(section) {
            self.known(&item, "key", &READER_KEYS)?;
            match item.name {
                "title" => reader.title = self.text_of(&item)?.to_owned(),
                _ => {
                    reader.stages = self.stage_names(&item, known_stages)?;
                    // A notebook may compute all it shows; it says so by an empty list.
                    says_stages = !needs_title;
                }
            }
        }
        if needs_title && reader.title.is_empty() {
            return Err(self.missing(head, "title"));
        }
        if reader.stages.is_empty() && !says_stages {
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

    fn missing(&self, head: &Item, key: &str) -> Error {
        self.fault(head.offset, format!("'{}' has no {key}", head.name)).fix(format!("add a line: {key} = \"...\""))
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# a pipeline
[stage.zeta]
title = "Z"
experiment = "x"
[[stage.zeta.smoke]]
seeds = 3
width = [1, 2]
alpha = 0.5
[[stage.zeta.smoke]]
alpha = [[1, 2]]

[stage.beta]
title = "B"
experiment = "y"

[figure.one]
title = "One"
stages = ["zeta", "beta"]

[notebook.01_first]
stages = ["beta"]
"#;

    fn parse(text: &str) -> Result<Manifest> {
        Manifest::parse(Path::new("pipeline.toml"), text)
    }

    #[test]
    fn stages_grids_and_axes_keep_the_order_and_lines_of_the_file() {
        let manifest = parse(TEXT).unwrap();
        let names: Vec<&str> = manifest.stages.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(names, ["zeta", "beta"]);
        assert!(manifest.stage("beta").unwrap().grids.is_empty());
        let grids = &manifest.stage("zeta").unwrap().grids[&Profile::Smoke];
        assert_eq!(grids.iter().map(|grid| (grid.line, grid.seeds)).collect::<Vec<_>>(), [(5, 3), (9, 1)]);
        let axes: Vec<(&str, usize, usize)> =
            grids[0].axes.iter().map(|axis| (axis.name.as_str(), axis.line, axis.values.len())).collect();
        assert_eq!(axes, [("width", 7, 2), ("alpha", 8, 1)]);
        assert_eq!(grids[1].axes[0].values.len(), 1, "a list in a list is one value");
        assert_eq!(manifest.figures[0].stages, ["zeta", "beta"]);
        assert_eq!(manifest.notebooks[0].name, "01_first");
        assert_eq!(parse(&TEXT.replace('\n', "\r\n")).unwrap(), manifest);
    }

    #[test]
    fn what_is_left_out_is_named_with_its_line() {
        for (without, expected) in [
            ("title = \"Z\"\n", "'zeta' has no title\n  where: pipeline.toml:2"),
            ("experiment = \"y\"\n", "'beta' has no experiment\n  where: pipeline.toml:12"),
            ("title = \"One\"\n", "'one' has no title\n  where: pipeline.toml:16"),
            ("stages = [\"beta\"]\n", "'01_first' reads no stage\n  where: pipeline.toml:20"),
        ] {
            let error = parse(&TEXT.replace(without, "")).unwrap_err();
            assert!(error.to_string().starts_with(expected), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    #[test]
    fn only_a_notebook_may_say_that_it_reads_no_stage() {
        let alone = TEXT.replace("[notebook.01_first]\nstages = [\"beta\"]", "[notebook.01_first]\nstages = []");
        assert_eq!(parse(&alone).unwrap().notebooks[0].stages, Vec::<String>::new());
        let figure = TEXT.replace("stages = [\"zeta\", \"beta\"]", "stages = []");
        assert!(parse(&figure).unwrap_err().to_string().contains("'one' reads no stage"));
    }

    #[test]
    fn a_manifest_cut_anywhere_is_read_or_refused_but_never_panics() {
        for length in 0..TEXT.len() {
            if let Err(error) = parse(&TEXT[..length]) {
                assert!(error.to_string().contains("where: pipeline.toml:"), "{error}");
                assert!(error.to_string().contains("fix: "), "{error}");
            }
        }
    }
}
