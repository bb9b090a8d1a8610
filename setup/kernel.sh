#!/bin/sh
# Builds the Rust notebook kernel into .tools/bin. Nothing outside the project is written, cargo's cache apart.
set -eu
version=0.22.0

echo "[setup] Rust notebook kernel (evcxr_jupyter $version), about 7 minutes on 2 cores"
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS
CARGO_TARGET_DIR="$PWD/.tools/kernel-build" \
    cargo install evcxr_jupyter --locked --version "$version" --root .tools
rm -rf .tools/kernel-build
