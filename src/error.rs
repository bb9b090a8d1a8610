//! One error type: what went wrong, where, and how to fix it.

use std::fmt;

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Who has to act on an error; decides the exit code of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The input can be mended by the person who gave it (exit code 2).
    Input,
    /// The computation or the machine failed on good input (exit code 1).
    Failure,
    /// Somebody asked for an end (exit code 130).
    Interrupted,
}

/// The exit code of a command that was interrupted, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// What went wrong, where, and how to fix it.
///
/// ```
/// use factsmith::error::Error;
/// let error = Error::input("kappa is 0.5").at("pipeline.toml:12").fix("use a condition number of at least 1");
/// assert_eq!(
///     error.to_string(),
///     "kappa is 0.5\n  where: pipeline.toml:12\n  fix: use a condition number of at least 1"
/// );
/// assert_eq!(error.exit_code(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    what: String,
    place: Option<String>,
    advice: Option<String>,
}

impl Error {
    /// An error the user can mend.
    pub fn input(what: impl Into<String>) -> Self {
        Self { kind: Kind::Input, what: what.into(), place: None, advice: None }
    }

    /// A failure of the computation or of the machine.
    pub fn failure(what: impl Into<String>) -> Self {
        Self { kind: Kind::Failure, what: what.into(), place: None, advice: None }
    }

    /// An end that somebody asked for.
    pub fn interrupted(what: impl Into<String>) -> Self {
        Self { kind: Kind::Interrupted, what: what.into(), place: None, advice: None }
    }

    /// Says where it happened; a place that was said closer to the fault is kept.
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.place.get_or_insert_with(|| place.to_string());
        self
    }

    /// Says how to fix it; advice that was given closer to the fault is kept.
    pub fn fix(mut self, advice: impl Into<String>) -> Self {
        self.advice.get_or_insert_with(|| advice.into());
        self
    }

    /// Input (exit code 2), failure (exit code 1) or interruption (exit code 130).
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What went wrong, without place and advice.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The exit code of a command that ends with this error.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            Kind::Input => 2,
            Kind::Failure => 1,
            Kind::Interrupted => INTERRUPTED,
        }
    }

    /// A failed read or write of `path`.
    pub fn io(doing: &str, path: &std::path::Path, source: &std::io::Error) -> Self {
        use std::io::ErrorKind;
        let what = format!("cannot {doing} '{}': {source}", path.display());
        match source.kind() {
            ErrorKind::NotFound => Self::input(what).fix("check the path"),
            ErrorKind::PermissionDenied if doing == "open" || doing.split(' ').next() == Some("read") => {
                Self::input(what).fix("make the file readable, or name another")
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Self::input(what).fix("choose a writable place, for example with --store DIR")
            }
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::failure(what).fix("free some disk space and run again; nothing finished is lost")
            }
            _ => Self::input(what),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.what)?;
        if let Some(place) = &self.place {
            write!(out, "\n  where: {place}")?;
        }
        if let Some(advice) = &self.advice {
            write!(out, "\n  fix: {advice}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

/// Returns the candidate most like `word`, when one is close enough to be a slip of the hand.
///
/// ```
/// use factsmith::error::near_miss;
/// assert_eq!(near_miss("lapptop", ["smoke", "laptop", "paper"]), Some("laptop"));
/// assert_eq!(near_miss("cluster", ["smoke", "laptop", "paper"]), None);
/// ```
pub fn near_miss<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// The error for a word that is not among `candidates`: names the near miss, or lists what there is.
pub fn unknown<'a>(noun: &str, word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> Error {
    let error = Error::input(format!("unknown {noun} '{word}'"));
    match near_miss(word, candidates.clone()) {
        Some(candidate) => error.fix(format!("did you mean '{candidate}'?")),
        None => {
            let mut seen = std::collections::HashSet::new();
            let known: Vec<&str> = candidates.into_iter().filter(|candidate| seen.insert(*candidate)).collect();
            error.fix(format!("use one of: {}", known.join(", ")))
        }
    }
}
