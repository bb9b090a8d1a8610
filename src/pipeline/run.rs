//! Computes what is missing and writes the tables.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::assemble;
use super::attempt::attempt;
use super::budget::Budget;
use super::experiment::Experiment;
use super::journal::FinishedCell;
use super::key::Key;
use super::manifest::Manifest;
use super::plan::{Cell, Plan, PlannedStage};
use super::profile::Profile;
use super::progress::{Progress, count, tell};
use super::receipt::{Receipt, StageReceipt, utc_now};
use super::results::{Results, TableState};
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
    /// Tells no progress; the outcome has all failures.
    pub quiet: bool,
    /// Computes only what fits into it.
    pub budget: Option<&'a Budget>,
}

/// What a run did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub stages: Vec<StageOutcome>,
    /// In plan order, whichever came first.
    pub failures: Vec<Failure>,
    pub seconds: f64,
}

/// What a run did for one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageOutcome {
    pub name: String,
    pub cells: usize,
    pub computed: usize,
    pub failed: usize,
    /// Cells that did not fit into the budget; the table then holds the complete seeds.
    pub left_out: usize,
    pub table: TableOutcome,
}

/// What became of a stage's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableOutcome {
    Written,
    Unchanged,
    /// Cells failed, or the budget completed no seed; an older table stays.
    NotWritten,
    /// The stage has no cells in this profile.
    NoCells,
}

/// A cell, or a stage's table, that could not be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub stage: String,
    /// Canonical parameters as JSON; empty for a table.
    pub params: String,
    pub seed: u64,
    pub error: Error,
}

impl Failure {
    /// Everything about it in one line.
    pub fn line(&self) -> String {
        let error = self.error.to_string().replace('\n', ";");
        if self.params.is_empty() {
            return format!("stage '{}': {error}", self.stage);
        }
        format!("stage '{}', params {}, seed {}: {error}", self.stage, self.params, self.seed)
    }
}

impl Outcome {
    /// The error of a run in which something failed: one line that repeats the first failure.
    pub fn error(&self) -> Option<Error> {
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
    let started = Instant::now();
    let results = Results::new(request.results, request.profile);
    if let Some(outcome) = nothing_to_do(request, &results)? {
        return Ok(Outcome { seconds: started.elapsed().as_secs_f64(), ..outcome });
    }
    let say = |line: &str| {
        if !request.quiet {
            tell(line)
        }
    };
    let (writable, store) = WritableStore::open(request.store, &say)?;
    let plan = request.plan(&store)?;
    let (failures, store) = compute(request, &plan, &writable, store)?;
    let mut outcome = write_tables(request, &plan, &store, &results, failures, started)?;
    outcome.seconds = started.elapsed().as_secs_f64();
    Ok(outcome)
}

impl<'a> Request<'a> {
    fn plan(&self, store: &Store) -> Result<Plan<'a>> {
        let mut plan = Plan::new(self.manifest, self.profile, self.experiments, store, self.only)?;
        if let Some(budget) = self.budget {
            budget.apply(&mut plan);
        }
        Ok(plan)
    }
}

/// The outcome when every cell and table is there and whole.
fn nothing_to_do(request: &Request, results: &Results) -> Result<Option<Outcome>> {
    let store = Store::read(request.store)?;
    let plan = request.plan(&store)?;
    let receipt = Receipt::read(&results.receipt_path());
    let is_done = |stage: &PlannedStage| {
        let has_table = || results.state(stage, &receipt) == TableState::Current;
        stage.missing() == 0 && (leaves_table_alone(stage, results, &receipt) || has_table())
    };
    if !store.damage().is_empty() || store.format_is_damaged() || !plan.stages.iter().all(is_done) {
        return Ok(None);
    }
    let stages = plan.stages.iter().map(|stage| StageOutcome {
        name: stage.name.clone(),
        cells: stage.cells.len(),
        computed: 0,
        failed: 0,
        left_out: stage.left_out(),
        table: match stage.cells.len() {
            0 => TableOutcome::NoCells,
            _ if leaves_table_alone(stage, results, &receipt) => TableOutcome::NotWritten,
            _ => TableOutcome::Unchanged,
        },
    });
    Ok(Some(Outcome { stages: stages.collect(), ..Outcome::default() }))
}

/// Whether a run makes no table of the stage: it has no cells, or no complete seed, or a table of more cells is there.
fn leaves_table_alone(stage: &PlannedStage, results: &Results, receipt: &Receipt) -> bool {
    let cells = stage.table_cells().len();
    let has_more = || receipt.stages.get(&stage.name).is_some_and(|entry| entry.cells > cells);
    cells == 0 || stage.left_out() > 0 && has_more() && results.table_path(&stage.name).exists()
}

/// Computes the missing cells, longest first; returns what failed and what the store holds then.
fn compute(
    request: &Request,
    plan: &Plan,
    writable: &WritableStore,
    store: Store,
) -> Result<(Vec<(Key, Error)>, Store)> {
    let mut queue = plan.missing();
    if queue.is_empty() {
        return Ok((Vec::new(), store));
    }
    queue.sort_by(|a, b| b.1.time.seconds.total_cmp(&a.1.time.seconds));
    let threads = request.threads.min(queue.len());
    let progress = Progress::start(queue.len(), plan.missing_time().seconds, threads, request.quiet);
    let work = Work { queue, next: AtomicUsize::new(0), writable, progress: &progress, failed: Mutex::default() };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Error::failure(format!("cannot start {}: {error}", count(threads, "thread"))))?;
    let outcome = pool.install(|| work.all(threads));
    progress.end();
    let sealed = writable.seal();
    outcome?;
    Ok((work.failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner), sealed?))
}

/// The queue that all threads take cells from.
struct Work<'a> {
    queue: Vec<(&'a PlannedStage<'a>, &'a Cell)>,
    next: AtomicUsize,
    writable: &'a WritableStore,
    progress: &'a Progress,
    failed: Mutex<Vec<(Key, Error)>>,
}

impl Work<'_> {
    /// Empties the queue with `threads` workers; the first error of the store stops them all.
    fn all(&self, threads: usize) -> Result<()> {
        let broken = Mutex::new(None);
        rayon::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|_| {
                    while let Some((stage, cell)) = self.take() {
                        if let Err(error) = self.one(stage, cell) {
                            self.next.store(usize::MAX / 2, Ordering::Relaxed);
                            if let Ok(mut broken) = broken.lock() {
                                broken.get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });
        match broken.into_inner() {
            Ok(None) => Ok(()),
            Ok(Some(error)) => Err(error),
            Err(_) => Err(Error::failure("a thread of the run died")),
        }
    }

    fn take(&self) -> Option<(&PlannedStage<'_>, &Cell)> {
        self.queue.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }

    /// Computes and stores one cell. Only an error of the store is an error here.
    fn one(&self, stage: &PlannedStage, cell: &Cell) -> Result<()> {
        let started = Instant::now();
        match attempt(stage.experiment, cell) {
            Ok(records) => self.writable.append(&FinishedCell {
                key: cell.key,
                experiment: stage.experiment.name().to_owned(),
                version: stage.experiment.version(),
                params: cell.point.params.clone(),
                seed: cell.seed,
                wall_s: started.elapsed().as_secs_f64(),
                records,
            })?,
            Err(error) => {
                self.progress.say(&format!("failed: {}", failure(stage, cell, &error).line()));
                self.failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((cell.key, error));
            }
        }
        self.progress.finished(cell.time.seconds);
        Ok(())
    }
}

fn failure(stage: &PlannedStage, cell: &Cell, error: &Error) -> Failure {
    Failure { stage: stage.name.clone(), params: cell.point.json.clone(), seed: cell.seed, error: error.clone() }
}

fn write_tables(
    request: &Request,
    plan: &Plan,
    store: &Store,
    results: &Results,
    failed: Vec<(Key, Error)>,
    started: Instant,
) -> Result<Outcome> {
    let failed: std::collections::HashMap<Key, Error> = failed.into_iter().collect();
    let old_receipt = Receipt::read(&results.receipt_path());
    let mut receipt = old_receipt.clone();
    let mut outcome = Outcome::default();
    for stage in &plan.stages {
        let failures: Vec<Failure> = stage
            .cells
            .iter()
            .filter_map(|cell| failed.get(&cell.key).map(|error| failure(stage, cell, error)))
            .collect();
        let mut done = StageOutcome {
            name: stage.name.clone(),
            cells: stage.cells.len(),
            computed: stage.missing() - failures.len(),
            failed: failures.len(),
            left_out: stage.left_out(),
            table: if stage.cells.is_empty() { TableOutcome::NoCells } else { TableOutcome::NotWritten },
        };
        if failures.is_empty() && !leaves_table_alone(stage, results, &old_receipt) {
            match write_table(stage, store, results) {
                Ok((written, entry)) => {
                    done.table = if written { TableOutcome::Written } else { TableOutcome::Unchanged };
                    enter(&mut receipt, stage, entry, done.computed > 0, request.threads, started);
                }
                Err(error) => {
                    outcome.failures.push(Failure { stage: stage.name.clone(), params: String::new(), seed: 0, error });
                }
            }
        }
        outcome.failures.extend(failures);
        outcome.stages.push(done);
    }
    if receipt != old_receipt {
        receipt.write(&results.receipt_path())?;
    }
    Ok(outcome)
}

fn write_table(stage: &PlannedStage, store: &Store, results: &Results) -> Result<(bool, StageReceipt)> {
    let cells = stage.table_cells();
    let keys: HashSet<Key> = cells.iter().map(|cell| cell.key).collect();
    let table = assemble::table(stage, &store.records(&keys)?)?;
    let written = results.write_table(&stage.name, &table)?;
    let entry = StageReceipt {
        cells: cells.len(),
        cells_hash: stage.cells_hash(),
        content_hash: table.content_hash(),
        file_hash: results.file_hash(&stage.name).unwrap_or_default(),
        cell_seconds: cells.iter().filter_map(|cell| store.wall_seconds(&cell.key)).sum(),
        run_seconds: 0.0,
        threads: 0,
        finished: String::new(),
    };
    Ok((written, entry))
}

/// Puts a stage into the receipt; when nothing of it was computed, its times stay those of the run that did.
fn enter(
    receipt: &mut Receipt,
    stage: &PlannedStage,
    mut entry: StageReceipt,
    computed: bool,
    threads: usize,
    started: Instant,
) {
    match receipt.stages.get(&stage.name) {
        Some(old) if !computed => {
            entry.run_seconds = old.run_seconds;
            entry.threads = old.threads;
            entry.finished.clone_from(&old.finished);
        }
        _ => {
            entry.run_seconds = started.elapsed().as_secs_f64();
            entry.threads = threads;
            entry.finished = utc_now();
        }
    }
    receipt.stages.insert(stage.name.clone(), entry);
}
