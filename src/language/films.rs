//! Films and their directors, from Wikidata: facts that come with the project (`data/README.md`).

use std::collections::HashSet;

use super::relation::{Fact, Objects, Relation};
use crate::error::Result;

const FILMS: &str = include_str!("../../data/films.tsv");

/// All 17,396 films, in the order of the file; directors have several.
///
/// # Errors
/// Never: the file is part of the program, and a test reads it.
pub fn all() -> Result<Relation> {
    Relation::new("film → director", facts().collect(), Objects::Shared)
}

/// The first film of each of the 7,563 directors, in the order of the file: a bijection.
///
/// # Errors
/// Never, as [`all`].
pub fn one_per_director() -> Result<Relation> {
    let mut seen = HashSet::new();
    let first = facts().filter(|fact| seen.insert(fact.object.clone())).collect();
    Relation::new("film → director, one film each", first, Objects::Distinct)
}

/// The first `count` films: one for each director as long as there are directors, and all films, whose directors they share,
/// beyond.
///
/// # Errors
/// When there are fewer films, or none is asked for.
pub fn first(count: usize) -> Result<Relation> {
    let each = one_per_director()?;
    if count <= each.facts().len() { each.first(count) } else { all()?.first(count) }
}

fn facts() -> impl Iterator<Item = Fact> {
    let lines = FILMS.lines().skip(1).filter_map(|line| line.split_once('\t'));
    lines.map(|(film, director)| Fact { subject: film.to_owned(), object: director.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    #[test]
    fn the_file_is_the_one_whose_provenance_is_told() {
        let hash: String = Sha256::digest(FILMS).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(include_str!("../../data/README.md").contains(&format!("SHA-256: `{hash}`")), "{hash}");
    }

    #[test]
    fn directors_are_shared_only_where_there_are_too_few() {
        let directors = |count: usize| {
            let relation = first(count).unwrap();
            assert_eq!(relation.facts().len(), count);
            relation.facts().iter().map(|fact| fact.object.clone()).collect::<HashSet<_>>().len()
        };
        assert_eq!((directors(100), directors(7_563)), (100, 7_563));
        assert!((1..7_564).contains(&directors(7_564)));
        assert_eq!(first(17_397).unwrap_err().exit_code(), 2);
    }

    #[test]
    fn every_line_is_a_film_and_its_director() {
        assert!(FILMS.starts_with("film\tdirector\n"));
        let (all, each) = (all().unwrap(), one_per_director().unwrap());
        assert_eq!((all.facts().len(), each.facts().len()), (17_396, 7_563));
        assert_eq!(all.facts().len(), FILMS.lines().count() - 1);
        assert_eq!(all.facts()[..2], each.facts()[..2]);
        assert_eq!(all.facts()[1], Fact { subject: "A Gang Story".into(), object: "Olivier Marchal".into() });
        let position = |fact: &Fact| all.facts().iter().position(|other| other == fact).unwrap();
        let last = each.facts().last().unwrap();
        assert!(all.facts()[..position(last)].iter().all(|fact| fact.object != last.object));
    }
}
