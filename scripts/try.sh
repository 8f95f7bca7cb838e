#!/bin/sh
# Installs qmd into .venv and searches the sample notes: by keyword, by meaning, and by both.
# The index is a file of its own under .venv; nothing outside this folder is written but the prepared model.
set -eu
cd "$(dirname "$0")/.."
venv="${QMD_VENV:-.venv}"
if [ ! -x "$venv/bin/python" ]; then
  echo "Making the environment $venv ..."
  "${PYTHON:-python3}" -m venv "$venv"
fi
echo "Installing qmd and what it needs into $venv (a minute or two at first) ..."
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable .
rm -rf "$venv/try"
export QMD_INDEX_PATH="$PWD/$venv/try/index.sqlite" QMD_CONFIG_DIR="$PWD/$venv/try"
mkdir -p "$venv/try"
run() {
  echo
  echo "\$ $1"
  eval "\"\$venv/bin/\"$1"
}
run 'qmd collection add examples/notes --name notes'
run 'qmd embed'
run 'qmd search "restore backup" -n 2'
run 'qmd vsearch "how do I get into my account again" -n 1'
run 'qmd query "数据丢了怎么恢复" -n 2'
echo
echo "Next: install the program, and add a folder of your own (docs/tutorial.md shows more):"
echo "  uv tool install '.[web]'     # or: pip install '.[web]'"
echo "  qmd add ~/notes"
