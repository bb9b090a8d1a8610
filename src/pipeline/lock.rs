//! Who may write to a store: one run alone, or several shards beside each other, by a lock of the operating system.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::stop::Stop;
use crate::error::{Error, Result};

/// Held while a run writes to a store. The operating system releases it when its process ends, however it ends, so
/// there is no stale lock to delete by hand.
#[derive(Debug)]
pub struct Lock {
    file: File,
    hold: Hold,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Nobody else holds the lock.
    Alone,
    /// Others may hold it beside, none alone.
    Beside,
}

/// Between two looks at a lock that another process has.
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// A shorter wait is not worth a line.
const WORTH_A_LINE: Duration = Duration::from_millis(200);

impl Lock {
    /// Takes the lock; while other processes have it, calls `waiting` with who that is, once, and waits until they end or
    /// `stop` is raised.
    pub fn acquire(folder: &Path, hold: Hold, stop: &Stop, waiting: impl FnOnce(&str)) -> Result<Self> {
        let (started, mut waiting) = (Instant::now(), Some(waiting));
        loop {
            if let Some(lock) = Self::try_acquire(folder, hold)? {
                return Ok(lock);
            }
            if stop.is_requested() {
                return Err(Error::interrupted("interrupted while waiting for the store; nothing was computed"));
            }
            if started.elapsed() >= WORTH_A_LINE
                && let Some(waiting) = waiting.take()
            {
                waiting(&holder(&path(folder)));
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
    }

    /// Takes the lock unless other processes have it.
    pub fn try_acquire(folder: &Path, hold: Hold) -> Result<Option<Self>> {
        let path = path(folder);
        let failed = |doing: &str, error: &std::io::Error| Error::io(doing, &path, error);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| failed("open the lock", &error))?;
        let taken = match hold {
            Hold::Alone => file.try_lock(),
            Hold::Beside => file.try_lock_shared(),
        };
        match taken {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => {
                return Err(failed("take the lock", &error).fix("keep the store on a disk with locks: --store DIR"));
            }
        }
        let mut lock = Self { file, hold };
        let others = if hold == Hold::Beside { "shards, the last of which is " } else { "" };
        lock.write(&format!("{others}process {}: {}\n", std::process::id(), command()))
            .map_err(|error| failed("write the lock", &error))?;
        Ok(Some(lock))
    }

    fn write(&mut self, text: &str) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The name of a former holder in the file harms nobody, so failures here are not reported. A shard leaves the
        // name, which may be that of another shard.
        if self.hold == Hold::Alone {
            let _ = self.write("");
        }
        let _ = self.file.unlock();
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("lock")
}

fn holder(path: &Path) -> String {
    let mut text = String::new();
    match File::open(path).and_then(|mut file| file.read_to_string(&mut text)) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}

/// The command line of this process, with the program's name without its folder.
fn command() -> String {
    let mut words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut() {
        let path = PathBuf::from(&*program);
        *program = path.file_name().map_or_else(|| program.clone(), |name| name.to_string_lossy().into_owned());
    }
    words.join(" ").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(folder: &Path, hold: Hold) -> Option<Lock> {
        Lock::try_acquire(folder, hold).unwrap()
    }

    #[test]
    fn a_second_taker_hears_who_has_the_lock_and_gets_it_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let first = take(folder.path(), Hold::Alone).unwrap();
        let (told, hears) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(move || {
                let waiting = |holder: &str| told.send(holder.to_owned()).unwrap();
                Lock::acquire(folder.path(), Hold::Alone, &Stop::default(), waiting).unwrap();
            });
            let holder = hears.recv().unwrap();
            assert!(holder.starts_with(&format!("process {}: ", std::process::id())), "{holder}");
            drop(first);
            second.join().unwrap();
        });
    }

    #[test]
    fn shards_hold_the_lock_beside_each_other_and_never_beside_a_run_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (take(folder.path(), Hold::Beside).unwrap(), take(folder.path(), Hold::Beside).unwrap());
        assert!(take(folder.path(), Hold::Alone).is_none());
        assert!(holder(&path(folder.path())).starts_with("shards, the last of which is process "));
        drop(first);
        assert!(take(folder.path(), Hold::Alone).is_none());
        drop(second);
        let alone = take(folder.path(), Hold::Alone).unwrap();
        assert!(take(folder.path(), Hold::Beside).is_none());
        drop(alone);
        assert!(take(folder.path(), Hold::Beside).is_some());
    }
}
