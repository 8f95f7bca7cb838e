#!/bin/sh
# Prints the path of the browser of tests/features/page/browser: Chromium. On Debian and Ubuntu it is installed if it is missing.
set -eu
for name in "${QMD_CHROMIUM:-}" chromium chromium-browser google-chrome; do
  if [ -n "$name" ] && command -v "$name"; then exit 0; fi
done
if [ "${QMD_APT:-}" != no ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "Installing chromium by apt-get, for the tests of the web page (not with QMD_APT=no) ..." >&2
  apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends chromium >&2 && command -v chromium && exit 0
fi
echo "The tests of the web page need Chromium: install the package 'chromium', or name a binary in QMD_CHROMIUM." >&2
exit 1
