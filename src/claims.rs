//! The numeric claims of the papers, and whether the result tables reproduce them.
//!
//! `claims.toml` states each claim: where the paper makes it, how the quantity is defined here, which measure of
//! [`crate::paper::measures`] computes it and how to compare. A verdict is taken from the measured value and its prediction
//! interval over seeds.

use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result, unknown};
use crate::paper::measures::{self, Measured};
use crate::pipeline::profile::Profile;
use crate::table::Table;

/// One claim as written in `claims.toml`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    pub paper: String,
    pub place: String,
    pub says: String,
    pub definition: String,
    pub measure: String,
    pub method: String,
    pub stage: String,
    pub compare: Comparison,
    /// The smallest profile that can decide the claim.
    pub decided_from: String,
}

/// How a measured value is held against the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    AtLeast(f64),
    AtMost(f64),
    About(f64),
    Between(f64, f64),
}

/// Whether a claim holds here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Reproduced,
    /// Not met by the value, but by a value within the interval over seeds.
    WithinPrecision,
    Differs,
    Inconclusive,
    NotAttempted,
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::WithinPrecision => "within precision",
            Self::Differs => "differs",
            Self::Inconclusive => "inconclusive at this scale",
            Self::NotAttempted => "not attempted",
        }
    }
}

/// A claim with what was measured for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    pub claim: Claim,
    pub verdict: Verdict,
    pub value: Option<f64>,
    /// 95 % prediction interval over seeds.
    pub interval: Option<(f64, f64)>,
    /// The value under the other reading of the set-up (keys conditioned with the values).
    pub other_reading: Option<f64>,
    /// The embedding dimensions that the value and the other reading were measured at.
    pub dimension: Option<i64>,
    pub other_dimension: Option<i64>,
    /// The command that made the table.
    pub command: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claim: Vec<toml::Spanned<Claim>>,
}

/// Reads `claims.toml`.
///
/// # Errors
/// When the file is missing or not of the form above, an id occurs twice, or a measure or profile is unknown.
pub fn read(path: &Path) -> Result<Vec<Claim>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::io("read", path, &error))?;
    let line = |offset: usize| text[..offset].matches('\n').count() + 1;
    let place = |offset: usize| format!("{}:{}", path.display(), line(offset));
    let file: File = toml::from_str(&text).map_err(|error| {
        let fault = Error::input(error.message().to_owned());
        let fault = error.span().map_or(fault.clone(), |span| fault.at(place(span.start)));
        fault.fix("see the comment at the top of claims.toml for the form of a claim")
    })?;
    let mut claims: Vec<Claim> = Vec::with_capacity(file.claim.len());
    let mut places = Vec::new();
    for spanned in file.claim {
        let at = place(spanned.span().start);
        let claim = spanned.into_inner();
        if let Some(first) = claims.iter().position(|other| other.id == claim.id) {
            return Err(Error::input(format!("claim '{}' is there twice", claim.id))
                .at(at)
                .fix(format!("give each claim its own id; the other one is at {}", places[first])));
        }
        places.push(at.clone());
        let measure = measures::find(&claim.measure).map_err(|error| error.at(&at))?;
        check_numbers(claim.compare).map_err(|error| error.at(&at))?;
        for (noun, word, known) in
            [("method", &claim.method, measure.methods), ("stage", &claim.stage, &[measure.stage][..])]
        {
            if !known.contains(&word.as_str()) {
                return Err(unknown(noun, word, known.iter().copied()).at(at));
            }
        }
        claim.decided_from.parse::<Profile>().map_err(|error| error.at(at))?;
        claims.push(claim);
    }
    Ok(claims)
}

fn check_numbers(comparison: Comparison) -> Result<()> {
    let is_sound = match comparison {
        Comparison::AtLeast(value) | Comparison::AtMost(value) | Comparison::About(value) => value.is_finite(),
        Comparison::Between(from, to) => from.is_finite() && to.is_finite() && from <= to,
    };
    if is_sound {
        return Ok(());
    }
    Err(Error::input(format!("nothing can be compared with '{comparison}'"))
        .fix("give finite numbers, the smaller first"))
}

/// Decides a claim on the table of its stage; `None` when there is no table.
pub fn decide(claim: &Claim, profile: Profile, table: Option<&Table>) -> Result<Decided> {
    let mut decided = Decided {
        claim: claim.clone(),
        verdict: Verdict::NotAttempted,
        value: None,
        interval: None,
        other_reading: None,
        dimension: None,
        other_dimension: None,
        command: format!("factsmith run --stage {} --profile {profile}", claim.stage),
    };
    let Some(table) = table else { return Ok(decided) };
    let measure = measures::find(&claim.measure)?;
    let measure = |keys: &str| measure.of(&claim.method, keys, table);
    let other = measure("tied")?;
    decided.other_reading = other.as_ref().map(|measured| measured.value);
    decided.other_dimension = other.map(|measured| measured.dimension);
    let Some(Measured { value, interval, dimension }) = measure("isotropic")? else {
        decided.verdict = Verdict::Inconclusive;
        return Ok(decided);
    };
    decided.value = Some(value);
    decided.dimension = Some(dimension);
    decided.interval = interval;
    let needed: Profile = claim.decided_from.parse()?;
    if profile >= needed {
        decided.verdict = verdict(claim.compare, value, interval);
    } else {
        decided.verdict = Verdict::Inconclusive;
    }
    Ok(decided)
}

/// Compares a value, with its interval over seeds where there is one, with the paper's.
pub fn verdict(comparison: Comparison, value: f64, interval: Option<(f64, f64)>) -> Verdict {
    let (low, high) = interval.unwrap_or((value, value));
    let (meets, could_meet) = match comparison {
        Comparison::AtLeast(wanted) => (value >= wanted, high >= wanted),
        Comparison::AtMost(wanted) => (value <= wanted, low <= wanted),
        // One noisy number against another: agreement is all there is, and it is precision that grants it.
        Comparison::About(wanted) => ((value - wanted).abs() <= 0.05 * wanted.abs(), low <= wanted && wanted <= high),
        Comparison::Between(from, to) => (from <= value && value <= to, low <= to && from <= high),
    };
    match (meets, could_meet) {
        (true, _) => Verdict::Reproduced,
        (false, true) => Verdict::WithinPrecision,
        (false, false) => Verdict::Differs,
    }
}

impl std::fmt::Display for Comparison {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::AtLeast(value) => write!(out, "≥ {value}"),
            Self::AtMost(value) => write!(out, "≤ {value}"),
            Self::About(value) => write!(out, "{value}"),
            Self::Between(from, to) => write!(out, "{from} to {to}"),
        }
    }
}

/// A number with three significant digits; `∞` for infinity.
pub fn short(value: f64) -> String {
    if value.is_infinite() {
        return "∞".to_owned();
    }
    if value != 0.0 && value.abs() < 1e-3 {
        return format!("{value:.1e}");
    }
    let digits = if value == 0.0 { 2 } else { (2 - value.abs().log10().floor() as i64).clamp(0, 4) as usize };
    format!("{value:.digits$}")
}

impl Decided {
    /// Whether the stage of the claim has a table.
    pub fn has_table(&self) -> bool {
        self.verdict != Verdict::NotAttempted
    }

    /// Measured value and interval, for people.
    pub fn measured(&self) -> String {
        let value = self.value.map_or_else(|| "–".to_owned(), short);
        match self.interval {
            Some((low, high)) if self.value.is_some_and(f64::is_finite) => {
                format!("{value} [{}, {}]", short(low), short(high))
            }
            _ => value,
        }
    }

    /// The value under the other reading and the dimension it was measured at, for people.
    pub fn other(&self) -> String {
        let at = self.other_dimension.map_or_else(String::new, |dimension| format!(" (d = {dimension})"));
        self.other_reading.map_or_else(|| "–".to_owned(), |value| format!("{}{at}", short(value)))
    }
}

/// The claims as a Markdown table, as it stands in the README.
pub fn markdown(decided: &[Decided]) -> String {
    let mut text = String::from(
        "| claim | place | the paper says | measured here [95 % over seeds] | d | keys tied | verdict |\n|---|---|---|---|---|---|---|\n",
    );
    for row in decided {
        let claim = &row.claim;
        text.push_str(&format!(
            "| `{}` | {} | {} | {} | {} | {} | **{}** |\n",
            claim.id,
            claim.place,
            claim.says,
            row.measured(),
            row.dimension.map_or_else(|| "–".to_owned(), |dimension| dimension.to_string()),
            row.other(),
            row.verdict.name()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_interval() {
        use Comparison::{About, AtLeast, AtMost, Between};
        for (comparison, value, interval, wanted) in [
            (AtLeast(0.97), 0.98, Some((0.95, 1.0)), Verdict::Reproduced),
            (AtLeast(0.97), 0.96, Some((0.95, 0.98)), Verdict::WithinPrecision),
            (AtLeast(0.97), 0.90, Some((0.88, 0.92)), Verdict::Differs),
            (AtLeast(0.97), 0.96, None, Verdict::Differs),
            (AtMost(10.0), 9.0, None, Verdict::Reproduced),
            (AtMost(10.0), f64::INFINITY, None, Verdict::Differs),
            (About(32.0), 31.0, None, Verdict::Reproduced),
            (About(32.0), 20.0, Some((10.0, 40.0)), Verdict::WithinPrecision),
            (About(0.1), 0.8, Some((0.7, 0.9)), Verdict::Differs),
            (Between(2.0, 4.0), 3.0, None, Verdict::Reproduced),
            (Between(2.0, 4.0), 1.8, Some((1.5, 2.1)), Verdict::WithinPrecision),
            (Between(2.0, 4.0), 1.0, Some((0.9, 1.1)), Verdict::Differs),
        ] {
            assert_eq!(verdict(comparison, value, interval), wanted, "{comparison:?} {value} {interval:?}");
        }
    }

    #[test]
    fn the_claims_of_the_project_are_well_formed() {
        let claims = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("claims.toml")).unwrap();
        assert!(claims.len() >= 8);
        assert!(claims.iter().all(|claim| !claim.definition.trim().is_empty()), "each says what is measured");
    }

    #[test]
    fn faults_of_the_file_say_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("claims.toml");
        let whole = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("claims.toml")).unwrap();
        for (from, to, wanted) in [
            ("measure = \"whitening_gain\"", "measure = \"whitening_gian\"", "did you mean 'whitening_gain'?"),
            ("id = \"rho-predicts-gd\"", "id = \"rho-predicts-constructed\"", "the other one is at "),
            ("place = ", "plaice = ", "plaice"),
            ("decided_from = \"laptop\"", "decided_from = \"labtop\"", "did you mean 'laptop'?"),
            ("method = \"constructed\"", "method = \"construct\"", "did you mean 'constructed'?"),
            ("stage = \"storage_cost\"", "stage = \"storage_cos\"", "did you mean 'storage_cost'?"),
            ("between = [2.0, 4.0]", "between = [4.0, 2.0]", "the smaller first"),
            ("at_least = 0.97", "at_least = nan", "finite"),
        ] {
            std::fs::write(&path, whole.replacen(from, to, 1)).unwrap();
            let error = read(&path).unwrap_err();
            assert!(error.to_string().contains(wanted) && error.to_string().contains("claims.toml:"), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.97612, 24.46, 1234.5, 0.0, 3.21e-12, f64::INFINITY].map(short),
            ["0.976", "24.5", "1234", "0.00", "3.2e-12", "∞"]
        );
    }
}
