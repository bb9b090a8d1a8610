#!/bin/sh
# Makes the private Python environment that executes notebooks.
set -eu
requirements=notebooks/requirements.txt
venv=.tools/venv

echo '[setup] Python environment for the notebooks, about half a minute'
rm -rf "$venv"
python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --requirement "$requirements"
