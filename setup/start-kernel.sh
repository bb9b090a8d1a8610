#!/bin/sh
# Starts the Rust kernel with the dependencies that `make setup` built; Jupyter runs this from the kernel's folder in
# .tools/venv/share/jupyter/kernels/rust.
kernel=$(cd "$(dirname "$0")" && pwd)
tools=$(cd "$kernel/../../../../.." && pwd)
EVCXR_TMPDIR=$(cd "$tools/evcxr" && pwd -P)
# The kernel compares its version with the kernel registered here; without this it would look in the home folder.
JUPYTER_PATH=$tools/venv/share/jupyter
PATH=$kernel/path:$PATH
# Tables are shown whole.
POLARS_FMT_MAX_ROWS=60
export EVCXR_TMPDIR JUPYTER_PATH PATH POLARS_FMT_MAX_ROWS
exec "$tools/bin/evcxr_jupyter" "$@"
