//! One run per store at a time, by a lock of the operating system.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Held while a run writes to a store. The operating system releases it when its process ends, however it ends, so
/// there is no stale lock to delete by hand.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock; when another process has it, calls `waiting` with who that is, once, and waits.
    pub fn acquire(folder: &Path, waiting: impl FnOnce(&str)) -> Result<Self> {
        let path = folder.join("lock");
        let failed = |doing: &str, error: &std::io::Error| Error::io(doing, &path, error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| failed("open the lock", &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting(&holder(&mut file));
                file.lock().map_err(|error| failed("take the lock", &error))?;
            }
            Err(TryLockError::Error(error)) => {
                return Err(failed("take the lock", &error).fix("keep the store on a local disk: --store DIR"));
            }
        }
        let mut lock = Self { file };
        lock.write(&format!("process {}: {}\n", std::process::id(), command()))
            .map_err(|error| failed("write the lock", &error))?;
        Ok(lock)
    }

    fn write(&mut self, text: &str) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(text.as_bytes())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The name of a former holder in the file harms nobody, so a failure here is not reported.
        let _ = self.write("");
        let _ = self.file.unlock();
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
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

    #[test]
    fn a_second_taker_hears_who_has_the_lock_and_gets_it_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::acquire(folder.path(), |_| panic!("nobody has it")).unwrap();
        let (told, hears) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(move || {
                Lock::acquire(folder.path(), |holder| told.send(holder.to_owned()).unwrap()).unwrap();
            });
            let holder = hears.recv().unwrap();
            assert!(holder.starts_with(&format!("process {}: ", std::process::id())), "{holder}");
            drop(first);
            second.join().unwrap();
        });
    }
}
