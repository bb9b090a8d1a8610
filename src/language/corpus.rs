//! A relation and its sentences as numbers of tokens.

use std::collections::HashMap;

use super::relation::Relation;
use super::templates::{Template, joined};
use crate::error::{Error, Result};

/// Sentences as token numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corpus {
    /// The text of every token: words and punctuation of the templates first, then subjects and objects. A subject or object
    /// that is spelt like a word of a template is a token of its own.
    pub tokens: Vec<String>,
    /// Number of tokens that are words of templates: tokens `0..words`.
    pub words: usize,
    /// Token of the subject of every fact: `words..words + facts`.
    pub subjects: Vec<usize>,
    /// Token of the object of every fact; facts of one object share it. A string that is subject and object is one token.
    pub objects: Vec<usize>,
    pub templates: Vec<Sentence>,
}

/// Words before the subject and between subject and object, as tokens; `prefix` may be empty, `suffix` has at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    pub prefix: Vec<usize>,
    pub suffix: Vec<usize>,
}

impl Corpus {
    /// Numbers the tokens: words in the order of the templates, subjects in the order of the facts, then the other objects.
    ///
    /// # Errors
    /// When there is no template, or one has no word before the object.
    pub fn new(relation: &Relation, templates: &[Template]) -> Result<Self> {
        if templates.is_empty() || templates.iter().any(|template| template.suffix.is_empty()) {
            return Err(Error::input(format!(
                "{} templates, or one without a word before the object",
                templates.len()
            ))
            .fix("give templates like: The director of {subject} is {object}"));
        }
        let mut words = Vocabulary::default();
        let templates: Vec<Sentence> = templates
            .iter()
            .map(|template| Sentence {
                prefix: words.numbers(&template.prefix),
                suffix: words.numbers(&template.suffix),
            })
            .collect();
        let mut names = Vocabulary::default();
        let facts = relation.facts();
        let first = words.tokens.len();
        let subjects = facts.iter().map(|fact| first + names.number(&fact.subject)).collect();
        let objects = facts.iter().map(|fact| first + names.number(&fact.object)).collect();
        Ok(Self { tokens: [words.tokens, names.tokens].concat(), words: first, subjects, objects, templates })
    }

    /// The sentence of a template about a fact, for people.
    pub fn text(&self, template: usize, fact: usize) -> String {
        let Sentence { prefix, suffix } = &self.templates[template];
        let numbers = prefix.iter().chain([&self.subjects[fact]]).chain(suffix).chain([&self.objects[fact]]);
        joined(numbers.map(|number| self.tokens[*number].as_str()))
    }
}

/// Texts in the order of their first use.
#[derive(Default)]
struct Vocabulary {
    tokens: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Vocabulary {
    fn number(&mut self, token: &str) -> usize {
        if let Some(number) = self.numbers.get(token) {
            return *number;
        }
        let number = self.tokens.len();
        self.tokens.push(token.to_owned());
        self.numbers.insert(token.to_owned(), number);
        number
    }

    fn numbers(&mut self, tokens: &[String]) -> Vec<usize> {
        tokens.iter().map(|token| self.number(token)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::relation::{Fact, Objects};
    use crate::language::{films, synthetic, templates};

    fn corpus(facts: &[(&str, &str)], lines: &str) -> Corpus {
        let facts = facts.iter().map(|(subject, object)| Fact { subject: (*subject).into(), object: (*object).into() });
        let relation = Relation::new("test", facts.collect(), Objects::Shared).unwrap();
        Corpus::new(&relation, &templates::parse(lines, "test").unwrap()).unwrap()
    }

    #[test]
    fn words_come_first_and_texts_of_facts_are_tokens_of_their_own() {
        let corpus = corpus(
            &[("It", "is"), ("Ed Wood", "Tim Burton"), ("Glen or Glenda", "Ed Wood"), ("Big Fish", "Tim Burton")],
            "The film {subject}? It is {object}\nIt is {subject} by {object}\n",
        );
        assert_eq!(
            corpus.tokens,
            ["The", "film", "?", "It", "is", "by", "It", "Ed Wood", "Glen or Glenda", "Big Fish", "is", "Tim Burton"]
        );
        assert_eq!(
            (corpus.words, &corpus.subjects[..], &corpus.objects[..]),
            (6, &[6, 7, 8, 9][..], &[10, 11, 7, 11][..])
        );
        assert_eq!(corpus.templates[0], Sentence { prefix: vec![0, 1], suffix: vec![2, 3, 4] });
        assert_eq!(corpus.templates[1], Sentence { prefix: vec![3, 4], suffix: vec![5] });
        assert_eq!(corpus.text(0, 0), "The film It? It is is");
    }

    #[test]
    fn every_sentence_reads_like_its_template() {
        let films =
            (films::all().unwrap(), templates::films().unwrap(), include_str!("../../data/templates/films.txt"));
        let books = synthetic::relation(50, 1).unwrap();
        let books = (books.clone(), templates::books().unwrap(), include_str!("../../data/templates/books.txt"));
        let any = (books.0.clone(), templates::any().unwrap(), include_str!("../../data/templates/any.txt"));
        for (relation, templates, text) in [films, books, any] {
            let corpus = Corpus::new(&relation, &templates).unwrap();
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            for (template, line) in lines.enumerate() {
                let fact = &relation.facts()[template];
                let expected = line.replace("{subject}", &fact.subject).replace("{object}", &fact.object);
                assert_eq!(corpus.text(template, template), expected);
            }
        }
    }

    #[test]
    fn films_that_are_called_like_a_director_share_a_token() {
        let relation = films::all().unwrap();
        let corpus = Corpus::new(&relation, &templates::films().unwrap()).unwrap();
        let shared = corpus.objects.iter().filter(|object| corpus.subjects.contains(object));
        let mut shared: Vec<&str> = shared.map(|object| corpus.tokens[*object].as_str()).collect();
        shared.sort_unstable();
        shared.dedup();
        assert_eq!(shared, ["Ed Wood", "Patch Adams"]);
        assert_eq!(corpus.tokens.len() - corpus.words, 17_396 + 7_563 - 2);
        assert!(corpus.subjects.iter().copied().eq(corpus.words..corpus.words + 17_396));
    }

    #[test]
    fn templates_that_ask_nothing_are_refused() {
        let relation = synthetic::relation(2, 0).unwrap();
        let faulty = Template { prefix: vec!["The".into()], suffix: Vec::new() };
        for templates in [Vec::new(), vec![faulty]] {
            assert_eq!(Corpus::new(&relation, &templates).unwrap_err().exit_code(), 2);
        }
    }
}
