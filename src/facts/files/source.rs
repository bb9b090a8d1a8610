//! The name of a table: a path, for files that hold several tables with a colon and the table's name behind it.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, Result, unknown};

/// What kind of file a table lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Npy,
    Npz,
    Safetensors,
    Parquet,
    Csv,
    Tsv,
}

const EXTENSIONS: [(&str, Format); 6] = [
    ("npy", Format::Npy),
    ("npz", Format::Npz),
    ("safetensors", Format::Safetensors),
    ("parquet", Format::Parquet),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
];

impl Format {
    /// The format that the extension of a path stands for.
    ///
    /// # Errors
    /// When the extension is unknown or missing.
    pub fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let known = EXTENSIONS.iter().find(|(name, _)| *name == extension);
        let names = EXTENSIONS.iter().map(|(name, _)| *name);
        known.map(|(_, format)| *format).ok_or_else(|| unknown("file extension", &extension, names).at(path.display()))
    }

    /// The extension, without a dot.
    pub fn name(self) -> &'static str {
        EXTENSIONS.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// Whether a file of this format can hold several tables.
    pub fn has_members(self) -> bool {
        matches!(self, Self::Npz | Self::Safetensors | Self::Parquet)
    }
}

/// A path, and the name of the table in it where a file holds several.
///
/// ```
/// use factsmith::facts::files::Source;
/// let source: Source = "model.safetensors:embed.weight".parse().unwrap();
/// assert_eq!(source.path().to_str(), Some("model.safetensors"));
/// assert_eq!(source.member(), Some("embed.weight"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    path: PathBuf,
    member: Option<String>,
}

impl Source {
    /// A file with one table.
    pub fn from_path(path: &Path) -> Self {
        Self { path: path.to_owned(), member: None }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn member(&self) -> Option<&str> {
        self.member.as_deref()
    }

    /// The format of the file.
    ///
    /// # Errors
    /// When its extension is unknown.
    pub fn format(&self) -> Result<Format> {
        Format::of(&self.path)
    }
}

/// A colon separates path and member where a file extension precedes it, and the text as a whole is no file.
impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> std::result::Result<Self, Infallible> {
        let whole = Self::from_path(Path::new(text));
        if whole.path.exists() {
            return Ok(whole);
        }
        let colons = text.match_indices(':').map(|(place, _)| text.split_at(place));
        let split = colons.map(|(path, rest)| (path, &rest[1..])).find(|(path, _)| Format::of(Path::new(path)).is_ok());
        Ok(match split {
            Some((path, member)) => Self { path: PathBuf::from(path), member: Some(member.to_owned()) },
            None => whole,
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.path.display())?;
        self.member.iter().try_for_each(|member| write!(out, ":{member}"))
    }
}

/// How many names an error lists.
const LISTED: usize = 12;

/// The error of a file with several tables of which none was named.
pub fn several<'a>(noun: &str, names: impl Iterator<Item = &'a str>) -> Error {
    let names: Vec<&str> = names.collect();
    let more = if names.len() > LISTED { ", …" } else { "" };
    let first = names.first().copied().unwrap_or_default();
    Error::input(format!("the file holds {} {noun}", names.len()))
        .fix(format!("name one as FILE:{first}; there are {}{more}", names[..names.len().min(LISTED)].join(", ")))
}
