#!/bin/sh
# Builds the wheel, installs it into a fresh environment, and runs the commands and the Python of the README there.
set -eu
cd "$(dirname "$0")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" .
wheel="$(echo "$work"/*.whl)"
fail() {
  echo "$1" >&2
  exit 1
}
block() { # the fenced blocks of a language
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" README.md | grep -v '^```'
}
block sh | sed -n -e "s|^pip install qmd-python|pip install --disable-pip-version-check '$wheel'|p" \
  -e '/^qmd /p' >"$work/commands"
block python >"$work/example.py"
grep -q '^pip' "$work/commands" && grep -q '^qmd query' "$work/commands" || fail "README.md has no commands"
# A user with a folder of notes, and without settings.
for name in $(env | sed -n 's/^\(\(QMD\|XDG\|PYTHON\)_*[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
export HOME="$work/home" PATH="$work/venv/bin:$PATH"
mkdir "$HOME"
cp -R examples "$HOME"
cp -R examples/notes "$HOME/notes"
cd "$HOME"
echo "python $work/example.py" >>"$work/commands"
echo "qmd skill show" >>"$work/commands" # a file that is no module
while IFS= read -r command; do
  echo "\$ $command"
  output="$(sh -c "$command" </dev/null)" || fail "It failed: $output"
  case "$output" in
    '' | 'No results'*) fail "It printed no results: $output" ;;
  esac
  echo "$output" | tail -n 3
done <"$work/commands"
