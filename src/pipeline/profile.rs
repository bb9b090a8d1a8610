//! How much of a paper is run.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, unknown};

/// How much of a paper is run: seconds, about an hour on a laptop, or the paper's own sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    Smoke,
    Laptop,
    Paper,
}

impl Profile {
    /// All profiles, smallest first.
    pub const ALL: [Self; 3] = [Self::Smoke, Self::Laptop, Self::Paper];

    /// The names of all profiles, smallest first.
    pub const NAMES: [&'static str; 3] = ["smoke", "laptop", "paper"];

    /// The name used on the command line, in `pipeline.toml` and for the folder of results.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.name() == name)
            .ok_or_else(|| unknown("profile", name, Self::NAMES))
    }
}
