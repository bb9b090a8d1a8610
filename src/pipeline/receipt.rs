//! What produced the tables of a results folder: machine, version, hashes, times.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::error::{Error, Result};

/// The receipt of the results of one profile. None of it is in a cell's key.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Receipt {
    pub factsmith: String,
    /// The compiler, as it names itself.
    #[serde(default)]
    pub toolchain: String,
    /// The libraries that the numbers depend on.
    #[serde(default)]
    pub arithmetic: String,
    pub machine: Machine,
    pub stages: BTreeMap<String, StageReceipt>,
    /// The verdict on each claim, as `factsmith claims` last gave it on these tables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, String>,
}

/// The machine of the last run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Machine {
    pub system: String,
    pub architecture: String,
    pub processor: String,
    pub cores: usize,
}

/// What is known of one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageReceipt {
    pub cells: usize,
    /// Of the keys of the cells, in order.
    pub cells_hash: String,
    /// Of names, types and values, whichever Parquet version wrote them.
    pub content_hash: String,
    /// BLAKE3 of the bytes of the file.
    pub file_hash: String,
    /// The sum over all cells, whenever they were computed.
    pub cell_seconds: f64,
    /// Of the last run that computed cells of this stage, as is all that follows.
    pub run_seconds: f64,
    /// Processor time of all threads of that run.
    #[serde(default)]
    pub cpu_seconds: f64,
    pub threads: usize,
    pub finished: String,
}

impl Receipt {
    /// Reads a receipt; one that is missing or damaged is empty.
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read(path).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Writes it, with the machine, version and toolchain of this process.
    pub fn write(mut self, path: &Path, arithmetic: &str) -> Result<()> {
        env!("CARGO_PKG_VERSION").clone_into(&mut self.factsmith);
        env!("FACTSMITH_TOOLCHAIN").clone_into(&mut self.toolchain);
        arithmetic.clone_into(&mut self.arithmetic);
        self.machine = Machine::this();
        self.keep(path)
    }

    /// Writes it as it is.
    pub fn keep(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::failure(error.to_string()))?;
        durable::replace_text(path, &format!("{text}\n")).map(drop)
    }
}

/// The time that a run takes.
pub struct Stopwatch {
    wall: Instant,
    cpu: Duration,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu() }
    }

    pub fn wall_seconds(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    /// Processor time of all threads of this process.
    pub fn cpu_seconds(&self) -> f64 {
        cpu().saturating_sub(self.cpu).as_secs_f64()
    }
}

fn cpu() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

impl Machine {
    fn this() -> Self {
        Self {
            system: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            processor: processor().unwrap_or_else(|| "unknown".to_owned()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

fn processor() -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The time now in UTC, as in `2026-01-31T12:00:00Z`.
pub fn utc_now() -> String {
    utc(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// Seconds since 1970 as a date, by the algorithm of Howard Hinnant ("chrono-compatible low-level date algorithms").
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(1_000_000_000), "2001-09-09T01:46:40Z");
        assert_eq!(utc(4_102_444_799), "2099-12-31T23:59:59Z");
    }

    #[test]
    fn a_damaged_receipt_is_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("receipt.json");
        assert_eq!(Receipt::read(&path), Receipt::default());
        Receipt::default().write(&path, "OpenBLAS").unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(Receipt::read(&path).factsmith, env!("CARGO_PKG_VERSION"));
        for length in 0..bytes.len() - 1 {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert_eq!(Receipt::read(&path), Receipt::default());
        }
    }
}
