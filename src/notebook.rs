//! Executes a notebook without a browser, and fails when one of its cells did.
//!
//! The Rust kernel calls a cell that panicked, or left by `?`, a success: it writes the message to stderr and goes on.
//! So the executed notebook is searched for signs of failure afterwards, and stderr is one of them: a notebook that
//! works writes nothing to it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::durable;
use crate::error::{Error, Result};

/// What to execute, where, and with what.
#[derive(Debug, Clone)]
pub struct Execution {
    /// The notebook to execute; its folder is the working directory of the cells.
    pub notebook: PathBuf,
    /// Where the executed notebook goes; may be the notebook itself.
    pub output: PathBuf,
    /// The folder `.tools` that `make setup` fills.
    pub tools: PathBuf,
    /// Variables the cells see, for example `FACTSMITH_PROFILE`.
    pub environment: Vec<(String, String)>,
    /// The longest time a single cell may take.
    pub cell_limit: Duration,
}

/// An execution that went well.
#[derive(Debug, Clone, PartialEq)]
pub struct Executed {
    /// How many code cells ran.
    pub cells: usize,
    /// Whether the output differs from what was there; an unchanged file keeps its modification time.
    pub changed: bool,
    /// Wall time, start of the kernel and waiting for another notebook included.
    pub seconds: f64,
}

/// A cell that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Position among all cells of the notebook, prose included, from 1.
    pub cell: usize,
    /// The first line of the cell that isn't empty.
    pub first_line: String,
    /// What the kernel or the cell said.
    pub message: String,
}

/// What runs in the private Python environment.
const DRIVER: &str = include_str!("notebook.py");

/// The command that makes what is missing.
const SETUP: &str = "run `make setup`";

/// Executes a notebook and writes the result, whole or not at all.
///
/// When a cell fails, the output stays as it was; the executed notebook, with the failure in it, is kept beside it
/// as `NAME.failed.ipynb`, and the error names the cell.
pub fn execute(request: &Execution) -> Result<Executed> {
    let start = Instant::now();
    let source = read(&request.notebook)?;
    let tools = Tools::find(&request.tools)?;
    let scratch =
        tempfile::tempdir().map_err(|error| Error::io("create a folder in", &std::env::temp_dir(), &error))?;
    let run = {
        let _alone = tools.lock()?;
        tools.run(request, scratch.path())?
    };
    if !run.status.success() {
        return Err(broken_off(request, &source, &run));
    }
    let mut executed = read(&scratch.path().join("executed.ipynb"))?;
    tidy(&mut executed, &tools.project());
    let kept = failed_beside(&request.output);
    if let Some(fault) = first_fault(&executed) {
        durable::replace_text(&kept, &text(&executed))?;
        return Err(fault.error(&request.notebook).fix(format!("see the executed notebook, '{}'", kept.display())));
    }
    let changed = durable::replace_text(&request.output, &text(&executed))?;
    durable::remove(&kept)?;
    Ok(Executed { cells: code_cells(&executed).count(), changed, seconds: start.elapsed().as_secs_f64() })
}

/// The first cell of an executed notebook that failed.
pub fn first_fault(notebook: &Value) -> Option<Fault> {
    code_cells(notebook).find_map(|(number, cell)| {
        fault_message(cell).map(|message| Fault { cell: number, first_line: first_line(cell), message })
    })
}

impl Fault {
    fn error(&self, notebook: &Path) -> Error {
        Error::failure(format!("a notebook cell failed: {}", self.message)).at(place(
            notebook,
            self.cell,
            &self.first_line,
        ))
    }
}

fn place(notebook: &Path, cell: usize, first_line: &str) -> String {
    format!("{}, cell {cell}: `{first_line}`", notebook.display())
}

/// What a cell says about its failure: its stderr if there is any, else the error the kernel reported.
fn fault_message(cell: &Value) -> Option<String> {
    let outputs = cell["outputs"].as_array()?;
    let stderr: String =
        outputs.iter().filter(|output| output["name"] == "stderr").map(|output| joined(&output["text"])).collect();
    if !stderr.trim().is_empty() {
        return Some(plain(stderr.trim()));
    }
    let error = outputs.iter().find(|output| output["output_type"] == "error")?;
    let said: Vec<String> = [&error["ename"], &error["evalue"], &error["traceback"]]
        .into_iter()
        .map(|part| plain(joined(part).trim()))
        .filter(|part| !part.is_empty())
        .collect();
    Some(if said.is_empty() { "an error without a message".to_owned() } else { said.join("\n") })
}

/// The code cells with their position among all cells, from 1.
fn code_cells(notebook: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let cells = notebook["cells"].as_array().map_or(&[][..], Vec::as_slice);
    cells.iter().enumerate().filter(|(_, cell)| cell["cell_type"] == "code").map(|(index, cell)| (index + 1, cell))
}

fn first_line(cell: &Value) -> String {
    let source = joined(&cell["source"]);
    source.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Notebooks keep a text as one string or as a list of lines.
fn joined(text: &Value) -> String {
    match text {
        Value::String(whole) => whole.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// Text without the escape sequences that colour it in a terminal.
fn plain(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    out
}

/// Takes out what differs between two equal executions: times, and where the project lies.
fn tidy(notebook: &mut Value, project: &str) {
    for cell in notebook["cells"].as_array_mut().into_iter().flatten() {
        if let Some(metadata) = cell.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("execution");
        }
        if let Some(outputs) = cell.get_mut("outputs") {
            replace_in_strings(outputs, project, ".");
        }
    }
}

fn replace_in_strings(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text.contains(from) => *text = text.replace(from, to),
        Value::Array(items) => items.iter_mut().for_each(|item| replace_in_strings(item, from, to)),
        Value::Object(items) => items.values_mut().for_each(|item| replace_in_strings(item, from, to)),
        _ => {}
    }
}

/// The notebook as Jupyter writes it: indented by one, keys in order, a newline at the end.
fn text(notebook: &Value) -> String {
    let mut bytes = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, format);
    serde::Serialize::serialize(notebook, &mut serializer).expect("a JSON value can be written to memory");
    let mut text = String::from_utf8(bytes).expect("serde_json writes UTF-8");
    text.push('\n');
    text
}

fn read(path: &Path) -> Result<Value> {
    let bytes = fs::read(path).map_err(|error| Error::io("read the notebook", path, &error))?;
    let notebook: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Error::input(format!("'{}' is not a notebook: {error}", path.display())))?;
    match notebook["cells"] {
        Value::Array(_) => Ok(notebook),
        _ => Err(Error::input(format!("'{}' is not a notebook: it has no cells", path.display()))),
    }
}

fn failed_beside(output: &Path) -> PathBuf {
    output.with_extension("failed.ipynb")
}

/// What a driver that gave up says: no kernel, a dead one, or a cell that took too long.
fn broken_off(request: &Execution, source: &Value, run: &Output) -> Error {
    let log = String::from_utf8_lossy(&run.stderr);
    let last = log.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    let report: Value = serde_json::from_str(last).unwrap_or_default();
    let position = report["cell"].as_u64().map(|index| index as usize + 1);
    let whence = match code_cells(source).find(|(number, _)| Some(*number) == position) {
        Some((number, cell)) => place(&request.notebook, number, &first_line(cell)),
        None => request.notebook.display().to_string(),
    };
    let error = match report["kind"].as_str() {
        Some("NoSuchKernel") => Error::input("the Rust notebook kernel is not registered").fix(SETUP),
        Some("CellTimeoutError") => {
            Error::failure(format!("a notebook cell took longer than {} s", request.cell_limit.as_secs()))
        }
        Some("DeadKernelError") => Error::failure("the notebook kernel died"),
        _ => Error::failure(format!("the notebook could not be executed: {}", report["said"].as_str().unwrap_or(last))),
    };
    error.at(whence)
}

/// The parts of `.tools` that an execution needs.
struct Tools {
    folder: PathBuf,
    python: PathBuf,
    /// The folder the kernel builds cells in; setup/start-kernel.sh tells the kernel the same one.
    build: PathBuf,
}

impl Tools {
    fn find(folder: &Path) -> Result<Self> {
        let missing = |what: &str| Error::input(format!("{what} is missing")).at(folder.display()).fix(SETUP);
        let folder_there = folder.canonicalize().map_err(|_| missing("the folder of the notebook tools"))?;
        let python = folder_there.join("venv/bin/python");
        if !python.exists() {
            return Err(missing("the private Python environment"));
        }
        if !folder_there.join("venv/share/jupyter/kernels/rust/kernel.json").exists() {
            return Err(missing("the Rust notebook kernel"));
        }
        let build = folder_there.join("evcxr").canonicalize().map_err(|_| missing("the build folder of the kernel"))?;
        if build.to_string_lossy().contains(char::is_whitespace) {
            let why = "the build folder of the notebook kernel has a space in its path, which the kernel cannot take";
            return Err(Error::input(why).at(build.display()).fix("delete it, then run `make setup`"));
        }
        Ok(Self { folder: folder_there, python, build })
    }

    /// The folder the tools lie in, as it may appear in messages of the compiler.
    fn project(&self) -> String {
        self.folder.parent().unwrap_or(&self.folder).display().to_string()
    }

    /// Waits until no other notebook is running: two kernels would write the same source file in the build folder.
    fn lock(&self) -> Result<File> {
        let path = self.build.join("in-use.lock");
        let failed = |error: std::io::Error| Error::io("lock", &path, &error);
        let file = File::create(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(file)
    }

    /// Runs the driver, which leaves `executed.ipynb` in `scratch`.
    fn run(&self, request: &Execution, scratch: &Path) -> Result<Output> {
        let mut command = Command::new(&self.python);
        command
            .args(["-c", DRIVER])
            .arg(&request.notebook)
            .arg(scratch.join("executed.ipynb"))
            .arg(request.cell_limit.as_secs().max(1).to_string())
            .stdin(std::process::Stdio::null())
            .env("JUPYTER_PATH", self.folder.join("venv/share/jupyter"));
        for (variable, folder) in
            [("JUPYTER_CONFIG_DIR", "config"), ("JUPYTER_DATA_DIR", "data"), ("JUPYTER_RUNTIME_DIR", "runtime")]
        {
            command.env(variable, scratch.join(folder));
        }
        for variable in
            std::env::vars_os().map(|(variable, _)| variable).filter(|name| changes_builds(&name.to_string_lossy()))
        {
            command.env_remove(variable);
        }
        if let Some(folders) = std::env::var_os("LD_LIBRARY_PATH") {
            command.env("LD_LIBRARY_PATH", without_other_labs(&folders));
        }
        command.envs(request.environment.iter().map(|(name, value)| (name, value)));
        command.output().map_err(|error| Error::io("run", &self.python, &error))
    }
}

/// The folders to look for shared libraries in, without those where cargo put a `lab` of another build: `cargo test`
/// and `cargo run` name the build folder here, and a cell that loads the wrong library fails.
fn without_other_labs(folders: &OsStr) -> OsString {
    let kept = std::env::split_paths(folders).filter(|folder| !folder.join("liblab.so").exists());
    std::env::join_paths(kept).expect("parts of a list of paths make such a list")
}

/// Whether cargo would build the dependencies of a notebook anew because of this variable.
fn changes_builds(variable: &str) -> bool {
    let exact =
        ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_INCREMENTAL", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"];
    let families = ["CARGO_PROFILE_", "CARGO_BUILD_", "CARGO_PKG_", "CARGO_BIN_"];
    exact.contains(&variable) || families.iter().any(|family| variable.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A notebook of a prose cell and one code cell with these outputs.
    fn executed(outputs: Value) -> Value {
        json!({"cells": [
            {"cell_type": "markdown", "source": ["panicked at the disco"]},
            {"cell_type": "code", "source": ["\n", "let a = 1;\n", "a / 0"], "metadata": {}, "outputs": outputs},
        ]})
    }

    fn stream(name: &str, text: &str) -> Value {
        json!({"output_type": "stream", "name": name, "text": [text]})
    }

    #[test]
    fn a_clean_notebook_has_no_fault() {
        let shown = json!({"output_type": "execute_result", "data": {"text/plain": ["error: panicked at"]}});
        assert_eq!(first_fault(&executed(json!([stream("stdout", "error: panicked at"), shown]))), None);
        assert_eq!(first_fault(&executed(json!([stream("stderr", "\n")]))), None);
        assert_eq!(first_fault(&json!({"cells": []})), None);
    }

    #[test]
    fn a_panic_on_stderr_is_a_fault_of_its_cell() {
        let fault =
            first_fault(&executed(json!([stream("stderr", "thread panicked at src/lib.rs:9:5:\nboom\n")]))).unwrap();
        assert_eq!(fault.cell, 2);
        assert_eq!(fault.first_line, "let a = 1;");
        assert_eq!(fault.message, "thread panicked at src/lib.rs:9:5:\nboom");
    }

    #[test]
    fn the_error_of_a_question_mark_is_a_fault_whatever_its_text() {
        let fault = first_fault(&executed(json!([stream("stderr", "ParseIntError { kind: Empty }\n")]))).unwrap();
        assert_eq!(fault.message, "ParseIntError { kind: Empty }");
    }

    #[test]
    fn a_compile_error_is_a_fault_without_its_colours() {
        let error = json!({"output_type": "error", "ename": "Error", "evalue": "mismatched types",
            "traceback": ["\u{1b}[31m[E0308] Error:\u{1b}[0m mismatched types"]});
        let fault = first_fault(&executed(json!([error]))).unwrap();
        assert_eq!(fault.message, "Error\nmismatched types\n[E0308] Error: mismatched types");
    }

    #[test]
    fn a_dead_process_is_explained_by_its_last_words() {
        let death =
            json!({"output_type": "error", "ename": "Error", "evalue": "Subprocess terminated", "traceback": []});
        let both = executed(json!([death, stream("stderr", "no such column 'rho'")]));
        assert_eq!(first_fault(&both).unwrap().message, "no such column 'rho'");
        assert_eq!(first_fault(&executed(json!([death]))).unwrap().message, "Error\nSubprocess terminated");
    }

    #[test]
    fn an_error_names_notebook_and_cell() {
        let fault = first_fault(&executed(json!([stream("stderr", "boom")]))).unwrap();
        let error = fault.error(Path::new("notebooks/01.ipynb"));
        assert_eq!(
            error.to_string(),
            "a notebook cell failed: boom\n  where: notebooks/01.ipynb, cell 2: `let a = 1;`"
        );
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn times_and_places_are_taken_out() {
        let mut notebook = executed(json!([stream("stdout", "read /home/me/project/results/a.parquet")]));
        notebook["cells"][1]["metadata"]["execution"] = json!({"iopub.execute_input": "2026-01-01T00:00:00Z"});
        tidy(&mut notebook, "/home/me/project");
        assert_eq!(notebook, executed(json!([stream("stdout", "read ./results/a.parquet")])));
    }

    #[test]
    fn what_is_missing_is_said_with_the_command_that_makes_it() {
        let folder = tempfile::tempdir().unwrap();
        let notebook = folder.path().join("a.ipynb");
        fs::write(&notebook, executed(json!([])).to_string()).unwrap();
        let request = Execution {
            output: notebook.clone(),
            notebook,
            tools: folder.path().join(".tools"),
            environment: vec![],
            cell_limit: Duration::from_secs(1),
        };
        let error = execute(&request).unwrap_err();
        assert!(error.to_string().contains("make setup"), "{error}");
        assert_eq!(error.exit_code(), 2);
        fs::create_dir(&request.tools).unwrap();
        let error = execute(&request).unwrap_err();
        assert!(error.to_string().contains("Python environment is missing"), "{error}");
    }

    #[test]
    fn a_lab_of_another_build_is_not_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let [own, other] = ["own", "other"].map(|name| folder.path().join(name));
        fs::create_dir(&own).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(other.join("liblab.so"), "").unwrap();
        let both = std::env::join_paths([&other, &own]).unwrap();
        assert_eq!(without_other_labs(&both), own.into_os_string());
    }

    #[test]
    fn a_file_that_is_no_notebook_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ipynb");
        for content in ["", "{}", "[1, 2]"] {
            fs::write(&path, content).unwrap();
            assert!(read(&path).unwrap_err().to_string().contains("is not a notebook"));
        }
    }

    #[test]
    fn the_cell_of_a_dead_kernel_is_named() {
        use std::os::unix::process::ExitStatusExt;
        let log = "Traceback\n{\"kind\": \"DeadKernelError\", \"said\": \"Kernel died\", \"cell\": 1}\n";
        let run = Output { status: ExitStatusExt::from_raw(256), stdout: vec![], stderr: log.into() };
        let request = Execution {
            notebook: "n.ipynb".into(),
            output: "n.ipynb".into(),
            tools: ".tools".into(),
            environment: vec![],
            cell_limit: Duration::from_secs(1),
        };
        let error = broken_off(&request, &executed(json!([])), &run);
        assert_eq!(error.to_string(), "the notebook kernel died\n  where: n.ipynb, cell 2: `let a = 1;`");
    }

    /// Tools whose Python notes when it begins and ends, and leaves the notebook `$RESULT` as the executed one.
    fn stand_in(folder: &Path, result: &Value) -> Execution {
        use std::os::unix::fs::PermissionsExt;
        let tools = folder.join(".tools");
        for below in ["venv/bin", "venv/share/jupyter/kernels/rust", "evcxr"] {
            fs::create_dir_all(tools.join(below)).unwrap();
        }
        fs::write(tools.join("venv/share/jupyter/kernels/rust/kernel.json"), "{}").unwrap();
        let script = "#!/bin/sh\necho begin >> \"$LOG\"; sleep 0.1; cp \"$RESULT\" \"$4\"; echo end >> \"$LOG\"\n";
        let python = tools.join("venv/bin/python");
        fs::write(&python, script).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let [notebook, executed] = ["a.ipynb", "executed"].map(|name| folder.join(name));
        fs::write(&notebook, self::executed(json!([])).to_string()).unwrap();
        fs::write(&executed, result.to_string()).unwrap();
        let variable = |name: &str, path: PathBuf| (name.to_owned(), path.display().to_string());
        Execution {
            notebook,
            output: folder.join("out.ipynb"),
            tools,
            environment: vec![variable("LOG", folder.join("log")), variable("RESULT", executed)],
            cell_limit: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_failed_notebook_is_kept_for_reading_until_one_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let failed = executed(json!([stream("stdout", "so far"), stream("stderr", "thread 'main' panicked at a.rs")]));
        let error = execute(&stand_in(folder.path(), &failed)).unwrap_err().to_string();
        let kept = folder.path().join("out.failed.ipynb");
        assert!(error.contains(&format!("fix: see the executed notebook, '{}'", kept.display())), "{error}");
        assert!(fs::read_to_string(&kept).unwrap().contains("so far"));
        assert!(!folder.path().join("out.ipynb").exists());
        execute(&stand_in(folder.path(), &executed(json!([])))).unwrap();
        assert!(folder.path().join("out.ipynb").exists() && !kept.exists());
    }

    #[test]
    fn two_notebooks_at_once_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let request = stand_in(folder.path(), &executed(json!([])));
        std::thread::scope(|scope| {
            let runs = [(), ()].map(|()| scope.spawn(|| execute(&request)));
            for run in runs {
                assert_eq!(run.join().unwrap().unwrap().cells, 1);
            }
        });
        assert_eq!(fs::read_to_string(folder.path().join("log")).unwrap(), "begin\nend\nbegin\nend\n");
    }
}
