//! The bytes of an input: a file, a part of one, or memory.
//!
//! Files are read at positions rather than mapped: a mapped file that another program shortens kills the process, and its
//! pages count as memory of ours.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use crate::durable;
use crate::error::{Error, Result};

/// Some consecutive bytes; cheap to clone.
#[derive(Clone)]
pub struct Content {
    origin: Origin,
    start: u64,
    length: u64,
}

#[derive(Clone)]
enum Origin {
    File(Arc<File>),
    Memory(Arc<Vec<u8>>),
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        Self { origin: Origin::Memory(Arc::new(bytes)), start: 0, length }
    }
}

impl Content {
    pub fn open(path: &Path) -> Result<Self> {
        let file = durable::open_plain(path)?;
        let facts = file.metadata().map_err(|error| Error::io("open", path, &error))?;
        Ok(Self { origin: Origin::File(Arc::new(file)), start: 0, length: facts.len() })
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// The `length` bytes from `start`, which must be there.
    pub fn part(&self, start: u64, length: u64) -> Result<Self> {
        match start.checked_add(length) {
            Some(end) if end <= self.length => Ok(Self { start: self.start + start, length, ..self.clone() }),
            _ => Err(cut_off(start.saturating_add(length), self.length)),
        }
    }

    /// All bytes in memory.
    pub fn to_vec(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.length as usize];
        self.read_at(0, &mut bytes)?;
        Ok(bytes)
    }

    /// The whole file, where this is one.
    pub fn file(&self) -> Option<&File> {
        match &self.origin {
            Origin::File(file) => Some(file),
            Origin::Memory(_) => None,
        }
    }

    /// Fills `buffer` with the bytes from `offset`.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.part(offset, buffer.len() as u64)?;
        let place = self.start + offset;
        match &self.origin {
            Origin::Memory(bytes) => buffer.copy_from_slice(&bytes[place as usize..][..buffer.len()]),
            Origin::File(file) => file
                .read_exact_at(buffer, place)
                .map_err(|error| Error::input(format!("cannot read on at byte {place}: {error}")))?,
        }
        Ok(())
    }

    /// A reader from the start.
    pub fn reader(&self) -> ContentReader {
        ContentReader { content: self.clone(), place: 0 }
    }
}

/// The error of a file that is shorter than its own description.
pub fn cut_off(promised: u64, held: u64) -> Error {
    Error::input(format!("the file promises {promised} bytes and holds {held}"))
        .fix("the file is cut off or damaged: copy or save it again")
}

/// Reads a [`Content`] from front to back.
#[derive(Clone)]
pub struct ContentReader {
    content: Content,
    place: u64,
}

impl Read for ContentReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.content.length.saturating_sub(self.place);
        let wanted = left.min(buffer.len() as u64) as usize;
        let place = self.content.start + self.place;
        let read = match &self.content.origin {
            Origin::Memory(bytes) if wanted > 0 => (&bytes[place as usize..]).read(&mut buffer[..wanted])?,
            Origin::File(file) if wanted > 0 => file.read_at(&mut buffer[..wanted], place)?,
            _ => 0,
        };
        self.place += read as u64;
        Ok(read)
    }
}

impl Seek for ContentReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(offset) => self.content.length.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.place.checked_add_signed(offset),
        };
        self.place = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.place)
    }
}
