//! A store that a run writes to, while it holds the lock.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::compaction;
use super::failures::{self, FailedCell};
use super::journal::{FinishedCell, Journal};
use super::lock::{Hold, Lock};
use super::segment;
use super::stop::Stop;
use super::store::{self, Store};
use crate::durable;
use crate::error::{Error, Result};

/// The right to write to a store, for as long as it lives.
#[derive(Debug)]
pub struct WritableStore {
    root: PathBuf,
    journal: Mutex<Option<Journal>>,
    _lock: Lock,
}

impl WritableStore {
    /// Takes the lock alone, then puts in order what a killed run or a bad disk left: journals become segments, damaged
    /// files go to quarantine. `say` hears whom this waits for and what was done; `seen` is what was read before.
    pub fn open(seen: Store, stop: &Stop, say: &dyn Fn(&str)) -> Result<(Self, Store)> {
        let root = seen.root().to_owned();
        prepare(&root)?;
        let lock = Lock::acquire(&root, Hold::Alone, stop, |holder| say(&waiting(holder, &root)))?;
        let store = if seen.is_current()? { seen } else { Store::read(&root)? };
        Self::with(lock, store, say)
    }

    /// The same, but nothing when other processes have the lock.
    pub fn try_open(root: &Path, say: &dyn Fn(&str)) -> Result<Option<(Self, Store)>> {
        prepare(root)?;
        let Some(lock) = Lock::try_acquire(root, Hold::Alone)? else { return Ok(None) };
        Self::with(lock, Store::read(root)?, say).map(Some)
    }

    /// Takes the lock beside others, each of which writes a journal of its own. The first puts the store in order.
    pub fn share(root: &Path, stop: &Stop, say: &dyn Fn(&str)) -> Result<(Self, Store)> {
        drop(Self::try_open(root, say)?);
        let lock = Lock::acquire(root, Hold::Beside, stop, |holder| say(&waiting(holder, root)))?;
        Ok((Self { root: root.to_owned(), journal: Mutex::new(None), _lock: lock }, Store::read(root)?))
    }

    fn with(lock: Lock, store: Store, say: &dyn Fn(&str)) -> Result<(Self, Store)> {
        let writable = Self { root: store.root().to_owned(), journal: Mutex::new(None), _lock: lock };
        let store = writable.put_in_order(store, say)?;
        Ok((writable, store))
    }

    /// Writes the line of a computed cell to the journal. The cell is finished after the next [`Self::sync`].
    pub fn append(&self, line: &str) -> Result<()> {
        let mut journal = self.journal();
        if journal.is_none() {
            *journal = Some(Journal::create(&self.root.join("journal"))?);
        }
        match journal.as_mut() {
            Some(journal) => journal.append(line),
            None => Err(Error::failure("the journal is gone")),
        }
    }

    /// Makes all lines that were appended before durable; others can be appended meanwhile.
    pub fn sync(&self) -> Result<()> {
        let syncer = self.journal().as_ref().map(Journal::syncer);
        syncer.map_or(Ok(()), |sync| sync())
    }

    /// Keeps a failed cell.
    pub fn keep_failure(&self, cell: &FailedCell) -> Result<()> {
        failures::write(&self.root, cell)
    }

    /// Ends the journal of this run and turns it into segments; `store` is what was read before it was begun. Only for
    /// whoever has the lock alone.
    pub fn seal(&self, mut store: Store) -> Result<Store> {
        *self.journal() = None;
        store.read_journals()?;
        self.put_away_journals(&mut store)?;
        Ok(store)
    }

    fn put_in_order(&self, mut store: Store, say: &dyn Fn(&str)) -> Result<Store> {
        let format = self.root.join("format");
        if store.format_is_damaged() {
            say(&format!("warning: '{}' was damaged; it is moved to quarantine and written anew", format.display()));
            self.quarantine(&format)?;
        }
        durable::replace_text(&format, &store::format_text()?)?;
        for path in store::unfinished_files(&self.root)? {
            durable::remove(&path)?;
        }
        for warning in store.warnings() {
            say(&format!("warning: {warning}; the file is moved to quarantine"));
        }
        for path in store.unfinished() {
            say(&format!(
                "a run was stopped while it wrote a cell to '{}'; that cell counts as missing",
                path.display()
            ));
        }
        for damage in store.damage().iter().filter(|damage| !store.journals().contains(&damage.path)) {
            self.quarantine(&damage.path)?;
        }
        for segment in store.segments().iter().filter(|segment| segment.live == 0) {
            durable::remove(&segment.path)?;
        }
        self.put_away_journals(&mut store)?;
        Ok(store)
    }

    fn put_away_journals(&self, store: &mut Store) -> Result<()> {
        let cells: Vec<FinishedCell> = store.unsealed().cloned().collect();
        for segment in segment::write(&self.root.join("cells"), &cells)? {
            store.add(segment);
        }
        // The segments are durable by now. A damaged journal is kept for whoever wants to look at it.
        let damaged: HashSet<&PathBuf> = store.damage().iter().map(|damage| &damage.path).collect();
        for path in store.journals() {
            if damaged.contains(path) { self.quarantine(path)? } else { durable::remove(path)? }
        }
        for cell in store.failures().filter(|cell| store.wall_seconds(&cell.key).is_some()) {
            failures::remove(&self.root, &cell.key)?;
        }
        store.forget_put_away();
        compaction::compact(store)
    }

    fn quarantine(&self, path: &Path) -> Result<()> {
        let folder = self.root.join(store::QUARANTINE);
        durable::create_folder(&folder)?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let free = (0_u32..)
            .map(|number| folder.join(if number == 0 { name.clone() } else { format!("{name}.{number}") }))
            .find(|target| target.symlink_metadata().is_err())
            .unwrap_or_else(|| folder.join(&name));
        std::fs::rename(path, &free).map_err(|error| Error::io("move to quarantine", path, &error))
    }

    /// A thread that panicked while it held the journal left at worst half a line, which reading detects.
    fn journal(&self) -> MutexGuard<'_, Option<Journal>> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store of a newer program is left alone, lock included.
fn prepare(root: &Path) -> Result<()> {
    store::check_format(root)?;
    durable::create_folder(root)
}

fn waiting(holder: &str, root: &Path) -> String {
    format!("waiting for {holder}, which is using the store '{}'", root.display())
}
