//! The command line with the toy experiment, in a process of its own: this test program, told to run one test.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use factsmith::pipeline::experiment::Experiment;

use super::reader::READER;
use super::toy::TOY;

/// Not a test of its own: the part that runs in the other process.
#[test]
fn child_process() {
    let Some(arguments) = std::env::var_os("FACTSMITH_TEST_ARGUMENTS") else { return };
    let experiments: [&dyn Experiment; 2] = [&TOY, &READER];
    let words: Vec<OsString> = arguments.to_string_lossy().split('\n').map(OsString::from).collect();
    let mut out = std::fs::File::create(std::env::var_os("FACTSMITH_TEST_OUT").unwrap()).unwrap();
    std::process::exit(i32::from(factsmith::cli::run(words, &experiments, &mut out)));
}

pub struct Output {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

pub struct Running {
    child: Child,
    out: tempfile::NamedTempFile,
}

impl Running {
    /// Sends a signal, named as `kill` names it.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    pub fn wait(self) -> Output {
        let output = self.child.wait_with_output().unwrap();
        Output {
            code: output.status.code(),
            out: std::fs::read_to_string(self.out.path()).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub fn start(folder: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.envs(environment.iter().copied());
    spawn(command, folder, arguments)
}

/// The same in a shell whose children may write no file of more than `blocks` × 512 bytes.
pub fn start_limited(folder: &Path, arguments: &[&str], blocks: usize) -> Running {
    let mut command = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(std::env::current_exe().unwrap());
    spawn(command, folder, arguments)
}

fn spawn(mut command: Command, folder: &Path, arguments: &[&str]) -> Running {
    let words = [&["factsmith", "--profile", "smoke"], arguments].concat().join("\n");
    let out = tempfile::NamedTempFile::new().unwrap();
    let child = command
        .args(["--exact", "child::child_process", "--nocapture"])
        .current_dir(folder)
        .env("FACTSMITH_TEST_ARGUMENTS", words)
        .env("FACTSMITH_TEST_OUT", out.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Running { child, out }
}

/// Runs `factsmith --profile smoke ARGUMENTS` in `folder`.
pub fn factsmith(folder: &Path, arguments: &[&str]) -> Output {
    start(folder, arguments, &[]).wait()
}
