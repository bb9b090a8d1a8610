//! The `factsmith` program; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    factsmith::memory::keep_freed();
    ExitCode::from(factsmith::cli::main(&factsmith::paper::experiments()))
}
