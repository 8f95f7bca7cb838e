#!/bin/sh
# Installs the judges of tests/judges, or those of a folder in it that is named, as package.json there pins them,
# and says in which folder they are. They come from npm, with a Node of their own; what was installed before is
# used again.
set -eu
cd "$(dirname "$0")/../tests/judges/${1:-}"
cache="${QMD_JUDGES_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/qmd-judges}"
folder="$cache/$(cat package.json .npmrc | cksum | tr ' ' '-')"
if [ ! -d "$folder" ]; then
  mkdir -p "$cache"
  new="$(mktemp -d "$cache/new.XXXXXX")"
  trap 'rm -rf "$new"' EXIT
  cp package.json .npmrc "$new"
  (cd "$new" && npm install >&2)
  # Where another run was faster, its folder stays.
  [ -d "$folder" ] || mv "$new" "$folder"
fi
echo "$folder"
