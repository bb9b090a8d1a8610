//! `build`, `verify`, `show` and `methods`.

use std::path::Path;

use super::folder::{FACTS, Own, json};

#[test]
fn the_smallest_mlp_is_built_verified_and_shown() {
    let own = Own::new();
    let (code, built) =
        own.run(&format!("build {FACTS} --method hebbian_whitened --smallest -o OWN/a.safetensors --json"));
    let built = json(&built);
    assert_eq!((code, &built["stored"]), (0, &40.into()));
    let size = built["size"].as_u64().unwrap();
    let (code, verified) = own.run(&format!("verify OWN/a.safetensors {FACTS} --key-names OWN/names.txt --json"));
    assert_eq!(code, 2, "a map by number does not go with names: {verified}");
    let (code, verified) = own.run(&format!("verify OWN/a.safetensors {FACTS} --json"));
    let verified = json(&verified);
    assert_eq!((code, &verified["stored"], &verified["not_stored"]), (0, &40.into(), &0.into()));
    assert_eq!(verified["smallest_margin"], built["smallest_margin"]);
    let (_, smaller) =
        own.run(&format!("build {FACTS} --method hebbian_whitened --size {} -o OWN/b.safetensors", size - 1));
    assert!(!smaller.starts_with("40 of"), "{smaller}");
    let (code, shown) = own.run("show OWN/a.safetensors --json");
    let shown = json(&shown);
    assert_eq!((code, &shown["made"]["size"], &shown["parameters"]), (0, &size.into(), &built["parameters"]));
}

#[test]
fn facts_that_are_not_stored_end_with_exit_code_1_and_are_listed() {
    let own = Own::new();
    let (code, _) = own.run(&format!("build {FACTS} --method hebbian --size 2 -o OWN/small.safetensors"));
    assert_eq!(code, 1);
    let (code, text) = own.run(&format!("verify OWN/small.safetensors {FACTS} --worst 3"));
    assert_eq!((code, text.matches("not stored  ").count()), (1, 3), "{text}");
}

/// Before anything is read: building may take hours.
#[test]
fn an_output_without_a_place_is_refused_at_once() {
    let own = Own::new();
    for line in [
        "build --keys OWN/none.csv --values OWN/none.csv --method hebbian --size 2 -o OWN/keys.csv/below",
        "edit OWN/none.safetensors --keys OWN/none.csv --values OWN/none.csv --set OWN/none.csv -o OWN/keys.csv/below",
        "measure OWN/none.csv --parquet OWN/keys.csv/below",
    ] {
        let error = own.complaint(line);
        assert!(error.contains("below") && error.contains("folder that can be written to"), "{line}: {error}");
    }
}

#[test]
fn what_is_read_is_never_overwritten() {
    let own = Own::new();
    for (line, file) in [
        ("build FACTS --method hebbian --size 2 -o OWN/values.csv", "values.csv"),
        ("measure OWN/values.csv --parquet OWN/values.csv", "values.csv"),
        ("measure OWN/values.csv --keys OWN/keys.csv --parquet OWN/keys.csv", "keys.csv"),
        ("measure OWN/values.csv --names OWN/names.txt --parquet OWN/names.txt", "names.txt"),
    ] {
        let before = std::fs::read(own.path(file)).unwrap();
        let error = own.complaint(&line.replace("FACTS", FACTS));
        assert!(error.contains(&format!("{file}' is read and would be overwritten")), "{line}: {error}");
        assert_eq!(std::fs::read(own.path(file)).unwrap(), before);
    }
}

/// Else the search would go on to giants.
#[test]
fn no_size_is_searched_for_facts_that_no_mlp_tells_apart() {
    let own = Own::new();
    let keys = std::fs::read_to_string(own.path("keys.csv")).unwrap();
    let line =
        |file: &str, row: usize| std::fs::read_to_string(own.path(file)).unwrap().lines().nth(row).unwrap().to_owned();
    own.write("twin_keys.csv", &keys.replace(&line("keys.csv", 7), &line("keys.csv", 3)));
    let values = std::fs::read_to_string(own.path("values.csv")).unwrap();
    own.write("twin_values.csv", &values.replace(&line("values.csv", 9), &line("values.csv", 2)));
    for (tables, says) in [
        ("--keys OWN/twin_keys.csv --values OWN/values.csv", "keys 3 and 7 are equal"),
        ("--keys OWN/keys.csv --values OWN/twin_values.csv", "values 2 and 9 are equal"),
    ] {
        let rest = "--facts OWN/map.csv --method gradient_descent --smallest -o OWN/x.safetensors";
        let error = own.complaint(&format!("build {tables} {rest}"));
        assert!(error.contains("no MLP stores every fact") && error.contains(says), "{error}");
    }
}

#[test]
fn single_precision_is_verified_as_it_is_written() {
    let own = Own::new();
    let (_, built) = own
        .run(&format!("build {FACTS} --method gadget_direct --size 8 --precision single -o OWN/s.safetensors --json"));
    let (_, verified) = own.run(&format!("verify OWN/s.safetensors {FACTS} --json"));
    assert_eq!(json(&built)["smallest_margin"], json(&verified)["smallest_margin"]);
}

#[test]
fn the_same_command_writes_the_same_file() {
    let own = Own::new();
    let bytes = |name: &str| {
        let line = format!("build {FACTS} --method gradient_descent --size 20 --steps 50 --seed 3 -o OWN/{name}");
        own.run(&line);
        std::fs::read(own.path(name)).unwrap()
    };
    assert_eq!(bytes("one.safetensors"), bytes("two.safetensors"));
}

#[test]
fn what_cannot_be_built_is_refused_and_leaves_no_file() {
    let own = Own::new();
    own.write("equal.csv", &"1,2,3,4,5,6,7,8\n".repeat(40));
    own.write("narrow.csv", &"1,2,3\n".repeat(40));
    for line in [
        &*format!("build {FACTS} --method hebian --size 3 -o OWN/x.safetensors"),
        &*format!("build {FACTS} --method hebbian --size 0 -o OWN/x.safetensors"),
        &*format!("build {FACTS} --method hebbian --size 999999999999999 -o OWN/x.safetensors"),
        &*format!("build {FACTS} --method gadget_direct --size 5 -o OWN/x.safetensors"),
        &*format!("build {FACTS} --method gadget_jl --size 5 --precision half -o OWN/x.safetensors"),
        "build --keys OWN/keys.csv --values OWN/values.csv --method hebbian --size 3 -o OWN/x.safetensors",
        "build --keys OWN/equal.csv --values OWN/values.csv --facts OWN/map.csv --method gadget_direct --size 8 -o OWN/x.safetensors",
        "build --keys OWN/narrow.csv --values OWN/values.csv --facts OWN/map.csv --method hebbian --size 3 -o OWN/x.safetensors",
        "verify OWN/keys.csv --keys OWN/keys.csv --values OWN/values.csv --facts OWN/map.csv",
        "verify OWN/none.safetensors --keys OWN/keys.csv --values OWN/values.csv",
        "show OWN/map.csv",
    ] {
        assert_eq!(own.run(line).0, 2, "{line}");
        assert!(!Path::exists(&own.path("x.safetensors")), "{line}");
    }
}

#[test]
fn methods_are_listed_with_what_they_need() {
    let own = Own::new();
    let (code, text) = own.run("methods");
    assert_eq!(code, 0);
    assert!(text.contains("gadget_jl") && text.contains("needs") && text.contains("ρ(V) > 0"));
    let (_, list) = own.run("methods --json");
    assert_eq!(json(&list)["methods"].as_array().unwrap().len(), factsmith::methods::METHODS.len());
}
