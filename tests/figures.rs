//! The figures of the repository are those of the published results, byte for byte, on any machine.

use std::path::Path;
use std::process::Command;

/// The names of the files in `figures/` with an extension, without it.
fn figures(extension: &str) -> Vec<String> {
    let folder = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("figures")).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    let named = files.filter(|path| path.extension().is_some_and(|own| own == extension));
    let mut names: Vec<String> = named.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Draws figures of the published results of a profile, and compares them with those in a folder of the repository.
fn assert_drawn_again(names: &[String], profile: &str, kept: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_factsmith"))
        .arg("figures")
        .args(names)
        .args(["--profile", profile, "--results", "nowhere", "--out"])
        .arg(folder.path())
        .arg("--manifest")
        .arg(root.join("pipeline.toml"))
        .current_dir(folder.path())
        .env_clear()
        .envs([
            ("FONTCONFIG_FILE", "/nowhere"),
            ("HOME", "/nowhere"),
            ("LC_ALL", "tr_TR.UTF-8"),
            ("TZ", "Asia/Kathmandu"),
        ])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for file in names.iter().flat_map(|name| ["svg", "png"].map(|extension| format!("{name}.{extension}"))) {
        let [new, old] = [folder.path(), &root.join(kept)].map(|folder| std::fs::read(folder.join(&file)).unwrap());
        assert!(new == old, "{file} is not what is in {kept}/; `make figures` draws it again");
    }
}

#[test]
fn the_figures_of_the_repository_are_drawn_again_byte_for_byte_without_fonts_home_or_locale() {
    let names = figures("svg");
    assert!(names.len() >= 11 && names == figures("png"), "{names:?}");
    assert_drawn_again(&names, "laptop", "figures");
}

#[test]
fn the_figure_of_what_is_done_at_the_size_of_the_paper_is_that_of_its_results() {
    assert_drawn_again(&["fig3a".to_owned()], "paper", "published/paper");
}
