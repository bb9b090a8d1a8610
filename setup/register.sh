#!/bin/sh
# Registers the kernel inside the private Python environment, in a way that survives moving the project.
set -eu
jupyter=.tools/venv/share/jupyter
kernel=$jupyter/kernels/rust

JUPYTER_PATH="$PWD/$jupyter" .tools/bin/evcxr_jupyter --install >/dev/null
cp setup/start-kernel.sh "$kernel/start.sh"
mkdir -p "$kernel/path"
cp setup/mold "$kernel/path/mold"
cat >"$kernel/kernel.json.new" <<'JSON'
{
  "argv": ["/bin/sh", "{resource_dir}/start.sh", "--control_file", "{connection_file}"],
  "display_name": "Rust",
  "language": "rust",
  "interrupt_mode": "message"
}
JSON
mv "$kernel/kernel.json.new" "$kernel/kernel.json"
