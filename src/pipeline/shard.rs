//! A share of the cells, for several processes or machines that work on one store.

use std::fmt;
use std::str::FromStr;

use super::key::Key;
use crate::error::{Error, Result};

/// Shard `number` of `count`, counted from 1. Which cells are in it depends on their keys alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    number: u32,
    count: u32,
}

impl Shard {
    /// Whether a cell is in this shard. Every cell is in exactly one shard of a split.
    pub fn contains(self, key: &Key) -> bool {
        key.slot(self.count) == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((number, count)) if 1 <= number && number <= count => Ok(Self { number, count }),
            _ => Err(Error::input(format!("'{text}' is not a shard"))
                .fix("--shard 2/3 computes the second of three shares of the cells")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_in_exactly_one_shard_and_shares_are_even() {
        let keys: Vec<Key> = (0..3000).map(|seed| Key::new("toy", 1, "{}", seed)).collect();
        for count in 1..8 {
            let shards: Vec<Shard> = (1..=count).map(|number| Shard { number, count }).collect();
            for key in &keys {
                assert_eq!(shards.iter().filter(|shard| shard.contains(key)).count(), 1);
            }
            for shard in shards {
                let share = keys.iter().filter(|key| shard.contains(key)).count();
                let even = keys.len() / count as usize;
                assert!((even * 4 / 5..even * 6 / 5 + 1).contains(&share), "{shard} has {share} of {}", keys.len());
            }
        }
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for text in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3", "-1/2", "1/99999999999"] {
            assert_eq!(text.parse::<Shard>().unwrap_err().exit_code(), 2, "{text}");
        }
    }
}
