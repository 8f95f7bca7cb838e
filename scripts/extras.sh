#!/bin/sh
# Makes environments with qmd as `pip install .` installs it, for the tests of what happens without extras.
#   sh scripts/extras.sh FOLDER [NAME...]
# FOLDER/core has qmd and what it needs. FOLDER/NAME sees the same, and what is installed there stays there.
set -eu
cd "$(dirname "$0")/.."
folder="$1"
shift
core="$folder/core"
if [ ! -f "$core/complete" ]; then
  rm -rf "$core"
  "${PYTHON:-python3}" -m venv "$core"
  "$core/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile . >&2
  touch "$core/complete"
fi
site="$("$core/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
for name in "$@"; do
  rm -rf "${folder:?}/$name"
  "$core/bin/python" -m venv --without-pip "$folder/$name"
  echo "import site; site.addsitedir('$site')" >"$(echo "$folder/$name"/lib/python*/site-packages)/core.pth"
done
