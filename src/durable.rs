//! Files that are there whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Replaces `path` by what `write` produces: temporary file beside it, fsync, rename, fsync of the folder.
///
/// A reader, or a run that is killed at any moment, sees the old file or the new one.
pub fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>) -> Result<()> {
    let folder = parent(path);
    create_folder(folder)?;
    let failed = |error: std::io::Error| Error::io("write", path, &error);
    let temporary = tempfile::Builder::new()
        .prefix(".unfinished-")
        .permissions(readable_by_all())
        .tempfile_in(folder)
        .map_err(failed)?;
    {
        let mut buffered = BufWriter::new(temporary.as_file());
        write(&mut buffered).map_err(failed)?;
        buffered.flush().map_err(failed)?;
    }
    temporary.as_file().sync_all().map_err(failed)?;
    temporary.persist(path).map_err(|error| failed(error.error))?;
    sync_folder(folder)
}

/// Replaces a text file; leaves it and its modification time alone when the text is already there.
/// Returns whether it was written.
pub fn replace_text(path: &Path, text: &str) -> Result<bool> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(false);
    }
    replace(path, |file| file.write_all(text.as_bytes()))?;
    Ok(true)
}

/// Creates a folder and those above it, so that they survive a power loss.
pub fn create_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() || folder.as_os_str().is_empty() {
        return Ok(());
    }
    create_folder(parent(folder))?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::io("create the folder", folder, &error))
        }
        _ => sync_folder(parent(folder)),
    }
}

/// Makes a rename or a new file in `folder` survive a power loss.
pub fn sync_folder(folder: &Path) -> Result<()> {
    File::open(folder)
        .and_then(|handle| handle.sync_all())
        .map_err(|error| Error::io("sync the folder", folder, &error))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A result is for everyone to read; without this a temporary file is its owner's alone.
fn readable_by_all() -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o644)
}
