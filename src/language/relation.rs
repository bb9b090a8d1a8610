//! Relations: facts in words, in a fixed order.

use std::collections::HashMap;

use crate::error::{Error, Result};

/// A subject and its object, to the letter: no blank is trimmed and no letter changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub subject: String,
    pub object: String,
}

/// Whether facts may have an object in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objects {
    /// Every object belongs to one subject: a bijection.
    Distinct,
    /// Several subjects may have one object.
    Shared,
}

/// Facts of one kind, every subject once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// What it is and where it is from, for reports; synthetic facts are called that here.
    pub name: String,
    facts: Vec<Fact>,
}

impl Relation {
    /// Takes facts that are in memory.
    ///
    /// ```
    /// use factsmith::language::relation::{Fact, Objects, Relation};
    /// let facts = ["Bern", "Geneva"].map(|city| Fact { subject: city.into(), object: "Switzerland".into() });
    /// assert!(Relation::new("city → country", facts.to_vec(), Objects::Shared).is_ok());
    /// let error = Relation::new("city → country", facts.to_vec(), Objects::Distinct).unwrap_err();
    /// assert_eq!(error.what(), "1 fault in the facts: fact 1: the object 'Switzerland' is there already, in fact 0");
    /// ```
    ///
    /// # Errors
    /// When there is no fact, a subject or object is blank, a subject is there twice, or an object that was to be distinct is.
    pub fn new(name: &str, facts: Vec<Fact>, objects: Objects) -> Result<Self> {
        Self::with_places(name, facts, objects, |fact| format!("fact {fact}"))
    }

    /// The same; `place` says where a fact was read.
    pub(super) fn with_places(
        name: &str,
        facts: Vec<Fact>,
        objects: Objects,
        place: impl Fn(usize) -> String,
    ) -> Result<Self> {
        if facts.is_empty() {
            return Err(Error::input("there is no fact").fix("give a subject and an object at least"));
        }
        let subjects: Vec<&str> = facts.iter().map(|fact| fact.subject.as_str()).collect();
        let own_objects: Vec<&str> = facts.iter().map(|fact| fact.object.as_str()).collect();
        let mut faults = faults("subject", &subjects, true, &place);
        faults.extend(self::faults("object", &own_objects, objects == Objects::Distinct, &place));
        faults.sort_by_key(|(fact, _)| *fact);
        match faults.is_empty() {
            true => Ok(Self { name: name.to_owned(), facts }),
            false => Err(faulty(&faults, objects)),
        }
    }

    /// The facts in their order.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// The first `count` facts.
    ///
    /// # Errors
    /// When there are fewer, or none is asked for.
    pub fn first(mut self, count: usize) -> Result<Self> {
        if count == 0 || count > self.facts.len() {
            let has = self.facts.len();
            return Err(Error::input(format!("{count} facts of '{}', which has {has}", self.name))
                .fix(format!("ask for 1 to {has} facts")));
        }
        self.facts.truncate(count);
        Ok(self)
    }
}

/// How many faults an error lists.
const LISTED: usize = 5;

/// Blank texts, and texts that were there before where they may not be.
fn faults(noun: &str, texts: &[&str], distinct: bool, place: &impl Fn(usize) -> String) -> Vec<(usize, String)> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut found = Vec::new();
    for (fact, text) in texts.iter().enumerate() {
        let first = *seen.entry(text).or_insert(fact);
        if text.trim().is_empty() {
            found.push((fact, format!("{}: the {noun} is blank", place(fact))));
        } else if distinct && first != fact {
            let (here, there) = (place(fact), place(first));
            found.push((fact, format!("{here}: the {noun} '{}' is there already, in {there}", shortened(text))));
        }
    }
    found
}

fn faulty(faults: &[(usize, String)], objects: Objects) -> Error {
    let listed: Vec<&str> = faults.iter().take(LISTED).map(|(_, fault)| fault.as_str()).collect();
    let more = if faults.len() > LISTED { format!("; and {} more", faults.len() - LISTED) } else { String::new() };
    let noun = if faults.len() == 1 { "fault" } else { "faults" };
    let once = match objects {
        Objects::Distinct => "every subject and every object once; or let facts share objects",
        Objects::Shared => "every subject once",
    };
    Error::input(format!("{} {noun} in the facts: {}{more}", faults.len(), listed.join("; ")))
        .fix(format!("give every fact a subject and an object, {once}"))
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    let start: String = text.chars().take(LONGEST).collect();
    if start.len() < text.len() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> Vec<Fact> {
        pairs.iter().map(|(subject, object)| Fact { subject: (*subject).into(), object: (*object).into() }).collect()
    }

    #[test]
    fn every_fault_is_named_in_one_error() {
        let faulty = facts(&[("a", "x"), ("", "y"), ("a", "z"), ("b", "x"), ("c", "\u{a0} ")]);
        let error = Relation::new("test", faulty.clone(), Objects::Distinct).unwrap_err();
        assert_eq!(
            error.what(),
            "4 faults in the facts: fact 1: the subject is blank; fact 2: the subject 'a' is there already, in fact 0; \
             fact 3: the object 'x' is there already, in fact 0; fact 4: the object is blank"
        );
        let error = Relation::new("test", faulty, Objects::Shared).unwrap_err();
        assert!(error.what().starts_with("3 faults") && !error.what().contains("'x'"), "{error}");
        let many = Relation::new("test", facts(&[("a", "x"); 9]), Objects::Shared).unwrap_err();
        assert!(many.what().ends_with("in fact 0; and 3 more"), "{many}");
        assert!(Relation::new("test", Vec::new(), Objects::Shared).is_err());
    }

    #[test]
    fn texts_that_differ_in_a_blank_or_in_case_are_different() {
        let alike = facts(&[("a b", "x"), ("a  b", "X"), ("a\u{a0}b", "x "), ("A b", "\tx")]);
        assert_eq!(Relation::new("test", alike.clone(), Objects::Distinct).unwrap().facts(), alike);
    }

    #[test]
    fn more_facts_than_there_are_are_refused() {
        let relation = Relation::new("test", facts(&[("a", "x"), ("b", "x")]), Objects::Shared).unwrap();
        assert_eq!(relation.clone().first(1).unwrap().facts(), facts(&[("a", "x")]));
        for count in [0, 3] {
            let error = relation.clone().first(count).unwrap_err();
            assert_eq!(error.to_string(), format!("{count} facts of 'test', which has 2\n  fix: ask for 1 to 2 facts"));
        }
    }
}
