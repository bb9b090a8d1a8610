//! Computes cells on all threads. One more thread makes them durable, many with one fsync, while the others go on.
//!
//! A cell is in the journal when its thread takes the next one, so a run that is killed loses the cells in flight and no
//! other. It counts as finished when it would survive a loss of power, too: a few milliseconds later.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::attempt::attempt;
use super::failures::FailedCell;
use super::journal::{self, FinishedCell};
use super::key::Key;
use super::plan::{Cell, PlannedStage};
use super::progress::{Progress, count, duration, tell};
use super::run::failure;
use super::stop::Stop;
use super::writable::WritableStore;
use crate::error::{Error, INTERRUPTED, Result};

/// What to compute and how.
pub struct Job<'a> {
    /// Each cell once.
    pub queue: Vec<(&'a PlannedStage<'a>, &'a Cell)>,
    pub writable: &'a WritableStore,
    pub threads: usize,
    /// Takes no new cell after the first failure.
    pub fail_fast: bool,
    pub stop: &'a Stop,
    pub quiet: bool,
}

/// What became of the cells. Those in neither were not begun.
#[derive(Debug, Default)]
pub struct Done {
    pub finished: HashSet<Key>,
    pub failed: HashMap<Key, Error>,
}

/// How often the thread of the journal looks whether the run shall stop.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// What cells in flight have to finish when the run is interrupted.
const GRACE: Duration = Duration::from_secs(5);

/// A cell that is in the journal.
struct Computed {
    key: Key,
    predicted_seconds: f64,
}

/// Computes the cells of a job, longest first.
pub fn compute(mut job: Job) -> Result<Done> {
    if job.queue.is_empty() {
        return Ok(Done::default());
    }
    job.queue.sort_by(|a, b| b.1.time.seconds.total_cmp(&a.1.time.seconds));
    job.threads = job.threads.min(job.queue.len());
    let seconds = job.queue.iter().map(|(_, cell)| cell.time.seconds).sum();
    let progress = Progress::start(job.queue.len(), seconds, job.threads, job.quiet);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(job.threads)
        .build()
        .map_err(|error| Error::failure(format!("cannot start {}: {error}", count(job.threads, "thread"))))?;
    let work = Work::new(&job, &progress);
    let finished = std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        let committer = scope.spawn(|| work.commit(receiver));
        let computed = pool.install(|| work.compute(&sender));
        drop(sender);
        let finished = committer.join().unwrap_or_else(|_| Err(Error::failure("the thread of the journal died")));
        computed.and(finished)
    });
    progress.end();
    Ok(Done { finished: finished?, failed: work.failed.into_inner().unwrap_or_else(PoisonError::into_inner) })
}

/// The queue that all threads take cells from.
struct Work<'a> {
    job: &'a Job<'a>,
    progress: &'a Progress,
    next: AtomicUsize,
    in_flight: AtomicUsize,
    /// Raised when no new cell is to be taken: after an error of the store, or a failure that is to end the run.
    ended: AtomicBool,
    failed: Mutex<HashMap<Key, Error>>,
}

impl<'a> Work<'a> {
    fn new(job: &'a Job<'a>, progress: &'a Progress) -> Self {
        let (next, in_flight, ended) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        Self { job, progress, next, in_flight, ended, failed: Mutex::default() }
    }

    /// Empties the queue with one worker a thread; the first error of the store ends them all.
    fn compute(&self, sender: &Sender<Computed>) -> Result<()> {
        let broken = Mutex::new(None);
        rayon::scope(|scope| {
            for _ in 0..self.job.threads {
                scope.spawn(|_| {
                    while let Some((stage, cell)) = self.take() {
                        self.in_flight.fetch_add(1, Ordering::Relaxed);
                        if let Err(error) = self.one(stage, cell, sender) {
                            self.ended.store(true, Ordering::Relaxed);
                            broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                        }
                        self.in_flight.fetch_sub(1, Ordering::Relaxed);
                    }
                });
            }
        });
        broken.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }

    fn take(&self) -> Option<(&'a PlannedStage<'a>, &'a Cell)> {
        if self.job.stop.is_requested() || self.ended.load(Ordering::Relaxed) {
            return None;
        }
        self.job.queue.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }

    /// Computes one cell and writes it down. Only an error of the store is an error here.
    fn one(&self, stage: &PlannedStage, cell: &Cell, sender: &Sender<Computed>) -> Result<()> {
        let started = Instant::now();
        let records = match attempt(stage.experiment, &cell.point, cell.seed) {
            Ok(records) => records,
            Err(error) => return self.fail(stage, cell, error),
        };
        let line = journal::line(&FinishedCell {
            key: cell.key,
            experiment: stage.experiment.name().to_owned(),
            version: stage.experiment.version(),
            params: cell.point.params.clone(),
            seed: cell.seed,
            wall_s: started.elapsed().as_secs_f64(),
            records,
        })?;
        self.job.writable.append(&line)?;
        // Nobody receives after an error of the journal, which ends the run and is told then.
        let _ = sender.send(Computed { key: cell.key, predicted_seconds: cell.time.seconds });
        Ok(())
    }

    fn fail(&self, stage: &PlannedStage, cell: &Cell, error: Error) -> Result<()> {
        if self.job.fail_fast {
            self.ended.store(true, Ordering::Relaxed);
        }
        let experiment = (stage.experiment.name(), stage.experiment.version());
        let params = cell.point.params.clone();
        self.job.writable.keep_failure(&FailedCell::new(cell.key, experiment, params, cell.seed, &error))?;
        self.progress.say(&format!("failed: {}", failure(stage, cell, &error).line()));
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).insert(cell.key, error);
        self.progress.finished(cell.time.seconds);
        Ok(())
    }

    /// Makes cells durable as they come, all that wait at once; from then on they are finished.
    fn commit(&self, receiver: Receiver<Computed>) -> Result<HashSet<Key>> {
        let (mut finished, mut interrupted) = (HashSet::new(), None);
        loop {
            if self.job.stop.is_requested() {
                let since: &mut Instant = interrupted.get_or_insert_with(|| self.tell_of_interruption());
                if since.elapsed() >= GRACE {
                    self.leave(finished.len());
                }
            }
            let first = match receiver.recv_timeout(BETWEEN_LOOKS) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return Ok(finished),
            };
            let waiting: Vec<Computed> = std::iter::once(first).chain(receiver.try_iter()).collect();
            self.job.writable.sync().inspect_err(|_| self.ended.store(true, Ordering::Relaxed))?;
            for cell in waiting {
                finished.insert(cell.key);
                self.progress.finished(cell.predicted_seconds);
            }
        }
    }

    fn tell_of_interruption(&self) -> Instant {
        if self.in_flight.load(Ordering::Relaxed) > 0 {
            let (cells, grace) = (self.cells_in_flight(), duration(GRACE.as_secs_f64()));
            self.progress
                .say(&format!("interrupted: giving {cells} in flight {grace} to finish; interrupt again to drop them"));
        }
        Instant::now()
    }

    /// Ends the process: nothing can end a cell that takes too long. What is finished is in the journal.
    fn leave(&self, finished: usize) -> ! {
        self.progress.end();
        tell(&format!("dropped {} in flight; {} finished and kept", self.cells_in_flight(), count(finished, "cell")));
        std::process::exit(i32::from(INTERRUPTED));
    }

    fn cells_in_flight(&self) -> String {
        count(self.in_flight.load(Ordering::Relaxed), "cell")
    }
}
