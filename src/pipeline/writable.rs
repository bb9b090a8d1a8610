//! A store that a run writes to, while it holds the lock.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::journal::{FinishedCell, Journal};
use super::lock::Lock;
use super::segment;
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
    /// Takes the lock, then puts in order what a killed run or a bad disk left: journals become segments, damaged files
    /// go to quarantine. `say` hears whom this waits for and what was done.
    pub fn open(root: &Path, say: &dyn Fn(&str)) -> Result<(Self, Store)> {
        Store::read(root)?; // A store of a newer program is left alone, lock included.
        std::fs::create_dir_all(root).map_err(|error| Error::io("create the store", root, &error))?;
        let lock = Lock::acquire(root, |holder| {
            say(&format!("waiting for {holder}, which is using the store '{}'", root.display()));
        })?;
        let store = Store::read(root)?;
        let writable = Self { root: root.to_owned(), journal: Mutex::new(None), _lock: lock };
        let store = writable.put_in_order(store, say)?;
        Ok((writable, store))
    }

    /// Makes a finished cell durable.
    pub fn append(&self, cell: &FinishedCell) -> Result<()> {
        // A thread that panicked while it held the journal left at worst half a line, which reading detects.
        let mut journal = self.journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if journal.is_none() {
            *journal = Some(Journal::create(&self.root.join("journal"))?);
        }
        match journal.as_mut() {
            Some(journal) => journal.append(cell),
            None => Err(Error::failure("the journal is gone")),
        }
    }

    /// Turns all journals into segments and returns what the store holds then.
    pub fn seal(&self) -> Result<Store> {
        *self.journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        let store = Store::read(&self.root)?;
        if store.journals().is_empty() {
            return Ok(store);
        }
        segment::write(&self.root.join("cells"), &store.unsealed())?;
        let damaged: Vec<&PathBuf> = store.damage().iter().map(|damage| &damage.path).collect();
        for path in store.journals() {
            // The segments are durable by now. A damaged journal is kept for whoever wants to look at it.
            if damaged.contains(&path) {
                self.quarantine(path)?;
            } else {
                std::fs::remove_file(path).map_err(|error| Error::io("remove the journal", path, &error))?;
            }
        }
        Store::read(&self.root)
    }

    fn put_in_order(&self, store: Store, say: &dyn Fn(&str)) -> Result<Store> {
        let format = self.root.join("format");
        if store.format_is_damaged() {
            say(&format!("warning: '{}' was damaged and is written anew", format.display()));
        }
        durable::replace_text(&format, &store::format_text())?;
        for path in store::unfinished_files(&self.root)? {
            std::fs::remove_file(&path).map_err(|error| Error::io("remove", &path, &error))?;
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
        if store.journals().is_empty() && store.damage().is_empty() { Ok(store) } else { self.seal() }
    }

    fn quarantine(&self, path: &Path) -> Result<()> {
        let folder = self.root.join("quarantine");
        std::fs::create_dir_all(&folder).map_err(|error| Error::io("create the folder", &folder, &error))?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let free = (0_u32..)
            .map(|number| folder.join(if number == 0 { name.clone() } else { format!("{name}.{number}") }))
            .find(|target| !target.exists())
            .unwrap_or_else(|| folder.join(&name));
        std::fs::rename(path, &free).map_err(|error| Error::io("move to quarantine", path, &error))
    }
}
