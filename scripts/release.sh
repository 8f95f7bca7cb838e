#!/bin/sh
# Makes and checks everything of a release but its upload, in dist/. See tools/release.py.
#   sh scripts/release.sh            fails if something is not ready
#   sh scripts/release.sh --draft    says so only; other options go to tools/release.py
# QMD_VENV is the environment of scripts/test.sh. The programs of the dependency group `release` get one of their own.
set -eu
cd "$(dirname "$0")/.."
venv="${QMD_VENV:-.venv}"
tools="$venv/release"
if [ ! -x "$venv/bin/python" ]; then
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
fi
if ! cmp -s pyproject.toml "$tools/pyproject.toml"; then
  "$venv/bin/python" -m venv "$tools"
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
  "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --group release
  cp pyproject.toml "$tools/pyproject.toml"
fi
if ! command -v ruby >/dev/null && [ "${QMD_APT:-}" != no ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing ruby by apt-get, to check the formula (not with QMD_APT=no) ..." >&2
  apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends ruby >&2 || true
fi
exec "$venv/bin/python" tools/release.py --tools "$tools" "$@"
