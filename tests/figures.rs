//! The figures of the repository are those of the published results, byte for byte, on any machine.

use std::path::Path;
use std::process::Command;

#[test]
fn the_figures_of_the_repository_are_drawn_again_byte_for_byte_without_fonts_home_or_locale() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_factsmith"))
        .args(["figures", "--profile", "laptop", "--results", "nowhere", "--out"])
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
    let mut drawn: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    drawn.sort();
    assert!(drawn.len() >= 22, "{drawn:?}");
    for name in drawn {
        let [new, old] =
            [folder.path(), &root.join("figures")].map(|folder| std::fs::read(folder.join(&name)).unwrap());
        assert!(new == old, "{name:?} is not what is in figures/; `make figures` draws it again");
    }
}
