//! Facts in words from files of one's own, to the letter.
//!
//! One test reads the Goodreads pairs, which do not come with the project: `FACTSMITH_BOOKS` names the file, or it lies in
//! `../shared/data`; the test says SKIPPED where there is none.

use std::path::{Path, PathBuf};

use factsmith::error::Error;
use factsmith::language::corpus::Corpus;
use factsmith::language::fact_file::read;
use factsmith::language::relation::Objects::{Distinct, Shared};
use factsmith::language::relation::{Fact, Relation};
use factsmith::language::templates;
use factsmith::table::{Record, Table};

/// Texts that a careless reader changes.
fn nasty() -> Vec<Fact> {
    let long = "é".repeat(250);
    [
        ("a, b and c", "O'Neil, Jr."),
        ("\"Quoted\"", "The \"Doc\""),
        ("two  blanks", "three   blanks"),
        (" before", "after "),
        ("no\u{a0}break", "\u{a0}x"),
        ("no\u{200d}joint", "non\u{200c}joint"),
        ("tab\tin it", "\ttab before"),
        ("line\nbreak", "line\r\nbreak"),
        ("本", "著者"),
        ("مذكرات", "Лев Толстой"),
        ("x", long.as_str()),
        ("0", "NA"),
        ("#1", "=1+1"),
    ]
    .map(|(subject, object)| Fact { subject: subject.into(), object: object.into() })
    .to_vec()
}

fn written(folder: &Path, name: &str, delimiter: u8, facts: &[Fact]) -> PathBuf {
    let path = folder.join(name);
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_path(&path).unwrap();
    writer.write_record(["", "author", "book"]).unwrap();
    for (number, fact) in facts.iter().enumerate() {
        writer.write_record([&(7 * number).to_string(), &fact.object, &fact.subject]).unwrap();
    }
    writer.flush().unwrap();
    path
}

fn refused(text: &str, subject: &str, object: &str) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("facts.csv");
    std::fs::write(&path, text).unwrap();
    let error = read(&path, subject, object, Distinct).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("facts.csv"), "{error}");
    error
}

#[test]
fn every_text_arrives_to_the_letter() {
    let folder = tempfile::tempdir().unwrap();
    let facts = nasty();
    for (name, delimiter) in [("facts.csv", b','), ("facts.TSV", b'\t')] {
        let relation = read(&written(folder.path(), name, delimiter, &facts), "book", "author", Distinct).unwrap();
        assert_eq!(relation.facts(), facts, "{name}");
        assert_eq!(relation.name, "book → author");
    }
    let record = |fact: &Fact| Record::new().with("author", &fact.object[..]).with("book", &fact.subject[..]);
    let records: Vec<Record> = facts.iter().map(record).collect();
    let path = folder.path().join("facts.parquet");
    std::fs::write(&path, Table::from_records(&records).unwrap().to_parquet_bytes().unwrap()).unwrap();
    assert_eq!(read(&path, "book", "author", Distinct).unwrap().facts(), facts);
}

#[test]
fn a_mark_of_byte_order_and_windows_line_ends_are_no_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("facts.csv");
    std::fs::write(&path, "\u{feff}book,author\r\na,b\r\nc,b\r\n").unwrap();
    let relation = read(&path, "book", "author", Shared).unwrap();
    assert_eq!(relation.facts()[1], Fact { subject: "c".into(), object: "b".into() });
}

#[test]
fn faulty_rows_are_named_by_line_and_none_is_dropped() {
    let text = ",author,book\n0,a,x\n5,,y\n6,\"b\nc\",x\n7,a,z\n";
    let error = refused(text, "book", "author");
    assert_eq!(
        error.what(),
        "3 faults in the facts: line 3: the object is blank; line 4: the subject 'x' is there already, in line 2; \
         line 6: the object 'a' is there already, in line 2"
    );
    assert!(error.to_string().contains("every subject and every object once; or let facts share objects"), "{error}");
    let records = [("x", "a"), ("y", ""), ("x", "b")];
    let records = records.map(|(book, author)| Record::new().with("book", book).with("author", author));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("facts.parquet");
    std::fs::write(&path, Table::from_records(&records).unwrap().to_parquet_bytes().unwrap()).unwrap();
    let error = read(&path, "book", "author", Shared).unwrap_err();
    assert!(error.what().contains(
        "row 1 (from 0): the object is blank; row 2 (from 0): the subject 'x' is there already, in row 0 (from 0)"
    ));
}

#[test]
fn files_that_hold_no_such_facts_are_refused() {
    for (text, expected) in [
        ("Book,author\na,b\n", "unknown column 'book'"),
        ("boook,author\na,b\n", "fix: did you mean 'boook'?"),
        ("id,,author\na,b,c\n", "fix: use one of: id, author"),
        ("book,author,book\na,b,c\n", "two columns are called 'book'"),
        ("book,author\na,b\nc, d, e\n", "line 3: 3 cells, where the header has 2"),
        ("book,author\na\n", "line 2: 1 cells, where the header has 2"),
        ("book,author\n", "there is no fact"),
        ("", "the file is empty"),
    ] {
        let error = refused(text, "book", "author").to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
    assert!(
        read(Path::new("absent.csv"), "book", "author", Shared).unwrap_err().to_string().contains("check the path")
    );
    assert!(read(Path::new("Cargo.toml"), "book", "author", Shared).unwrap_err().to_string().contains("extension"));
}

fn goodreads() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/book_authors.csv");
    let path = std::env::var_os("FACTSMITH_BOOKS").map_or_else(beside, PathBuf::from);
    path.exists().then_some(path)
}

#[test]
fn the_goodreads_pairs_are_read_to_the_letter() {
    let Some(path) = goodreads() else {
        eprintln!("SKIPPED: no Goodreads pairs; name the file book_authors.csv in FACTSMITH_BOOKS");
        return;
    };
    let relation = read(&path, "book", "author", Distinct).unwrap();
    assert_eq!(relation.facts().len(), 63_317);
    let holds = |wanted: &dyn Fn(&Fact) -> bool| relation.facts().iter().filter(|fact| wanted(fact)).count();
    assert_eq!(holds(&|fact| fact.subject.contains(',')), 13_232);
    assert_eq!(holds(&|fact| fact.subject.contains('"')), 109);
    assert_eq!(holds(&|fact| fact.object.contains("  ")), 2_187);
    assert_eq!(holds(&|fact| !fact.subject.is_ascii()), 5_356);
    assert_eq!(holds(&|fact| fact.subject.contains('\t') || fact.object.contains('\t')), 1);
    assert!(holds(&|fact| fact.subject.contains(['\u{a0}', '\u{200d}'])) > 0);
    let first = relation.clone().first(16_384).unwrap();
    assert_eq!(first.facts()[0], Fact { subject: "A Murder is Announced".into(), object: "Agatha Christie".into() });
    let corpus = Corpus::new(&first, &templates::books().unwrap()).unwrap();
    assert_eq!(corpus.tokens.len() - corpus.words, 32_763, "as the paper's tokenizer has it");
    assert_eq!(written_again(&relation), std::fs::read(&path).unwrap(), "no byte was lost");
}

/// The file as its authors wrote it, but for the numbers in the first column, which are taken from it.
fn written_again(relation: &Relation) -> Vec<u8> {
    let text = std::fs::read_to_string(goodreads().unwrap()).unwrap();
    let numbers = text.lines().skip(1).map(|line| line.split(',').next().unwrap());
    let mut writer = csv::WriterBuilder::new().from_writer(Vec::new());
    writer.write_record(["", "author", "book"]).unwrap();
    for (number, fact) in numbers.zip(relation.facts()) {
        writer.write_record([number, &fact.object, &fact.subject]).unwrap();
    }
    writer.into_inner().unwrap()
}
