#!/bin/sh
# Installs the programs of tests/neighbours next to qmd, and prints the Python that has both.
# PYTHON is one of a virtual environment with qmd. Only what it lacks is installed, into a folder of that environment
# that it does not see itself, so tests of everything else run without these packages.
set -eu
packages="llm>=0.26 llm-echo>=0.3 langchain-core>=1 llama-index-core>=0.14"
python="${PYTHON:-$(dirname "$0")/../.venv/bin/python}"
folder="$("$python" -c 'import sys; print(sys.prefix)')/neighbours"
if [ "$(cat "$folder/packages" 2>/dev/null || true)" != "$packages" ]; then
  rm -rf "$folder"
  "$python" -m venv --without-pip "$folder"
  site="$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  echo "import site; site.addsitedir('$site')" >"$(echo "$folder"/lib/python*/site-packages)/qmd.pth"
  # shellcheck disable=SC2086 # one word each
  "$python" -m pip --python "$folder/bin/python" --quiet --disable-pip-version-check install --no-compile $packages >&2
  echo "$packages" >"$folder/packages"
fi
echo "$folder/bin/python"
