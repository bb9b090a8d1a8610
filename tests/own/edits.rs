//! `edit`: what it promises, and what it refuses.

use super::folder::{FACTS, Own, json};

/// A folder with an MLP `mlp.safetensors` of 44 features for its 40 facts, and new values for keys 3 and 17.
fn edited() -> Own {
    let own = Own::new();
    let (code, text) = own.run(&format!("build {FACTS} --method hebbian_whitened --size 44 -o OWN/mlp.safetensors"));
    assert_eq!(code, 0, "{text}");
    own.write("new.csv", "3,20\n17,2\n");
    let changed = |key: usize| match key {
        3 => 20,
        17 => 2,
        _ => key % 25,
    };
    own.write("map after.csv", &(0..40).map(|key| format!("{key},{}\n", changed(key))).collect::<String>());
    own
}

const EDIT: &str =
    "edit OWN/mlp.safetensors --keys OWN/keys.csv --values OWN/values.csv --facts OWN/map.csv --set OWN/new.csv";

/// Facts that `verify` finds stored, of the map after the edit.
fn stored_after(own: &Own, file: &str) -> u64 {
    std::fs::rename(own.path("map after.csv"), own.path("after.csv")).unwrap_or_default();
    let tables = "--keys OWN/keys.csv --values OWN/values.csv --facts OWN/after.csv";
    json(&own.run(&format!("verify OWN/{file} {tables} --json")).1)["stored"].as_u64().unwrap()
}

#[test]
fn a_rebuilt_mlp_stores_every_fact_and_says_how_it_was_made() {
    let own = edited();
    let before = std::fs::read(own.path("mlp.safetensors")).unwrap();
    let (code, text) = own.run(&format!("{EDIT} -o OWN/new.safetensors --json"));
    let report = json(&text);
    assert_eq!((code, &report["altered_stored"], &report["others_stored"]), (0, &2.into(), &38.into()));
    assert_eq!((&report["altered_stored_before"], &report["lost"]), (&0.into(), &serde_json::json!([])));
    assert_eq!(stored_after(&own, "new.safetensors"), 40);
    assert_eq!(std::fs::read(own.path("mlp.safetensors")).unwrap(), before, "the source stays");
    let again =
        "build --keys OWN/keys.csv --values OWN/values.csv --facts OWN/after.csv --method hebbian_whitened --size 44";
    own.run(&format!("{again} -o OWN/again.safetensors"));
    let bytes = |name: &str| std::fs::read(own.path(name)).unwrap();
    assert_eq!(bytes("again.safetensors"), bytes("new.safetensors"), "what build makes for the new facts");
}

/// The facts that stay are taken from `--facts`: a file that is not about the MLP would undo what it stores.
#[test]
fn a_map_that_the_mlp_does_not_store_is_refused_and_earlier_edits_are_named() {
    let own = edited();
    own.write("other.csv", &(0..40).map(|key| format!("{key},{}\n", (key + 1) % 25)).collect::<String>());
    let error = own.complaint(&format!("{} -o OWN/mlp.safetensors", EDIT.replace("map.csv", "other.csv")));
    assert!(error.contains("does not store 40 of 40 facts") && error.contains("--facts"), "{error}");
    let (code, _) = own.run(&format!("{EDIT} -o OWN/new.safetensors"));
    assert_eq!(code, 0);
    own.write("later.csv", "5,9\n");
    let later = EDIT.replace("mlp.safetensors", "new.safetensors").replace("new.csv", "later.csv");
    let output = own.process(&format!("{later} -o OWN/later.safetensors"));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("warning: the MLP does not store 2 of 40 facts"), "{told}");
}

#[test]
fn a_size_that_is_too_small_for_the_new_facts_gives_way_to_the_smallest() {
    let own = edited();
    let (code, _) = own.run(&format!("build {FACTS} --method hebbian_whitened --size 8 -o OWN/mlp.safetensors"));
    assert_eq!(code, 1);
    let (code, text) = own.run(&format!("{EDIT} -o OWN/new.safetensors --json"));
    let report = json(&text);
    assert_eq!((code, &report["altered_stored"], &report["others_stored"]), (0, &2.into(), &38.into()));
    assert!(report["hidden"].as_u64().unwrap() > 8);
}

#[test]
fn edits_in_place_keep_the_shape_and_the_report_is_what_verify_finds() {
    for method in ["memit", "rome", "alpha_edit"] {
        let own = edited();
        if method == "rome" {
            // More facts that stay than hidden units.
            own.run(&format!("build {FACTS} --method hebbian_fitted --size 20 -o OWN/mlp.safetensors"));
        }
        let (_, text) = own.run(&format!("{EDIT} --method {method} -o OWN/new.safetensors --json"));
        let report = json(&text);
        let number = |name: &str| report[name].as_u64().unwrap();
        assert_eq!(number("altered_stored"), 2, "{method}");
        assert_eq!(
            number("altered_stored") + number("others_stored"),
            stored_after(&own, "new.safetensors"),
            "{method}"
        );
        let lost = report["lost"].as_array().unwrap().len() as u64;
        assert!(number("others_stored") + lost >= number("others_stored_before"), "{method}");
        let shown = |file: &str| json(&own.run(&format!("show OWN/{file} --json")).1);
        let (old, new) = (shown("mlp.safetensors"), shown("new.safetensors"));
        assert_eq!(old["parameters"], new["parameters"]);
        assert_eq!((&new["made"]["edit"], &new["made"]["edited"]), (&method.into(), &old["made"]));
    }
}

#[test]
fn what_was_edited_in_place_can_be_built_again() {
    let own = edited();
    own.run(&format!("{EDIT} --method memit -o OWN/new.safetensors"));
    own.write("newer.csv", "5,1\n");
    std::fs::rename(own.path("map after.csv"), own.path("after.csv")).unwrap();
    let (code, text) = own.run(
        "edit OWN/new.safetensors --keys OWN/keys.csv --values OWN/values.csv --facts OWN/after.csv --set OWN/newer.csv -o OWN/newer.safetensors --json",
    );
    assert_eq!((code, &json(&text)["altered_stored"]), (0, &1.into()));
}

#[test]
fn a_clipped_edit_sets_less_and_names_the_facts_it_misses() {
    let own = edited();
    let (code, text) = own.run(&format!("{EDIT} --method memit --clip 0.01 -o OWN/new.safetensors"));
    assert_eq!(code, 1);
    assert!(text.contains("0 of 2 altered facts stored") && text.contains("not set  margin"), "{text}");
    assert!(text.contains("3 → 20"), "{text}");
}

#[test]
fn the_source_is_replaced_only_when_it_is_named_as_the_output() {
    let own = edited();
    let (code, _) = own.run(&format!("{EDIT} -o OWN/mlp.safetensors"));
    assert_eq!((code, stored_after(&own, "mlp.safetensors")), (0, 40));
}

#[test]
fn names_are_those_of_the_set_and_of_the_report() {
    let own = edited();
    own.write("value names.txt", &(0..25).map(|value| format!("value {value}\n")).collect::<String>());
    std::fs::rename(own.path("value names.txt"), own.path("values.txt")).unwrap();
    own.write("map.csv", &(0..40).map(|key| format!("key {key},value {}\n", key % 25)).collect::<String>());
    own.write("new.csv", "key,value\nkey 3,value 20\n");
    let names = "--key-names OWN/names.txt --value-names OWN/values.txt";
    let (_, text) = own.run(&format!("{EDIT} {names} --method memit --clip 0.01 -o OWN/new.safetensors"));
    assert!(text.contains("'key 3' → 'value 20'"), "{text}");
    own.write("new.csv", "key,value\nkey 3,value 20\nkay 4,value 20\n");
    let error = own.complaint(&format!("{EDIT} {names} -o OWN/new.safetensors"));
    assert!(
        error.contains("unknown name 'kay 4'") && error.contains("line 3") && error.contains("did you mean"),
        "{error}"
    );
}

#[test]
fn edits_that_make_no_sense_are_refused_and_leave_no_file() {
    let own = edited();
    let refused = |new: &str, options: &str, wanted: &str| {
        own.write("new.csv", new);
        let error = own.complaint(&format!("{EDIT} {options} -o OWN/x.safetensors"));
        assert!(error.contains(wanted), "{error}");
        assert!(!own.path("x.safetensors").exists());
    };
    refused("3,3\n", "", "nothing would change: 1 fact is already so");
    refused("3,3\n4,4\n", "", "2 facts are already so");
    refused("3,99\n", "", "there is no value 99");
    refused("41,2\n", "", "there is no key 41");
    refused("3,20\n3,21\n", "", "key 3 has value 20 in line 1 and 21 here");
    refused("3,20\n", "--method memitt", "did you mean 'memit'");
    refused("3,20\n", "--method rome --lambda 3", "--lambda does nothing with --method rome");
    refused("3,20\n", "--clip 3", "--clip does nothing with --method rebuild");
    refused("3,20\n", "--method memit --clip -3", "--clip -3");
    refused("3,20\n", "--method memit --lambda -1", "lambda is -1");
    refused("3,20\n", "--method alpha_edit --tolerance 0", "tolerance is 0");
    refused("3,20\n", "--method rome", "rank");
    own.write("map.csv", "0,0\n1,1\n");
    refused("3,20\n", "", "key 3 has no fact to change");
}

#[test]
fn an_mlp_that_does_not_say_how_it_was_built_is_not_rebuilt() {
    let own = edited();
    let path = own.path("mlp.safetensors");
    let (mlp, _) = factsmith::mlp::saved::read(&path).unwrap();
    factsmith::mlp::saved::write(&path, &mlp, factsmith::mlp::saved::Precision::Double, &serde_json::Value::Null)
        .unwrap();
    assert!(own.complaint(&format!("{EDIT} -o OWN/x.safetensors")).contains("does not tell how the MLP was built"));
    assert_ne!(own.run(&format!("{EDIT} --method memit -o OWN/x.safetensors")).0, 2);
}
