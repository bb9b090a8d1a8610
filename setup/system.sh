#!/bin/sh
# Checks that the system has what a build needs, and installs what is missing where that is allowed.
set -eu

# Runs a command as root, or fails when that takes a password.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

may_install() {
    command -v apt-get >/dev/null || return 1
    [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

# need WHAT PACKAGE CHECK...: makes sure that CHECK succeeds, if need be by installing PACKAGE.
need() {
    what=$1 package=$2
    shift 2
    "$@" >/dev/null 2>&1 && return 0
    if may_install; then
        echo "[setup] installing $package ($what), about half a minute"
        as_root apt-get update -qq
        as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null
        "$@" >/dev/null 2>&1 && return 0
        echo "error: $what is still missing after installing $package" >&2
    else
        echo "error: $what is missing" >&2
        echo "  fix: sudo apt-get install $package   (or the package of that name on your system), then run make again" >&2
    fi
    exit 2
}

links_openblas() {
    scratch=$(mktemp -d)
    echo 'int main(void) { return 0; }' >"$scratch/main.c"
    status=0
    cc "$scratch/main.c" -o "$scratch/main" -lopenblas || status=1
    rm -r "$scratch"
    return $status
}

makes_venvs() {
    python3 -c 'import ensurepip, venv'
}

if ! command -v cargo >/dev/null; then
    echo "error: cargo is missing" >&2
    echo "  fix: install Rust 1.95 or newer with rustup, then run make again" >&2
    exit 2
fi
need 'a C compiler' build-essential command -v cc
need 'Python 3' python3 command -v python3
need "Python's venv" python3-venv makes_venvs
need pkg-config pkg-config command -v pkg-config
need OpenBLAS libopenblas-dev links_openblas
