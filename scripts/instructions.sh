#!/bin/sh
# Counts the instructions that the work of qmd takes, and fails if they are more than bench/instructions.json allows.
# Options go to bench/instructions.py: --write sets the numbers. Without valgrind it says so and passes.
set -eu
cd "$(dirname "$0")/.."
sh scripts/packages.sh
exec "${QMD_VENV:-.venv}/bin/python" bench/instructions.py --budget "$@"
