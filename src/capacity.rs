//! The smallest MLP that stores every fact: a search over one size.
//!
//! A probe of a size says how many facts the MLP of that size stores. The search starts at a predicted size, moves in growing
//! steps until it has a size that fails below one that succeeds, and halves the gap. Every probe is remembered; an error of a
//! probe is an error of the search, never a failed probe.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub smallest: usize,
    pub largest: usize,
    /// Where to start; clamped into the range. Too low costs a few cheap probes, too high costs a giant.
    pub predicted: usize,
    /// First step up or down, as a factor above 1; later steps grow.
    pub step: f64,
    /// The search ends when the gap is at most this share of the size (0: exact).
    pub precision: f64,
}

/// What the search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The smallest probed size that stored every fact and above which every probed size did; `None` when the largest size
    /// of the range did not.
    pub size: Option<usize>,
    /// The smallest probed size that stored every fact; below `size` when accuracy is not monotone.
    pub smallest_ever: Option<usize>,
    /// Facts stored at every probed size.
    pub probes: BTreeMap<usize, usize>,
}

impl Found {
    /// The largest number of facts stored at any probed size.
    pub fn best(&self) -> usize {
        self.probes.values().copied().max().unwrap_or(0)
    }
}

/// Searches `range` for the smallest size at which `probe` stores all `facts`.
///
/// ```
/// use factsmith::capacity::{Range, smallest_size};
/// let range = Range { smallest: 1, largest: 1000, predicted: 5, step: 2.0, precision: 0.0 };
/// let found = smallest_size(range, 64, |size| Ok(if size >= 37 { 64 } else { size })).unwrap();
/// assert_eq!(found.size, Some(37));
/// assert!(found.probes.len() < 13);
/// ```
///
/// # Errors
/// When the range is empty or a probe fails with an error.
pub fn smallest_size(range: Range, facts: usize, mut probe: impl FnMut(usize) -> Result<usize>) -> Result<Found> {
    if range.smallest == 0 || range.largest < range.smallest || range.step <= 1.0 {
        return Err(Error::input(format!("a search over sizes {} to {}", range.smallest, range.largest))
            .fix("give a range of positive sizes, smallest first"));
    }
    let mut probes = BTreeMap::new();
    let mut stores_all = |size: usize| -> Result<bool> {
        if let Some(stored) = probes.get(&size) {
            return Ok(*stored == facts);
        }
        let stored = probe(size)?;
        probes.insert(size, stored);
        Ok(stored == facts)
    };
    let bracket = bracket(range, &mut stores_all)?;
    if let Some((mut fails, mut succeeds)) = bracket {
        while succeeds - fails > 1 && (succeeds - fails) as f64 > range.precision * succeeds as f64 {
            let middle = fails + (succeeds - fails) / 2;
            if stores_all(middle)? {
                succeeds = middle;
            } else {
                fails = middle;
            }
        }
    }
    let succeeded = |size: &usize| probes[size] == facts;
    let size = probes.keys().rev().copied().take_while(succeeded).last();
    let smallest_ever = probes.keys().copied().find(succeeded);
    Ok(Found { size, smallest_ever, probes })
}

/// A failing size (or one below the range) and a larger succeeding one; `None` when the largest size fails.
fn bracket(range: Range, stores_all: &mut impl FnMut(usize) -> Result<bool>) -> Result<Option<(usize, usize)>> {
    let below = range.smallest - 1;
    let mut size = range.predicted.clamp(range.smallest, range.largest);
    let mut factor = range.step;
    if stores_all(size)? {
        let mut succeeds = size;
        while succeeds > range.smallest {
            size = ((succeeds as f64 / factor) as usize).clamp(range.smallest, succeeds - 1);
            if !stores_all(size)? {
                return Ok(Some((size, succeeds)));
            }
            succeeds = size;
            factor *= range.step;
        }
        return Ok(Some((below, succeeds)));
    }
    let mut fails = size;
    while fails < range.largest {
        size = ((fails as f64 * factor).ceil() as usize).clamp(fails + 1, range.largest);
        if stores_all(size)? {
            return Ok(Some((fails, size)));
        }
        fails = size;
        factor = factor.max(1.5);
    }
    Ok(None)
}

/// Sizes found for several seeds, put together.
#[derive(Debug, Clone, PartialEq)]
pub struct OverSeeds {
    /// Smallest, median and largest over the seeds that found a size.
    pub interval: Option<(f64, f64, f64)>,
    /// The paper's aggregate: the size at which every seed stores every fact, its largest; `None` if one seed found none.
    pub all_seeds: Option<f64>,
    /// Seeds that found no size within the range.
    pub without: usize,
}

/// Aggregates sizes (or parameter counts) over seeds.
pub fn over_seeds(sizes: &[Option<f64>]) -> OverSeeds {
    let mut found: Vec<f64> = sizes.iter().flatten().copied().collect();
    found.sort_by(f64::total_cmp);
    let without = sizes.len() - found.len();
    let interval = match (found.first(), found.last()) {
        (Some(first), Some(last)) => Some((*first, crate::num::statistics::median(&found), *last)),
        _ => None,
    };
    OverSeeds { interval, all_seeds: interval.filter(|_| without == 0).map(|(_, _, last)| last), without }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(predicted: usize) -> Range {
        Range { smallest: 1, largest: 500, predicted, step: 1.5, precision: 0.0 }
    }

    #[test]
    fn the_threshold_is_found_from_any_prediction() {
        for threshold in [1, 2, 37, 499, 500] {
            for predicted in [0, 1, 36, 37, 38, 500, 9999] {
                let found =
                    smallest_size(range(predicted), 10, |size| Ok(if size >= threshold { 10 } else { 9 })).unwrap();
                assert_eq!(found.size, Some(threshold), "threshold {threshold} from {predicted}");
                assert_eq!(found.smallest_ever, found.size);
            }
        }
    }

    #[test]
    fn sizes_far_above_the_threshold_are_not_probed() {
        let mut largest = 0;
        let found = smallest_size(range(10), 10, |size| {
            largest = largest.max(size);
            Ok(if size >= 20 { 10 } else { 0 })
        });
        assert_eq!(found.unwrap().size, Some(20));
        assert!(largest <= 32, "{largest}");
    }

    #[test]
    fn no_size_is_probed_twice() {
        let mut seen = std::collections::BTreeSet::new();
        smallest_size(range(3), 10, |size| {
            assert!(seen.insert(size), "{size} probed twice");
            Ok(if size >= 123 { 10 } else { 3 })
        })
        .unwrap();
    }

    #[test]
    fn a_size_out_of_reach_is_none_and_says_how_far_it_came() {
        let found = smallest_size(range(3), 10, |size| Ok(if size > 400 { 7 } else { 5 })).unwrap();
        assert_eq!((found.size, found.best()), (None, 7));
        assert!(found.probes.contains_key(&500));
    }

    #[test]
    fn an_error_is_an_error() {
        let found =
            smallest_size(range(3), 10, |size| if size > 9 { Err(Error::failure("out of memory")) } else { Ok(0) });
        assert!(found.unwrap_err().to_string().contains("out of memory"));
    }

    #[test]
    fn non_monotone_success_is_reported_as_such() {
        let found = smallest_size(range(20), 10, |size| Ok(if size == 20 || size >= 15 { 10 } else { 0 })).unwrap();
        assert_eq!(found.size, Some(15));
        let lucky =
            smallest_size(range(20), 10, |size| Ok(if (18..=20).contains(&size) || size >= 30 { 10 } else { 0 }));
        assert!(lucky.unwrap().smallest_ever.is_some());
    }

    #[test]
    fn precision_saves_probes() {
        let coarse = Range { precision: 0.1, ..range(3) };
        let probe = |size: usize| Ok(if size >= 317 { 10 } else { 0 });
        let found = smallest_size(coarse, 10, probe).unwrap();
        assert!(found.probes.len() < smallest_size(range(3), 10, probe).unwrap().probes.len());
        assert!((317..350).contains(&found.size.unwrap()));
    }

    #[test]
    fn seeds_are_put_together_by_the_papers_rule() {
        let all = over_seeds(&[Some(3.0), Some(1.0), Some(2.0)]);
        assert_eq!((all.interval, all.all_seeds, all.without), (Some((1.0, 2.0, 3.0)), Some(3.0), 0));
        let some = over_seeds(&[Some(3.0), None]);
        assert_eq!((some.interval, some.all_seeds, some.without), (Some((3.0, 3.0, 3.0)), None, 1));
        assert_eq!(over_seeds(&[None]).interval, None);
    }
}
