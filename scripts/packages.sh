#!/bin/sh
# Installs programs that a few tests and bench/instructions.py use, on Debian and Ubuntu. Without them these are skipped.
set -eu
missing=""
command -v rsync >/dev/null || missing="$missing rsync"
command -v systemd-analyze >/dev/null || missing="$missing systemd"
command -v tmux >/dev/null || missing="$missing tmux"
command -v valgrind >/dev/null || missing="$missing valgrind"
[ -n "$missing" ] || exit 0
if [ "${QMD_APT:-}" != no ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing$missing by apt-get, for a few tests (not with QMD_APT=no) ..." >&2
  # shellcheck disable=SC2086 - one word for each package
  apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends $missing >&2 && exit 0
fi
echo "Some checks are skipped, because they need these packages:$missing" >&2
