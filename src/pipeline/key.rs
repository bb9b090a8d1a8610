//! The name of a cell's content: what went into it, hashed.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::experiment::Params;
use crate::error::{Error, Result};

/// BLAKE3 of experiment name, experiment version, canonical parameters and seed.
///
/// A file that a cell reads is in its parameters by the hash of its content. Threads, paths, time, host and commit are never in
/// it: equal keys mean equal results, on any machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key([u8; 32]);

const DOMAIN: &str = "factsmith 2026 cell key";

impl Key {
    /// The key of one cell; `params` is the text that [`canonical_json`] returns.
    pub fn new(experiment: &str, version: u32, params: &str, seed: u64) -> Self {
        let mut hasher = blake3::Hasher::new();
        let version = version.to_le_bytes();
        let seed = seed.to_le_bytes();
        // Every part is preceded by its length, so that no two different lists of parts are the same bytes.
        for part in [DOMAIN.as_bytes(), experiment.as_bytes(), &version, params.as_bytes(), &seed] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// Reads the 64 hexadecimal digits that [`fmt::Display`] writes.
    pub fn parse(text: &str) -> Result<Self> {
        let bytes = blake3::Hash::from_hex(text).map_err(|_| Error::input(format!("'{text}' is not a cell key")))?;
        Ok(Self(*bytes.as_bytes()))
    }

    /// Its first digits: enough to name a cell to `factsmith replay`.
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }

    /// Which of `slots` this key falls into, evenly over all keys.
    pub(super) fn slot(&self, slots: u32) -> u32 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        (u64::from_le_bytes([a, b, c, d, e, f, g, h]) % u64::from(slots)) as u32
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Key({self})")
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Parameters as JSON text with sorted names, whichever map `serde_json` was built with.
pub fn canonical_json(params: &Params) -> String {
    let mut text = Vec::with_capacity(128);
    write_object(params, &mut text);
    String::from_utf8(text).expect("serde_json writes UTF-8")
}

fn write_object(map: &Params, text: &mut Vec<u8>) {
    let mut entries: Vec<(&String, &Value)> = map.iter().collect();
    entries.sort_by_key(|(name, _)| *name);
    text.push(b'{');
    for (position, (name, value)) in entries.into_iter().enumerate() {
        text.extend((position > 0).then_some(b','));
        write_plain(name, text);
        text.push(b':');
        write_value(value, text);
    }
    text.push(b'}');
}

fn write_value(value: &Value, text: &mut Vec<u8>) {
    match value {
        Value::Object(map) => write_object(map, text),
        Value::Array(items) => {
            text.push(b'[');
            for (position, item) in items.iter().enumerate() {
                text.extend((position > 0).then_some(b','));
                write_value(item, text);
            }
            text.push(b']');
        }
        plain => write_plain(plain, text),
    }
}

/// A name or a value without parts, as `serde_json` writes it.
fn write_plain(value: &impl Serialize, text: &mut Vec<u8>) {
    serde_json::to_writer(text, value).expect("names, numbers, texts and truths always have a JSON text");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn params(text: &str) -> Params {
        serde_json::from_str(text).unwrap()
    }

    fn key(text: &str) -> Key {
        Key::new("storage_cost", 1, &canonical_json(&params(text)), 0)
    }

    #[test]
    fn keys_are_frozen() {
        let text = r#"{"d":32,"kappa":1e16,"tiny":1e-7,"tenth":0.1,"one":1.0,"huge":1e21,"method":"ntk"}"#;
        assert_eq!(
            canonical_json(&params(text)),
            r#"{"d":32,"huge":1e+21,"kappa":1e+16,"method":"ntk","one":1.0,"tenth":0.1,"tiny":1e-7}"#
        );
        assert_eq!(key(text).to_string(), "0fa9b029f5672dc3d842dc4e35bae5ee320c78d0c8cbcf38515cad20be5e31f5");
    }

    #[test]
    fn the_order_of_names_is_not_in_the_key() {
        assert_eq!(key(r#"{"a":1,"b":{"x":1,"y":2}}"#), key(r#"{"b":{"y":2,"x":1},"a":1}"#));
    }

    #[test]
    fn every_part_is_in_the_key() {
        let base = Key::new("a", 1, "{}", 0);
        assert_ne!(base, Key::new("b", 1, "{}", 0));
        assert_ne!(base, Key::new("a", 2, "{}", 0));
        assert_ne!(base, Key::new("a", 1, "{\"x\":1}", 0));
        assert_ne!(base, Key::new("a", 1, "{}", 1));
        assert_ne!(Key::new("ab", 1, "c", 0), Key::new("a", 1, "bc", 0));
    }

    #[test]
    fn a_key_survives_its_text() {
        let key = Key::new("a", 1, "{}", 0);
        assert_eq!(Key::parse(&key.to_string()).unwrap(), key);
        assert!(Key::parse("12").is_err());
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            proptest::collection::vec((0_i64..4).prop_map(Value::from), 0..3).prop_map(Value::from),
        ]
    }

    fn any_params() -> impl Strategy<Value = Params> {
        proptest::collection::btree_map("[a-c]{1,2}", value(), 0..4).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn two_different_cells_never_share_a_key(
            one in any_params(), other in any_params(), seed in 0_u64..3, other_seed in 0_u64..3
        ) {
            let first = Key::new("x", 1, &canonical_json(&one), seed);
            let second = Key::new("x", 1, &canonical_json(&other), other_seed);
            prop_assert_eq!(first == second, one == other && seed == other_seed);
        }

        #[test]
        fn canonical_json_is_the_json_of_a_sorted_map(params in any_params()) {
            let plain = Value::Object(params.clone()).to_string();
            prop_assert_eq!(&canonical_json(&params), &plain, "the map of this build is sorted");
        }

        #[test]
        fn a_slightly_different_number_is_another_cell(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            let next = f64::from_bits(bits.wrapping_add(1));
            prop_assume!(number.is_finite() && next.is_finite());
            let of = |number: f64| canonical_json(&Params::from_iter([("x".to_owned(), Value::from(number))]));
            prop_assert_ne!(of(number), of(next));
        }
    }
}
