//! Fact maps by number and by name.

use factsmith::facts::files::Format;
use factsmith::facts::files::fact_map::{FactMap, Side};
use factsmith::facts::files::names::Names;
use factsmith::table::{Record, Table};

fn names(words: &[&str]) -> Names {
    Names::new(words.iter().map(|word| (*word).to_owned()).collect(), words.len()).unwrap()
}

fn by_number(text: &str) -> Result<Vec<(usize, usize)>, String> {
    let bytes = text.as_bytes().to_vec();
    let map = FactMap::from_bytes(bytes, Format::Csv, Side::keys(3, None), Side::values(4, None));
    map.map(|map| map.facts).map_err(|error| error.to_string())
}

#[test]
fn columns_are_found_by_name_or_are_the_first_two() {
    let expected = Ok(vec![(0, 3), (2, 1)]);
    for text in ["0,3\n2,1\n", "key,value\n0,3\n2,1\n", "Value,note,Key\n3,x,0\n1,y,2\n", "subject,object\n0,3\n2,1\n"]
    {
        assert_eq!(by_number(text), expected, "{text}");
    }
    let tabs = b"0\t3\n2\t1\n".to_vec();
    let map = FactMap::from_bytes(tabs, Format::Tsv, Side::keys(3, None), Side::values(4, None)).unwrap();
    assert_eq!(Ok(map.facts), expected);
    let records = [(0usize, 3usize), (2, 1)].map(|(key, value)| Record::new().with("value", value).with("key", key));
    let bytes = Table::from_records(&records).unwrap().to_parquet_bytes().unwrap();
    let map = FactMap::from_bytes(bytes, Format::Parquet, Side::keys(3, None), Side::values(4, None)).unwrap();
    assert_eq!(Ok(map.facts), expected);
}

#[test]
fn names_stand_for_rows() {
    let (keys, values) = (names(&["France", "Japan"]), names(&["Tokyo", "Paris"]));
    let (keys, values) = (Side::keys(2, Some(&keys)), Side::values(2, Some(&values)));
    let read = |text: &str| FactMap::from_bytes(text.as_bytes().to_vec(), Format::Csv, keys, values);
    assert_eq!(read("France,Paris\nJapan,Tokyo\n").unwrap().facts, [(0, 1), (1, 0)]);
    assert_eq!(read("\"Japan\", Tokyo\n").unwrap().facts, [(1, 0)]);
    assert_eq!(
        read("Japan,Tokyo\nFrance,Pariss\n").unwrap_err().to_string(),
        "unknown name 'Pariss'\n  where: the facts, line 2\n  fix: did you mean 'Paris'?"
    );
    let twice = names(&["a", "b", "a"]);
    let error = FactMap::from_bytes(b"a,0\n".to_vec(), Format::Csv, Side::keys(3, Some(&twice)), values).unwrap_err();
    assert!(error.to_string().contains("belongs to rows 0 and 2"), "{error}");
}

#[test]
fn faulty_lines_are_named() {
    for (text, what, line) in [
        ("0,3\n1,4\n", "there is no value 4: there are 4 values", 2),
        ("0,0\n1,0\n2,0\n3,0\n", "there is no key 3: there are 3 keys", 4),
        ("0,3\n1,1\n0,2\n", "key 0 has value 3 in line 1 and 2 here", 3),
        ("0,3\n1\n", "the value is missing", 2),
        ("0,3\n,1\n", "the key is missing", 2),
        ("0,3\n1,Paris\n", "the value 'Paris' is not a row number", 2),
        ("0,3\n-1,2\n", "the key '-1' is not a row number", 2),
    ] {
        let error = by_number(text).unwrap_err();
        assert!(error.starts_with(what), "{text}: {error}");
        assert!(error.contains(&format!("where: the facts, line {line}\n")), "{text}: {error}");
    }
    assert_eq!(by_number("0,3\n0,3\n").unwrap(), [(0, 3)], "the same fact twice is one fact");
    for empty in ["", "key,value\n"] {
        assert!(by_number(empty).unwrap_err().contains("holds no fact"));
    }
    assert!(FactMap::in_order(3, 4).unwrap_err().to_string().contains("3 keys and 4 values"));
    assert_eq!(FactMap::in_order(2, 2).unwrap().facts, [(0, 0), (1, 1)]);
}

#[test]
fn names_are_read_from_text_and_from_columns() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let read = |source: String, rows: usize| Names::read(&source.parse().unwrap(), rows);
    let text = write("tokens.txt", "the\n\"of, and\n\nname\n");
    assert_eq!(read(text.clone(), 4).unwrap().of(1), Some("\"of, and"));
    assert!(read(text, 3).unwrap_err().to_string().contains("4 names for 3 rows"));
    let table = write("table.csv", "id,name,city\n1,a,x\n2,b,y\n");
    assert_eq!(read(table.clone(), 2).unwrap().of(1), Some("b"));
    assert_eq!(read(format!("{table}:city"), 2).unwrap().row("y").unwrap(), 1);
    assert!(read(format!("{table}:citi"), 2).unwrap_err().to_string().contains("did you mean 'city'?"));
    assert_eq!(read(write("plain.csv", "a,1\nb,2\n"), 2).unwrap().of(0), Some("a"));
}
