//! Made-up books and authors, as many as an experiment asks for.
//!
//! Titles have four forms that no two can share (`The Amber Acorn`, `Under the Amber Acorn`, `Acorn of the Wolf`, `The Acorn
//! and the Wolf`), authors a first and a last name, and a middle initial once those run out. Fact i has the title and the
//! author whose numbers a permutation gives i, so all are distinct by construction, and the first facts are the same whatever
//! their number.

use super::permutation::Permutation;
use super::relation::{Fact, Objects, Relation};
use crate::error::{Error, Result};
use crate::rng::StreamName;

const INITIALS: usize = 26;

/// The most facts there can be: the number of titles.
///
/// ```
/// assert_eq!(factsmith::language::synthetic::capacity(), 88_894);
/// ```
pub fn capacity() -> usize {
    Words::load().titles()
}

/// The first `count` facts of a seed: a bijection.
///
/// ```
/// let relation = factsmith::language::synthetic::relation(3, 0)?;
/// assert_eq!(relation.name, "book → author (synthetic)");
/// assert_eq!(relation.facts().len(), 3);
/// # Ok::<(), factsmith::error::Error>(())
/// ```
///
/// # Errors
/// When none or more than [`capacity`] are asked for.
pub fn relation(count: usize, seed: u64) -> Result<Relation> {
    let words = Words::load();
    if count == 0 || count > words.titles() {
        return Err(Error::input(format!("{count} synthetic facts; there are {}", words.titles()))
            .fix(format!("ask for 1 to {} facts, or read your own from a file", words.titles())));
    }
    let order = |purpose: &str, size| Permutation::new(size, &mut StreamName::new(purpose).with(seed).rng());
    let titles = order("synthetic titles", words.titles());
    let plain = order("synthetic authors", words.authors());
    let with_initial = order("synthetic authors with an initial", words.authors() * INITIALS);
    let author = |fact: usize| match fact.checked_sub(words.authors()) {
        None => words.author(plain.of(fact)),
        Some(further) => words.author_with_initial(with_initial.of(further)),
    };
    let facts = (0..count).map(|fact| Fact { subject: words.title(titles.of(fact)), object: author(fact) });
    Relation::new("book → author (synthetic)", facts.collect(), Objects::Distinct)
}

struct Words {
    adjectives: Vec<&'static str>,
    nouns: Vec<&'static str>,
    first_names: Vec<&'static str>,
    last_names: Vec<&'static str>,
}

impl Words {
    fn load() -> Self {
        Self {
            adjectives: include_str!("../../data/words/adjectives.txt").lines().collect(),
            nouns: include_str!("../../data/words/nouns.txt").lines().collect(),
            first_names: include_str!("../../data/words/first_names.txt").lines().collect(),
            last_names: include_str!("../../data/words/last_names.txt").lines().collect(),
        }
    }

    /// Pairs of an adjective and a noun.
    fn described(&self) -> usize {
        self.adjectives.len() * self.nouns.len()
    }

    /// Pairs of two different nouns.
    fn paired(&self) -> usize {
        self.nouns.len() * (self.nouns.len() - 1)
    }

    fn titles(&self) -> usize {
        2 * self.described() + 2 * self.paired()
    }

    /// Authors without an initial.
    fn authors(&self) -> usize {
        self.first_names.len() * self.last_names.len()
    }

    fn title(&self, number: usize) -> String {
        let Some(pair) = number.checked_sub(2 * self.described()) else {
            let place = number % self.described();
            let (adjective, noun) = (self.adjectives[place / self.nouns.len()], self.nouns[place % self.nouns.len()]);
            let start = if number < self.described() { "The" } else { "Under the" };
            return format!("{start} {adjective} {noun}");
        };
        let place = pair % self.paired();
        let (first, other) = (place / (self.nouns.len() - 1), place % (self.nouns.len() - 1));
        let second = if other < first { other } else { other + 1 };
        let (first, second) = (self.nouns[first], self.nouns[second]);
        if pair < self.paired() { format!("{first} of the {second}") } else { format!("The {first} and the {second}") }
    }

    fn author(&self, number: usize) -> String {
        let (first, last) = self.names(number);
        format!("{first} {last}")
    }

    fn author_with_initial(&self, number: usize) -> String {
        let (first, last) = self.names(number / INITIALS);
        let initial = char::from(b'A' + (number % INITIALS) as u8);
        format!("{first} {initial}. {last}")
    }

    fn names(&self, number: usize) -> (&str, &str) {
        (self.first_names[number / self.last_names.len()], self.last_names[number % self.last_names.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    #[test]
    fn words_are_single_and_there_once() {
        let words = Words::load();
        for list in [words.adjectives, words.nouns, words.first_names, words.last_names] {
            assert_eq!(list.iter().collect::<HashSet<_>>().len(), list.len());
            for word in list {
                assert!(word.chars().all(char::is_alphabetic) && word.starts_with(char::is_uppercase), "'{word}'");
            }
        }
    }

    #[test]
    fn all_facts_there_can_be_are_distinct() {
        let relation = relation(capacity(), 3).unwrap();
        let texts = relation.facts().iter().flat_map(|fact| [&fact.subject, &fact.object]);
        assert_eq!(texts.collect::<HashSet<_>>().len(), 2 * capacity());
    }

    #[test]
    fn the_facts_of_a_seed_are_frozen() {
        let facts = relation(30_000, 0).unwrap().facts().to_vec();
        let text = |fact: usize| format!("{} by {}", facts[fact].subject, facts[fact].object);
        assert_eq!([text(0), text(1), text(29_999)], FROZEN);
    }

    const FROZEN: [&str; 3] = [
        "Pond of the Parrot by Rufus Osborne",
        "The Butterfly and the Nest by Dina Garner",
        "Under the Quiet Library by Ian K. Halvorsen",
    ];

    #[test]
    fn more_than_there_can_be_is_an_error() {
        for count in [0, capacity() + 1, usize::MAX] {
            let error = relation(count, 0).unwrap_err();
            assert!(error.to_string().contains("ask for 1 to 88894 facts"), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn facts_do_not_depend_on_how_many_are_asked_for(seed: u64, few in 1..200usize, many in 200..2_000usize) {
            let (few, many) = (relation(few, seed).unwrap(), relation(many, seed).unwrap());
            prop_assert_eq!(few.facts(), &many.facts()[..few.facts().len()]);
            let other = relation(few.facts().len(), seed ^ 1).unwrap();
            prop_assert_ne!(few.facts(), other.facts());
        }
    }
}
