#!/bin/sh
# Builds what the notebooks depend on the way the kernel would, so that no notebook ever compiles a dependency.
# The package written here is the one evcxr 0.22.0 writes (module.rs) for a notebook whose only dependency is lab, at
# the level of notebooks/evcxr.toml; a difference makes cargo build everything again in the first notebook.
set -eu
tools=.tools

# The kernel cannot run cells from a folder with a space in its path: then the folder goes elsewhere.
if [ ! -d "$tools/evcxr" ]; then
    rm -f "$tools/evcxr"
    case $(pwd -P) in
    *[[:space:]]*)
        elsewhere=${TMPDIR:-/tmp}/factsmith-notebooks-$(id -u)-$(pwd -P | cksum | cut -d ' ' -f 1)
        echo "[setup] the project's path has a space, so the kernel builds its cells in $elsewhere"
        mkdir -p "$elsewhere"
        ln -s "$elsewhere" "$tools/evcxr"
        ;;
    *) mkdir -p "$tools/evcxr" ;;
    esac
fi
build=$(cd "$tools/evcxr" && pwd -P)

echo '[setup] notebook dependencies, about 4 minutes on 2 cores the first time'
# The kernel looks at the packages of all platforms, and never asks the network.
cargo fetch --locked --quiet
# Where setup/mold finds it.
mkdir -p "$build/locked"
cp Cargo.lock "$build/locked/Cargo.lock"
cp Cargo.lock "$build/Cargo.lock"
mkdir -p "$build/src"
: >"$build/src/lib.rs"
cat >"$build/Cargo.toml" <<TOML

[package]
name = "ctx"
version = "1.0.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]
path = "src/lib.rs"

[profile.dev]
opt-level = 0
debug = false
strip = "debuginfo"
rpath = true
lto = false
debug-assertions = true
codegen-units = 16
panic = 'unwind'
incremental = true
overflow-checks = true

[dependencies]
lab = { path = "$(pwd -P)/notebooks/lab" }
TOML
RUSTC=$(rustup which rustc 2>/dev/null || command -v rustc)
RUSTFLAGS=-Cprefer-dynamic
host=$("$RUSTC" -vV | sed -n 's/^host: //p')
unset CARGO_ENCODED_RUSTFLAGS CARGO_INCREMENTAL
export RUSTC RUSTFLAGS CARGO_TARGET_DIR=target CARGO_BUILD_BUILD_DIR=target
cd "$build"
cargo build --offline --target "$host"
