#!/bin/sh
# Runs the README in a fresh home: its commands one by one, as they are written, in a copy of this clone, and its Python.
# Only the line that clones is replaced. What is installed, by uv and by pip, is what the commands after it use.
set -eu
cd "$(dirname "$0")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fail() {
  echo "$1" >&2
  exit 1
}
block() { # the fenced blocks of a language
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" README.md | grep -v '^```'
}
# The page begins with what is done in the end.
{ block sh | grep -v '^qmd '; block sh | grep '^qmd '; } >"$work/commands"
block python >"$work/example.py"
for line in 'git clone' 'sh scripts/try.sh' 'sh scripts/test.sh' 'uv tool install .' 'pip install .' 'qmd add' 'qmd query'; do
  grep -q "^$line" "$work/commands" || fail "README.md has no line '$line'"
done
# A user with a folder of notes, and without settings. Downloads are shared with this user.
export PIP_CACHE_DIR="${PIP_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/pip}" PIP_DISABLE_PIP_VERSION_CHECK=1
export UV_CACHE_DIR="${UV_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/uv}"
for name in $(env | sed -n 's/^\(\(QMD\|XDG\|PYTHON\)_*[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
python="$(command -v "${PYTHON:-python3}")"
"$python" -m venv "$work/venv"
"$python" -m venv "$work/uv"
"$work/uv/bin/python" -m pip install --quiet uv
mkdir -p "$work/bin" "$work/home/qmd" "$work/home/.local/bin"
ln -s "$work/uv/bin/uv" "$work/bin/uv"
git ls-files -z --cached --others --exclude-standard | tar -cf - --null -T - | tar -xf - -C "$work/home/qmd"
export HOME="$work/home" PATH="$work/home/.local/bin:$work/venv/bin:$work/bin:$PATH" UV_PYTHON="$python"
cp -R examples/notes "$HOME/notes"
cd "$HOME/qmd"
git init -q && git add --all && git -c user.name=x -c user.email=x@host.example commit -q -m "The clone"
version="qmd $(sed -n 's/^__version__ = "\(.*\)"$/\1/p' src/qmd/_version.py)"
echo "python $work/example.py" >>"$work/commands"
echo "qmd skill show" >>"$work/commands" # a file that is no module
while IFS= read -r command; do
  case "$command" in
    'git clone '*) continue ;;        # this is the clone
    'sh scripts/test.sh'*) continue ;; # .ci/run runs it
  esac
  echo "\$ $command"
  output="$(sh -c "$command" </dev/null 2>"$work/errors")" || fail "It failed: $output $(cat "$work/errors")"
  case "$command" in
    'uv tool install .'*) [ "$("$HOME/.local/bin/qmd" --version)" = "$version" ] || fail "uv has not installed it" ;;
    'pip install .'*) [ "$("$work/venv/bin/qmd" --version)" = "$version" ] || fail "pip has not installed it" ;;
    *)
      case "$output" in
        '' | 'No results'*) fail "It printed no results: $output" ;;
      esac
      echo "$output" | tail -n 3
      ;;
  esac
done <"$work/commands"
left="$(git status --short)"
[ -z "$left" ] || fail "It left files in the clone: $left"
# However it was installed, what it says of a missing extra is the command that installs it.
for program in "$HOME/.local/bin/qmd" "$work/venv/bin/qmd"; do
  encrypt() { QMD_PASSPHRASE=secret "$program" backup --portable --encrypt "$work/$1"; }
  ! encrypt first >"$work/output" 2>&1 || fail "$program has the extra 'crypt' already"
  command="$(sed -n 's/^Hint: //p' "$work/output")"
  echo "\$ $command"
  sh -c "$command" >"$work/output" 2>&1 || fail "It failed: $(cat "$work/output")"
  encrypt second >"$work/output" 2>&1 || fail "The extra is still missing: $(cat "$work/output")"
  rm "$work/second"
done
