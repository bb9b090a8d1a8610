#!/bin/sh
# Builds what the notebooks depend on the way the kernel would, so that no notebook ever compiles a dependency.
# The variables are the profile of evcxr 0.22.0 (module.rs and eval_context.rs) at the level of notebooks/evcxr.toml:
# one that differs makes cargo build everything again in the first notebook.
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
rm -f "$build/Cargo.lock"
RUSTC=$(rustup which rustc 2>/dev/null || command -v rustc)
RUSTFLAGS=-Cprefer-dynamic
host=$("$RUSTC" -vV | sed -n 's/^host: //p')
unset CARGO_ENCODED_RUSTFLAGS CARGO_INCREMENTAL
export RUSTC RUSTFLAGS
export CARGO_TARGET_DIR="$build/target"
export CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_STRIP=debuginfo
export CARGO_PROFILE_DEV_RPATH=true CARGO_PROFILE_DEV_CODEGEN_UNITS=16 CARGO_PROFILE_DEV_INCREMENTAL=true
cargo build --locked --target "$host" --package lab
