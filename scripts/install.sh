#!/bin/sh
# Installs a built wheel by pip, pipx and uv, each time into a fresh environment, and searches with it.
#   sh scripts/install.sh WHEEL [PYTHON...]     # of each Python; by default python3
# pipx and uv are found in the PATH; what is missing is named and left out, unless QMD_INSTALLERS is `required`.
set -eu
wheel="$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"
shift
[ "$#" -gt 0 ] || set -- python3
cd "$(dirname "$0")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for name in $(env | sed -n 's/^\(\(QMD\|XDG\|PYTHON\|PIPX\)_*[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
# The model is prepared once. Everything else begins anew.
export XDG_CACHE_HOME="$work/cache" UV_CACHE_DIR="${UV_CACHE_DIR:-$HOME/.cache/uv}" PIP_DISABLE_PIP_VERSION_CHECK=1
export PIPX_HOME="$work/pipx" PIPX_BIN_DIR="$work/pipx/bin" UV_TOOL_DIR="$work/uv" UV_TOOL_BIN_DIR="$work/uv/bin"
fail() {
  echo "$1" >&2
  exit 1
}
has() {
  command -v "$1" >/dev/null && return
  [ "${QMD_INSTALLERS:-}" != required ] || fail "$1 is not here"
  echo "$1 is not here"
  return 1
}
search() { # with a program, after an installer
  rm -rf "$work/home" "$work/cache/qmd/index.sqlite"*
  mkdir "$work/home"
  [ "$(HOME="$work/home" "$1" --version)" = "qmd $version" ] || fail "$1 --version is not $version"
  HOME="$work/home" "$1" --quiet add examples/notes --name notes >/dev/null
  HOME="$work/home" "$1" query "数据丢了怎么恢复" --files --timeout 600 | grep -q backup.md || fail "$1 does not find the note"
  # What it says of a missing extra is the command that installs it.
  encrypt() { HOME="$work/home" QMD_PASSPHRASE=secret "$1" backup --portable --encrypt "$work/home/$2"; }
  command="$(encrypt "$1" first 2>&1 | sed -n 's/^Hint: //p')"
  [ -n "$command" ] || fail "$1 has the extra 'crypt' already"
  sh -c "$command" >/dev/null 2>&1 || fail "it failed: $command"
  encrypt "$1" second >/dev/null 2>&1 || fail "the extra is still missing after: $command"
}
version="$(basename "$wheel" | cut -d- -f2)"
for python in "$@"; do
  label="$("$python" --version)"
  "$python" -m venv "$work/pip"
  "$work/pip/bin/pip" install --quiet "$wheel"
  search "$work/pip/bin/qmd"
  "$work/pip/bin/pip" check --quiet
  rm -rf "$work/pip"
  echo "$label: pip"
  if has pipx; then
    pipx install --quiet --python "$(command -v "$python")" "$wheel" >/dev/null
    search "$work/pipx/bin/qmd"
    rm -rf "$work/pipx"
    echo "$label: pipx"
  fi
  if has uv; then
    uv tool install --quiet --python "$(command -v "$python")" "$wheel"
    search "$work/uv/bin/qmd"
    rm -rf "$work/uv"
    echo "$label: uv tool install"
    [ "$(uvx --quiet --python "$(command -v "$python")" --from "$wheel" qmd --version)" = "qmd $version" ] ||
      fail "uvx does not run it"
    echo "$label: uvx --from WHEEL qmd --version"
  fi
done
