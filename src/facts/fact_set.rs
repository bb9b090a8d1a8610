//! Fact sets: which value belongs to which key.

use ndarray::Array2;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::files::check_table;
use super::survey::equal_rows;
use crate::error::{Error, Result};
use crate::rng::Rng;

/// Key embeddings (F×d), value embeddings (n×d) and the map `f` from key to value (2512.00207, §2.1).
#[derive(Debug, Clone)]
pub struct FactSet {
    pub keys: Array2<f64>,
    pub values: Array2<f64>,
    pub map: Vec<usize>,
}

impl FactSet {
    /// Puts a fact set together.
    ///
    /// # Errors
    /// When a table is empty or not finite, dimensions differ, or the map has another length than the keys or names a value
    /// that is not there.
    pub fn new(keys: Array2<f64>, values: Array2<f64>, map: Vec<usize>) -> Result<Self> {
        check_table("keys", keys.view())?;
        check_table("values", values.view())?;
        if keys.ncols() != values.ncols() {
            return Err(Error::input(format!("keys have {} dimensions, values {}", keys.ncols(), values.ncols()))
                .fix("give keys and values of one model and layer"));
        }
        if map.len() != keys.nrows() {
            return Err(Error::input(format!("{} facts for {} keys", map.len(), keys.nrows()))
                .fix("name one value for each key"));
        }
        if let Some((key, value)) = map.iter().enumerate().find(|(_, value)| **value >= values.nrows()) {
            return Err(Error::input(format!(
                "fact {key} names value {value}, but there are {} values",
                values.nrows()
            ))
            .fix("count values from 0"));
        }
        Ok(Self { keys, values, map })
    }

    /// Number of facts F.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub fn dimension(&self) -> usize {
        self.keys.ncols()
    }

    /// Two rows that keep every MLP from storing all facts, where there are such.
    pub fn twins(&self) -> Option<Twins> {
        let torn = equal_rows(&self.keys).into_iter().find(|(key, first)| self.map[*key] != self.map[*first]);
        if let Some((key, first)) = torn {
            return Some(Twins::Keys(first, key));
        }
        let mut is_used = vec![false; self.values.nrows()];
        self.map.iter().for_each(|value| is_used[*value] = true);
        let tied = equal_rows(&self.values).into_iter().find(|(value, first)| is_used[*value] || is_used[*first]);
        tied.map(|(value, first)| Twins::Values(first, value))
    }

    /// The table whose row i belongs to key i: `rows[f(i)]`, for `rows` with one row per value.
    pub fn by_key(&self, rows: &Array2<f64>) -> Array2<f64> {
        rows.select(ndarray::Axis(0), &self.map)
    }
}

/// Equal rows, the first of them first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twins {
    /// Keys that are equal and have different values.
    Keys(usize, usize),
    /// Values that are equal, of which a key has one: they decode alike, and a tie is not stored.
    Values(usize, usize),
}

/// A random bijection of `count` keys to `count` values.
///
/// ```
/// use factsmith::facts::fact_set::random_bijection;
/// use factsmith::rng::StreamName;
/// let mut map = random_bijection(5, &mut StreamName::new("doc").rng());
/// map.sort();
/// assert_eq!(map, [0, 1, 2, 3, 4]);
/// ```
pub fn random_bijection(count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut map: Vec<usize> = (0..count).collect();
    map.shuffle(rng);
    map
}

/// A random map of `keys` keys to `values` values, each drawn independently: several keys may share a value.
pub fn random_many_to_one(keys: usize, values: usize, rng: &mut Rng) -> Vec<usize> {
    (0..keys).map(|_| rng.random_range(0..values)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamName;

    #[test]
    fn impossible_fact_sets_are_refused() {
        let table = |rows| Array2::<f64>::ones((rows, 2));
        assert!(FactSet::new(table(3), table(2), vec![0, 1, 1]).is_ok());
        for (keys, values, map, wanted) in [
            (table(3), table(2), vec![0, 1], "2 facts for 3 keys"),
            (table(2), table(2), vec![0, 2], "names value 2"),
            (table(2), Array2::ones((2, 3)), vec![0, 1], "dimensions"),
            (Array2::from_elem((2, 2), f64::NAN), table(2), vec![0, 1], "NaN"),
        ] {
            let error = FactSet::new(keys, values, map).unwrap_err();
            assert!(error.to_string().contains(wanted), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }

    #[test]
    fn equal_rows_that_no_mlp_tells_apart_are_found() {
        let table = |rows: [[f64; 2]; 3]| Array2::from(rows.to_vec());
        let (apart, equal) =
            (table([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), table([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]));
        let twins = |keys: &Array2<f64>, values: &Array2<f64>, map: [usize; 3]| {
            FactSet::new(keys.clone(), values.clone(), map.to_vec()).unwrap().twins()
        };
        assert_eq!(twins(&apart, &apart, [0, 1, 1]), None);
        assert_eq!(twins(&equal, &apart, [2, 1, 2]), None, "one fact, twice");
        assert_eq!(twins(&equal, &apart, [2, 1, 0]), Some(Twins::Keys(0, 2)));
        assert_eq!(twins(&apart, &equal, [1, 1, 0]), Some(Twins::Values(0, 2)));
        assert_eq!(twins(&apart, &equal, [1, 1, 2]), Some(Twins::Values(0, 2)));
        assert_eq!(twins(&apart, &equal, [1, 1, 1]), None, "no key has either of them");
    }

    #[test]
    fn many_to_one_covers_its_range() {
        let map = random_many_to_one(1000, 7, &mut StreamName::new("test").rng());
        assert!((0..7).all(|value| map.contains(&value)));
        assert!(map.iter().all(|value| *value < 7));
    }
}
