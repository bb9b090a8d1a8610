//! Computes what is missing and writes the tables.

use std::collections::HashSet;
use std::path::Path;

use super::assemble;
use super::compute::{Done, Job, compute};
use super::experiment::Experiment;
use super::key::Key;
use super::manifest::Manifest;
use super::plan::{Cell, Plan, PlannedStage};
use super::profile::Profile;
use super::progress::{count, tell};
use super::receipt::{Receipt, StageReceipt, Stopwatch, utc_now};
use super::results::{Results, TableState};
use super::shard::Shard;
use super::stop::Stop;
use super::store::Store;
use super::writable::WritableStore;
use crate::error::{Error, Result};

/// What to run and where.
pub struct Request<'a> {
    pub manifest: &'a Manifest,
    pub profile: Profile,
    pub experiments: &'a [&'a dyn Experiment],
    /// The stages to run; all when empty.
    pub only: &'a [String],
    pub store: &'a Path,
    pub results: &'a Path,
    pub threads: usize,
    /// Computes only this share of the cells, beside other shards; the last of them to end writes the tables.
    pub shard: Option<Shard>,
    /// Begins no new cell after the first failure.
    pub fail_fast: bool,
    pub stop: &'a Stop,
    /// Tells no progress; the outcome has all failures.
    pub quiet: bool,
    /// The libraries that the numbers depend on, for the receipt.
    pub arithmetic: &'a str,
}

/// What a run did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub stages: Vec<StageOutcome>,
    /// In plan order, whichever came first.
    pub failures: Vec<Failure>,
    /// Whether it was stopped while cells were left.
    pub interrupted: bool,
    pub seconds: f64,
}

/// What a run did for one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageOutcome {
    pub name: String,
    pub cells: usize,
    pub computed: usize,
    pub failed: usize,
    /// Cells that are not there and were not begun: after an end ahead of time, or for other shards.
    pub left: usize,
    pub table: TableOutcome,
}

/// What became of a stage's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableOutcome {
    Written,
    Unchanged,
    /// Cells failed or are left; an older table stays.
    NotWritten,
    /// The stage has no cells in this profile.
    NoCells,
}

/// A cell, or a stage's table, that could not be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub stage: String,
    /// The cell; `None` for a table.
    pub cell: Option<FailedInputs>,
    pub error: Error,
}

/// What went into a cell that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedInputs {
    pub key: Key,
    /// Canonical parameters as JSON.
    pub params: String,
    pub seed: u64,
}

impl Failure {
    /// Everything about it in one line.
    pub fn line(&self) -> String {
        let error = self.error.to_string().replace('\n', ";");
        match &self.cell {
            None => format!("stage '{}': {error}", self.stage),
            Some(FailedInputs { key, params, seed }) => {
                format!("stage '{}', cell {}, params {params}, seed {seed}: {error}", self.stage, key.short())
            }
        }
    }
}

impl Outcome {
    /// The error of a run that was interrupted, or in which something failed: then one line that repeats the first
    /// failure.
    pub fn error(&self) -> Option<Error> {
        if self.interrupted {
            let left = count(self.stages.iter().map(|stage| stage.left).sum(), "cell");
            return Some(
                Error::interrupted(format!("interrupted with {left} left; what is finished is kept"))
                    .fix("give the same command again to go on"),
            );
        }
        let first = self.failures.first()?;
        Some(Error::failure(format!("{}, first: {}", count(self.failures.len(), "failure"), first.line())))
    }

    /// Cells that were computed, well or not.
    pub fn computed(&self) -> usize {
        self.stages.iter().map(|stage| stage.computed + stage.failed).sum()
    }
}

/// Runs what is stale. Takes no lock and writes nothing when nothing is.
pub fn run(request: &Request) -> Result<Outcome> {
    let watch = Stopwatch::start();
    let outcome = match nothing_to_do(request)? {
        Some(outcome) => outcome,
        None if request.shard.is_some() => run_beside(request, &watch)?,
        None => run_alone(request, &watch)?,
    };
    Ok(Outcome { seconds: watch.wall_seconds(), ..outcome })
}

fn run_alone(request: &Request, watch: &Stopwatch) -> Result<Outcome> {
    let (writable, store) = WritableStore::open(request.store, request.stop, &|line| request.say(line))?;
    let plan = request.plan(&store)?;
    let done = compute(request.job(&plan, &writable));
    // What is finished becomes segments even when the journal failed.
    let store = writable.seal(store);
    Tables { request, watch, done: done?, store: Some(&store?) }.write(&plan)
}

/// Computes one shard. Whichever shard ends last finds nobody beside it and writes the tables.
fn run_beside(request: &Request, watch: &Stopwatch) -> Result<Outcome> {
    let say = |line: &str| request.say(line);
    let (writable, store) = WritableStore::share(request.store, request.stop, &say)?;
    let plan = request.plan(&store)?;
    let done = compute(request.job(&plan, &writable))?;
    drop(writable);
    match WritableStore::try_open(request.store, &say)? {
        Some((_writable, store)) => Tables { request, watch, done, store: Some(&store) }.write(&plan),
        None => {
            say("other processes are using the store; the last shard to end writes the tables");
            Tables { request, watch, done, store: None }.write(&plan)
        }
    }
}

impl<'a> Request<'a> {
    fn plan(&self, store: &Store) -> Result<Plan<'a>> {
        Plan::new(self.manifest, self.profile, self.experiments, store, self.only)
    }

    fn results(&self) -> Results {
        Results::new(self.results, self.profile)
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            tell(line);
        }
    }

    fn job<'b>(&'b self, plan: &'b Plan<'b>, writable: &'b WritableStore) -> Job<'b> {
        let mut queue = plan.missing();
        queue.retain(|(_, cell)| self.shard.is_none_or(|shard| shard.contains(&cell.key)));
        let Self { threads, fail_fast, stop, quiet, .. } = *self;
        Job { queue, writable, threads, fail_fast, stop, quiet }
    }
}

/// The outcome when every cell and table is there and whole.
fn nothing_to_do(request: &Request) -> Result<Option<Outcome>> {
    let (results, store) = (request.results(), Store::read(request.store)?);
    let plan = request.plan(&store)?;
    let receipt = Receipt::read(&results.receipt_path());
    let is_done = |stage: &PlannedStage| {
        stage.cells.is_empty() || stage.missing() == 0 && results.state(stage, &receipt) == TableState::Current
    };
    if !store.damage().is_empty() || store.format_is_damaged() || !plan.stages.iter().all(is_done) {
        return Ok(None);
    }
    let stages = plan.stages.iter().map(|stage| StageOutcome {
        name: stage.name.clone(),
        cells: stage.cells.len(),
        computed: 0,
        failed: 0,
        left: 0,
        table: if stage.cells.is_empty() { TableOutcome::NoCells } else { TableOutcome::Unchanged },
    });
    Ok(Some(Outcome { stages: stages.collect(), ..Outcome::default() }))
}

/// A cell of a stage that failed.
pub(super) fn failure(stage: &PlannedStage, cell: &Cell, error: &Error) -> Failure {
    let inputs = FailedInputs { key: cell.key, params: cell.point.json.clone(), seed: cell.seed };
    Failure { stage: stage.name.clone(), cell: Some(inputs), error: error.clone() }
}

/// From what was computed to the tables of the stages that are whole.
struct Tables<'a> {
    request: &'a Request<'a>,
    watch: &'a Stopwatch,
    done: Done,
    /// What the store holds now; `None` while others write to it.
    store: Option<&'a Store>,
}

impl Tables<'_> {
    fn write(&self, plan: &Plan) -> Result<Outcome> {
        let path = self.request.results().receipt_path();
        let old_receipt = Receipt::read(&path);
        let mut receipt = old_receipt.clone();
        let mut outcome = Outcome::default();
        for stage in &plan.stages {
            let failures = self.failures(stage);
            let mut done = self.outcome(stage, failures.len());
            if let Some(store) = self.store
                && done.table == TableOutcome::NotWritten
                && done.failed + done.left == 0
            {
                match self.stage(stage, store, done.computed > 0, &mut receipt) {
                    Ok(table) => done.table = table,
                    Err(error) => outcome.failures.push(Failure { stage: stage.name.clone(), cell: None, error }),
                }
            }
            outcome.failures.extend(failures);
            outcome.stages.push(done);
        }
        if receipt != old_receipt {
            receipt.claims.clear();
            receipt.write(&path, self.request.arithmetic)?;
        }
        outcome.interrupted = self.request.stop.is_requested() && outcome.stages.iter().any(|stage| stage.left > 0);
        Ok(outcome)
    }

    fn failures(&self, stage: &PlannedStage) -> Vec<Failure> {
        let failed = |cell: &Cell| self.done.failed.get(&cell.key).map(|error| failure(stage, cell, error));
        stage.cells.iter().filter_map(failed).collect()
    }

    /// The counts of a stage; its table is not written yet.
    fn outcome(&self, stage: &PlannedStage, failed: usize) -> StageOutcome {
        let is_there = |cell: &Cell| match self.store {
            Some(store) => store.wall_seconds(&cell.key).is_some(),
            None => cell.cached || self.done.finished.contains(&cell.key),
        };
        let there = stage.cells.iter().filter(|cell| is_there(cell)).count();
        StageOutcome {
            name: stage.name.clone(),
            cells: stage.cells.len(),
            computed: stage.cells.iter().filter(|cell| self.done.finished.contains(&cell.key)).count(),
            failed,
            left: stage.cells.len().saturating_sub(there + failed),
            table: if stage.cells.is_empty() { TableOutcome::NoCells } else { TableOutcome::NotWritten },
        }
    }

    /// Writes the table of a whole stage, unless it is there.
    fn stage(
        &self,
        stage: &PlannedStage,
        store: &Store,
        computed: bool,
        receipt: &mut Receipt,
    ) -> Result<TableOutcome> {
        let results = self.request.results();
        if !computed && results.state(stage, receipt) == TableState::Current {
            return Ok(TableOutcome::Unchanged);
        }
        let keys: HashSet<Key> = stage.cells.iter().map(|cell| cell.key).collect();
        let table = assemble::table(stage, &store.records(&keys)?)?;
        let written = results.write_table(&stage.name, &table)?;
        let old = receipt.stages.get(&stage.name).filter(|_| !computed);
        let entry = StageReceipt {
            cells: stage.cells.len(),
            cells_hash: stage.cells_hash(),
            content_hash: table.content_hash(),
            file_hash: results.file_hash(&stage.name).unwrap_or_default(),
            cell_seconds: stage.cells.iter().filter_map(|cell| store.wall_seconds(&cell.key)).sum(),
            // When nothing was computed, these stay those of the run that did.
            run_seconds: old.map_or_else(|| self.watch.wall_seconds(), |old| old.run_seconds),
            cpu_seconds: old.map_or_else(|| self.watch.cpu_seconds(), |old| old.cpu_seconds),
            threads: old.map_or(self.request.threads, |old| old.threads),
            finished: old.map_or_else(utc_now, |old| old.finished.clone()),
        };
        receipt.stages.insert(stage.name.clone(), entry);
        Ok(if written { TableOutcome::Written } else { TableOutcome::Unchanged })
    }
}
