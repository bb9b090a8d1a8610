//! The command line: parse, call, print, exit code. One file per command.

mod budget;
mod build;
mod claims;
mod compare;
mod completions;
mod digits;
mod edit;
mod explain;
mod export;
mod fact_inputs;
mod figures;
mod gc;
mod graph;
mod inputs;
mod language;
mod man;
mod measure;
mod methods;
mod mlp_output;
mod notebook;
mod output;
mod plan;
mod recipe;
mod replay;
mod rules;
mod run;
mod show;
mod status;
mod verify;
mod verify_facts;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::error::{Error, Result};
use crate::pipeline::experiment::Experiment;
use crate::pipeline::manifest::Manifest;
use crate::pipeline::plan::Plan;
use crate::pipeline::profile::Profile;
use crate::pipeline::progress::{tell, visible, visible_json};
use crate::pipeline::results::Results;
use crate::pipeline::sources::Sources;
use crate::pipeline::store::Store;

/// Reproduce research on fact-storing MLPs, and use its methods on embeddings of your own.
#[derive(Parser)]
#[command(name = "factsmith", version, max_term_width = 100, arg_required_else_help = true)]
struct CommandLine {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

/// What every command understands.
#[derive(Args, Debug)]
#[command(next_help_heading = "Options of all commands")]
pub struct Options {
    /// How much to run: smoke (seconds), laptop (at most an hour) or paper (the paper's sizes)
    #[arg(long, global = true, default_value = "laptop", value_name = "PROFILE")]
    profile: String,
    /// Folder of the computed cells
    #[arg(long, global = true, default_value = ".factsmith/store", value_name = "DIR")]
    store: PathBuf,
    /// Folder of the result tables
    #[arg(long, global = true, default_value = "results", value_name = "DIR")]
    results: PathBuf,
    /// The description of stages, figures and notebooks
    #[arg(long, global = true, default_value = "pipeline.toml", value_name = "FILE")]
    manifest: PathBuf,
    /// Print JSON and nothing else on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Cells computed at a time; the results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    threads: Option<std::num::NonZeroUsize>,
}

impl Options {
    /// Refuses, before anything is computed, a folder that is a file or would have to be made below one.
    fn check_folders(&self) -> Result<()> {
        for (option, path) in [("--store", &self.store), ("--results", &self.results)] {
            let nearest = path.ancestors().find_map(|part| Some((part, part.metadata().ok()?)));
            if let Some((file, _)) = nearest.filter(|(_, data)| !data.is_dir()) {
                return Err(Error::input(format!("'{}' is not a folder", file.display()))
                    .at(option)
                    .fix(format!("name a folder, or a path where one can be made: {option} DIR")));
            }
        }
        Ok(())
    }
}

#[derive(Subcommand)]
enum Command {
    Plan(plan::Arguments),
    Explain(explain::Arguments),
    Run(run::Arguments),
    Status(status::Arguments),
    Graph(graph::Arguments),
    Export(export::Arguments),
    Replay(replay::Arguments),
    Verify(Box<verify::Arguments>),
    Gc(gc::Arguments),
    Claims(claims::Arguments),
    Compare(compare::Arguments),
    Rules(rules::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    Figures(figures::Arguments),
    Measure(Box<measure::Arguments>),
    Methods(methods::Arguments),
    Build(Box<build::Arguments>),
    Edit(Box<edit::Arguments>),
    Show(show::Arguments),
    Language(Box<language::Arguments>),
    Notebook(notebook::Arguments),
}

/// More threads than any machine has cores only cost memory.
const MOST_THREADS: usize = 1024;

/// What a command works on and where it prints.
pub struct Context<'a> {
    pub options: Options,
    pub experiments: &'a [&'a dyn Experiment],
    out: &'a mut dyn Write,
}

/// Runs the program with the arguments of the process; returns its exit code.
///
/// A panic is a fault of the program; it is told as one error, like any other.
pub fn main(experiments: &[&dyn Experiment]) -> u8 {
    let attempt = || run(std::env::args_os(), experiments, &mut std::io::stdout());
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(attempt)).unwrap_or_else(|_| {
        tell("error: the program failed, see the message above\n  fix: please report it with the command you gave");
        1
    })
}

/// Runs the program with these arguments, the first being its name; returns its exit code.
///
/// Results go to `out`; errors and progress always go to standard error.
pub fn run(arguments: impl IntoIterator<Item = OsString>, experiments: &[&dyn Experiment], out: &mut dyn Write) -> u8 {
    let CommandLine { options, command } = match CommandLine::try_parse_from(arguments) {
        Ok(line) => line,
        Err(error) => {
            // Help and version are no errors; a reader that went away is none of ours.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let checked = options.check_folders();
    let mut context = Context { options, experiments, out };
    match checked.and_then(|()| command.execute(&mut context)) {
        Ok(code) => code,
        Err(error) => {
            tell(&format!("error: {error}"));
            error.exit_code()
        }
    }
}

impl Command {
    fn execute(self, context: &mut Context) -> Result<u8> {
        match self {
            Self::Plan(arguments) => plan::execute(&arguments, context),
            Self::Explain(arguments) => explain::execute(&arguments, context),
            Self::Run(arguments) => run::execute(&arguments, context),
            Self::Status(arguments) => status::execute(&arguments, context),
            Self::Graph(arguments) => graph::execute(&arguments, context),
            Self::Export(arguments) => export::execute(&arguments, context),
            Self::Replay(arguments) => replay::execute(&arguments, context),
            Self::Verify(arguments) => verify::execute(&arguments, context),
            Self::Gc(arguments) => gc::execute(&arguments, context),
            Self::Claims(arguments) => claims::execute(&arguments, context),
            Self::Compare(arguments) => compare::execute(&arguments, context),
            Self::Rules(arguments) => rules::execute(&arguments, context),
            Self::Completions(arguments) => completions::execute(&arguments, context),
            Self::Man(arguments) => man::execute(&arguments, context),
            Self::Figures(arguments) => figures::execute(&arguments, context),
            Self::Measure(arguments) => measure::execute(&arguments, context),
            Self::Methods(arguments) => methods::execute(&arguments, context),
            Self::Build(arguments) => build::execute(&arguments, context),
            Self::Edit(arguments) => edit::execute(&arguments, context),
            Self::Show(arguments) => show::execute(&arguments, context),
            Self::Language(arguments) => language::execute(&arguments, context),
            Self::Notebook(arguments) => notebook::execute(&arguments, context),
        }
    }
}

impl<'a> Context<'a> {
    /// The profile that was asked for.
    pub fn profile(&self) -> Result<Profile> {
        self.options.profile.parse()
    }

    /// The manifest that was named.
    pub fn manifest(&self) -> Result<Manifest> {
        Manifest::read(&self.options.manifest)
    }

    /// Reads the store without a lock; warns of damaged files.
    pub fn store(&self) -> Result<Store> {
        let store = Store::read(&self.options.store)?;
        for warning in store.warnings() {
            tell(&format!("warning: {warning}"));
        }
        Ok(store)
    }

    /// The plan of the stages called `only`, or of all.
    pub fn plan(&self, store: &Store, only: &[String]) -> Result<Plan<'a>> {
        Plan::new(&self.manifest()?, self.profile()?, self.experiments, store, only)
    }

    /// The results of the profile that was asked for.
    pub fn results(&self) -> Result<Results> {
        Ok(Results::new(&self.options.results, self.profile()?))
    }

    /// Where the tables of the profile are read from.
    pub fn sources(&self) -> Result<Sources> {
        Ok(Sources::new(&self.options.results, &self.options.manifest, self.profile()?))
    }

    /// The number of threads that was asked for, or of cores.
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.options.threads.map_or_else(cores, usize::from).min(MOST_THREADS)
    }

    /// Prints results; a reader that went away (`| head`) is no error.
    pub fn print(&mut self, text: &str) -> Result<()> {
        self.print_bytes(visible(text).as_bytes())
    }

    /// Prints a result that need not be text.
    pub fn print_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
                Err(Error::failure(format!("cannot print: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses `--json` where nothing but a text of another format can be printed.
    fn refuse_json(&self, what: &str) -> Result<()> {
        if !self.options.json {
            return Ok(());
        }
        Err(Error::input(format!("{what} cannot be printed as JSON")).fix("leave out --json"))
    }

    /// Prints JSON, indented.
    pub fn print_json(&mut self, value: &serde_json::Value) -> Result<()> {
        self.print_bytes(visible_json(&format!("{value:#}\n")).as_bytes())
    }
}

/// Lines up columns: the first to the left, the others to the right, two spaces apart.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|word| word.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let words = row.iter().zip(&widths).enumerate().map(|(column, (word, width))| {
            if column == 0 { format!("{word:<width$}") } else { format!("{word:>width$}") }
        });
        text.push_str(words.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
