//! Templates: sentences with a gap for the subject, and the object as their last word.

use std::io::Read;
use std::path::Path;

use crate::durable;
use crate::error::{Error, Result, unknown};

const SUBJECT: &str = "{subject}";
const OBJECT: &str = "{object}";
const EXAMPLE: &str = "The director of {subject} is {object}";

/// Words and punctuation marks of a sentence before the subject, and between it and the object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pub prefix: Vec<String>,
    pub suffix: Vec<String>,
}

/// Sixteen sentences about a film and its director.
///
/// # Errors
/// Never: the sentences are part of the program, and a test reads them.
pub fn films() -> Result<Vec<Template>> {
    parse(include_str!("../../data/templates/films.txt"), "data/templates/films.txt")
}

/// Sixteen sentences about a book and its author.
///
/// # Errors
/// Never, as [`films`].
pub fn books() -> Result<Vec<Template>> {
    parse(include_str!("../../data/templates/books.txt"), "data/templates/books.txt")
}

/// Sixteen sentences about any two things that belong together.
///
/// # Errors
/// Never, as [`films`].
pub fn any() -> Result<Vec<Template>> {
    parse(include_str!("../../data/templates/any.txt"), "data/templates/any.txt")
}

/// Reads a file of one's own: a sentence per line, `{subject}` once, `{object}` at the end; lines with `#` are left out.
///
/// # Errors
/// When the file cannot be read, holds no sentence, or a line is none or there twice.
pub fn read(path: &Path) -> Result<Vec<Template>> {
    let mut bytes = Vec::new();
    durable::open_plain(path)?.read_to_end(&mut bytes).map_err(|error| Error::io("read", path, &error))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Error::input("the file is not text in UTF-8").fix("save it as UTF-8").at(path.display()))?;
    parse(&text, &path.display().to_string())
}

/// The same for the text of a file; `file` is its name in errors.
///
/// ```
/// use factsmith::language::templates::parse;
/// let templates = parse("Who wrote {subject}? Surely {object}\n", "mine.txt")?;
/// assert_eq!((&templates[0].prefix[..], &templates[0].suffix[..]), (&["Who".into(), "wrote".into()][..], &["?".into(), "Surely".into()][..]));
/// # Ok::<(), factsmith::error::Error>(())
/// ```
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, file: &str) -> Result<Vec<Template>> {
    let mut found: Vec<(usize, Template)> = Vec::new();
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    for (number, line) in (1..).zip(lines).filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let place = |error: Error| error.at(format!("{file}, line {number}"));
        let template = template(line).map_err(place)?;
        if let Some((first, _)) = found.iter().find(|(_, other)| *other == template) {
            return Err(place(
                Error::input(format!("the sentence of line {first} again")).fix("leave one of them out"),
            ));
        }
        found.push((number, template));
    }
    if found.is_empty() {
        let error = Error::input("there is no sentence").fix(format!("write one per line, for example: {EXAMPLE}"));
        return Err(error.at(file));
    }
    Ok(found.into_iter().map(|(_, template)| template).collect())
}

fn template(line: &str) -> Result<Template> {
    check_slots(line)?;
    let Some(sentence) = line.strip_suffix(OBJECT) else {
        let error = match line.split_once(OBJECT) {
            None => Error::input(format!("the sentence has no {OBJECT}")),
            Some((_, rest)) => Error::input(format!("'{}' follows {OBJECT}", rest.trim())),
        };
        return Err(error.fix(format!("end the sentence with {OBJECT}, what a model is to tell: {EXAMPLE}")));
    };
    let Some((before, after)) = sentence.split_once(SUBJECT) else {
        return Err(Error::input(format!("the sentence has no {SUBJECT}"))
            .fix(format!("write {SUBJECT} where the subject stands: {EXAMPLE}")));
    };
    let (prefix, suffix) = (tokens(before), tokens(after));
    if suffix.is_empty() {
        return Err(Error::input(format!("there is no word between {SUBJECT} and {OBJECT}"))
            .fix(format!("write one: a model answers after it, as after 'is' in: {EXAMPLE}")));
    }
    Ok(Template { prefix, suffix })
}

/// Each slot may be there once, and nothing else stands in braces.
fn check_slots(line: &str) -> Result<()> {
    for slot in [SUBJECT, OBJECT] {
        if line.matches(slot).count() > 1 {
            return Err(Error::input(format!("{slot} is there twice")).fix("write each slot once"));
        }
    }
    let rest = line.replace(SUBJECT, "").replace(OBJECT, "");
    match rest.split_once('{').and_then(|(_, rest)| rest.split_once('}')) {
        Some((name, _)) => Err(unknown("slot", name, ["subject", "object"])),
        None if rest.contains(['{', '}']) => {
            Err(Error::input("a brace without its partner").fix(format!("write slots like this: {EXAMPLE}")))
        }
        None => Ok(()),
    }
}

/// Words and punctuation marks. An apostrophe or hyphen before a letter belongs to its word, so `'s` is one token.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let before_letter = letters.peek().is_some_and(|next| !next.is_whitespace() && !is_mark(*next));
        let joins = before_letter && (is_apostrophe(letter) || (letter == '-' && in_word));
        let continues = in_word && (joins || !is_mark(letter)) && !letter.is_whitespace();
        match tokens.last_mut() {
            Some(word) if continues => word.push(letter),
            _ if letter.is_whitespace() => {}
            _ => tokens.push(letter.to_string()),
        }
        in_word = !letter.is_whitespace() && (joins || !is_mark(letter));
    }
    tokens
}

fn is_apostrophe(letter: char) -> bool {
    matches!(letter, '\'' | '’')
}

fn is_mark(letter: char) -> bool {
    letter.is_ascii_punctuation() || "“”„‘’«»…–—¿¡、。，？！：；（）「」".contains(letter)
}

/// Words and marks as a sentence: no blank before a mark that closes, nor after one that opens.
pub(super) fn joined<'a>(tokens: impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for token in tokens {
        let closes = token.starts_with(|letter: char| ",;:.?!)]'’”»…、。，？！：；）」".contains(letter));
        if !text.is_empty() && !closes && !text.ends_with(['(', '[', '“', '„', '«', '¿', '¡', '（', '「']) {
            text.push(' ');
        }
        text.push_str(token);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Words before the subject, the mark or `'s` glued to it, other tokens before the object (2607.10034).
    const SHAPES: [(usize, &str, usize); 16] = [
        (3, "", 1),
        (5, "?", 3),
        (6, "?", 3),
        (5, ",", 4),
        (6, "", 1),
        (8, "", 4),
        (2, "'s", 2),
        (5, "", 1),
        (4, ",", 4),
        (5, "", 1),
        (7, ";", 3),
        (5, "", 4),
        (7, "", 1),
        (2, "?", 4),
        (6, "", 3),
        (2, ",", 5),
    ];

    #[test]
    fn the_sentences_of_the_project_have_the_shapes_of_the_papers() {
        for templates in [films().unwrap(), books().unwrap(), any().unwrap()] {
            let shape = |template: &Template| {
                let first = template.suffix[0].as_str();
                let glued = if ["?", ",", ";", "'s"].contains(&first) { first } else { "" };
                (template.prefix.len(), glued.to_owned(), template.suffix.len() - usize::from(!glued.is_empty()))
            };
            let expected = SHAPES.map(|(before, glued, after)| (before, glued.to_owned(), after));
            assert_eq!(templates.iter().map(shape).collect::<Vec<_>>(), expected);
            let cues: HashSet<&String> = templates.iter().map(|template| template.suffix.last().unwrap()).collect();
            assert_eq!(cues.len(), 16, "each sentence asks with a word of its own");
        }
    }

    #[test]
    fn words_and_marks_are_tokens_of_their_own() {
        for (text, expected) in [
            ("The  author\tof ", "The author of"),
            ("'s author, who", "'s author , who"),
            ("? It was co-written, didn't they say: ", "? It was co-written , didn't they say :"),
            ("(“so-called”) — end-", "( “ so-called ” ) — end -"),
            ("'", "'"),
            ("", ""),
        ] {
            assert_eq!(tokens(text).join(" "), expected, "{text}");
        }
        assert_eq!(
            joined(tokens("Who (really) wrote “it”, you ask?").iter().map(String::as_str)),
            "Who (really) wrote “it”, you ask?"
        );
    }

    #[test]
    fn sentences_that_are_none_are_refused_with_line_reason_and_fix() {
        for (line, what, fix) in [
            ("The author is {object}", "the sentence has no {subject}", "write {subject} where"),
            ("{subject} is by somebody", "the sentence has no {object}", "end the sentence with {object}"),
            ("{subject} is by {object}.", "'.' follows {object}", "end the sentence with {object}"),
            ("{object} made {subject}", "'made {subject}' follows {object}", "end the sentence with {object}"),
            ("We know {subject} {object}", "there is no word between {subject} and {object}", "write one"),
            ("{subject} or {subject} is by {object}", "{subject} is there twice", "write each slot once"),
            ("{subjct} is by {object}", "unknown slot 'subjct'", "did you mean 'subject'?"),
            ("{subject is by {object}", "a brace without its partner", "write slots like this"),
            ("subject} is by {object}", "a brace without its partner", "write slots like this"),
            ("We say {subject} is {object}", "the sentence of line 2 again", "leave one of them out"),
        ] {
            let text = format!("# mine\nWe say {{subject}} is {{object}}\r\n\n{line}\n");
            let error = parse(&text, "mine.txt").unwrap_err().to_string();
            assert!(error.starts_with(what) && error.contains("where: mine.txt, line 4\n"), "{line}: {error}");
            assert!(error.contains(&format!("fix: {fix}")), "{line}: {error}");
        }
        assert!(parse("# nothing\n\n", "mine.txt").unwrap_err().to_string().contains("there is no sentence"));
    }
}
