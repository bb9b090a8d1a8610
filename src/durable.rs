//! Files that are there whole or not at all.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Replaces `path` by what `write` produces: temporary file beside it, fsync, rename, fsync of the folder.
///
/// A reader, or a run that is killed at any moment, sees the old file or the new one.
///
/// A link is followed, the permissions of an old file stay, and what is no plain file is left alone with an error.
pub fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>) -> Result<()> {
    let (target, old) = target(path)?;
    let path = target.as_path();
    let folder = parent(path);
    create_folder(folder)?;
    let failed = |error: std::io::Error| Error::io("write", path, &error);
    let temporary = tempfile::Builder::new()
        .prefix(".unfinished-")
        .permissions(old.map_or_else(readable_by_all, |old| old.permissions()))
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

/// Whether [`replace`] would find a place for `path`, asked before hours of work; leaves nothing behind.
pub fn check_writable(path: &Path) -> Result<()> {
    let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    let (path, _) = target(path)?;
    if is_folder {
        return Err(Error::input(format!("'{}' is the name of a folder", path.display())).fix("name a file in it"));
    }
    let is_there = |folder: &&Path| folder.as_os_str().is_empty() || folder.exists();
    let folder = parent(&path).ancestors().find(is_there).filter(|folder| !folder.as_os_str().is_empty());
    let found = tempfile::tempfile_in(folder.unwrap_or(Path::new(".")));
    let failed = |error| Error::io("write", &path, &error).fix("name a file in a folder that can be written to");
    found.map(drop).map_err(failed)
}

/// The file that a path stands for, and what is there now.
fn target(path: &Path) -> Result<(PathBuf, Option<fs::Metadata>)> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return Err(Error::input(format!("'{}' is not a plain file", path.display())).fix("name another file to write"));
    }
    Ok((path, old))
}

/// Removes a file, unless another process has done so.
pub fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path, &error)),
        _ => Ok(()),
    }
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

/// Opens a file for reading, unless it is a folder, a pipe or a device: those may never end.
pub fn open_plain(path: &Path) -> Result<File> {
    let facts = fs::metadata(path).map_err(|error| Error::io("open", path, &error))?;
    if facts.is_dir() {
        return Err(Error::input(format!("'{}' is a folder", path.display())).fix("give a file"));
    }
    if !facts.is_file() {
        return Err(Error::input(format!("'{}' is not a plain file", path.display())).fix("save it to a file first"));
    }
    File::open(path).map_err(|error| Error::io("open", path, &error))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn links_are_followed_and_permissions_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace_text(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_place_to_write_is_known_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "old").unwrap();
        check_writable(&file).unwrap();
        check_writable(&folder.path().join("new folder/in it/new")).unwrap();
        check_writable(Path::new("new")).unwrap();
        for impossible in [file.join("below a file"), folder.path().join("new/"), PathBuf::from("/proc/new")] {
            assert!(check_writable(&impossible).is_err(), "{}", impossible.display());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    }

    #[test]
    fn what_is_no_plain_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), Path::new("/dev/null")] {
            assert_eq!(replace_text(path, "text").unwrap_err().exit_code(), 2);
            assert_eq!(open_plain(path).unwrap_err().exit_code(), 2);
            assert_eq!(check_writable(path).unwrap_err().exit_code(), 2);
            assert!(!fs::metadata(path).unwrap().is_file());
        }
    }
}
