//! Which rows of a table are read.

use std::ops::Range;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::rng::StreamName;

/// A choice of rows: all, or some ranges, or a random sample of either.
///
/// ```
/// use factsmith::facts::files::rows::Pick;
/// let pick = Pick { rows: Some("0..3,7".parse().unwrap()), sample: None };
/// assert_eq!(pick.resolve(10).unwrap(), [0, 1, 2, 7]);
/// let pick = Pick { rows: None, sample: Some((4, 1)) };
/// assert_eq!(pick.resolve(1000).unwrap().len(), 4);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pick {
    pub rows: Option<RowList>,
    /// Number of rows, and the seed that draws them.
    pub sample: Option<(usize, u64)>,
}

impl Pick {
    /// Every row.
    pub fn all() -> Self {
        Self::default()
    }

    /// The chosen rows of a table with `total` rows: listed ones in the order given, sampled ones ascending.
    ///
    /// # Errors
    /// When a listed row is not there, or the sample is larger than what it is drawn from.
    pub fn resolve(&self, total: usize) -> Result<Vec<usize>> {
        let rows = match &self.rows {
            None => (0..total).collect(),
            Some(list) => list.resolve(total)?,
        };
        let Some((count, seed)) = self.sample else { return Ok(rows) };
        if count == 0 || count > rows.len() {
            return Err(Error::input(format!("a sample of {count} from {} rows", rows.len()))
                .fix(format!("use --sample with a number from 1 to {}", rows.len())));
        }
        let mut rng = StreamName::new("sample of rows").with(rows.len() as u64).with(count as u64).with(seed).rng();
        let mut places = rand::seq::index::sample(&mut rng, rows.len(), count).into_vec();
        places.sort_unstable();
        Ok(places.into_iter().map(|place| rows[place]).collect())
    }
}

/// Rows and ranges of rows, such as `0..100,200`: the end of a range is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowList(Vec<Range<usize>>);

impl FromStr for RowList {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let range = |item: &str| match item.split_once("..") {
            None => item.parse().ok().and_then(|row: usize| Some(row..row.checked_add(1)?)),
            Some((from, to)) => Some(from.parse().ok()?..to.parse().ok()?).filter(|range| !range.is_empty()),
        };
        let faulty = |item: &str| {
            Error::input(format!("'{item}' is not a row or a range of rows"))
                .fix("write rows like 0..100,200: rows 0 to 99 and row 200")
        };
        text.split(',')
            .map(str::trim)
            .map(|item| range(item).ok_or_else(|| faulty(item)))
            .collect::<Result<_>>()
            .map(Self)
    }
}

impl RowList {
    fn resolve(&self, total: usize) -> Result<Vec<usize>> {
        if let Some(range) = self.0.iter().find(|range| range.end > total) {
            return Err(Error::input(format!("there is no row {}: the table has {total} rows", range.end - 1))
                .fix(format!("use rows from 0 to {}; the end of a range is left out", total.saturating_sub(1))));
        }
        let mut sorted: Vec<&Range<usize>> = self.0.iter().collect();
        sorted.sort_by_key(|range| range.start);
        if let Some(pair) = sorted.windows(2).find(|pair| pair[1].start < pair[0].end) {
            return Err(Error::input(format!("row {} is named twice", pair[1].start)).fix("name every row once"));
        }
        Ok(self.0.iter().cloned().flatten().collect())
    }
}
