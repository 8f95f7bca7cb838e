"""Count headings of AsciiDoc and reStructuredText that qmd finds and the program of the format does not.

Usage:
    python bench/outlines.py FOLDER ...

Each folder is a checkout, such as those of neo4j/docs-cypher, asciidoctor/asciidoctor, sphinx-doc/sphinx and
python/peps. The headings of `.adoc` files are compared with those of Asciidoctor (`asciidoctor` must be
installed), and those of `.rst` files with those of docutils, by the numbers of their lines. Conditions and
inclusions are blanked before: qmd reads all branches, and includes nothing. What Sphinx adds to docutils is
taken for directives with any arguments, and for roles that are text.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from qmd.sources.formats.registry import Readers
from qmd.sources.read import RawBytes

_CONDITION = re.compile(r"^(?:ifdef|ifndef|ifeval|endif|include)::.*$", re.M)
_RUBY = """
require "asciidoctor"
require "json"
ARGV.each do |path|
  text = File.read(path, encoding: "UTF-8")
  options = { safe: :secure, sourcemap: true, logger: false, doctype: "book" }
  doc = Asciidoctor.load(text, **options)
  found = doc.find_by(context: :section) + doc.find_by(context: :floating_title)
  lines = found.map { |each| each.lineno } + [doc.header&.lineno]
  puts JSON.generate([path, lines.compact])
end
"""
#: A file of its own for docutils, which keeps directives and roles in tables of the process.
_DOCUTILS = """
import json, sys
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles

class Any(Directive):
    has_content = True
    optional_arguments = 1_000
    final_argument_whitespace = True
    option_spec = type("Any", (dict,), {"__getitem__": lambda *_: str, "get": lambda *_: str})()
    def run(self):
        return []

class Table(dict):
    def __missing__(self, name):
        return Any

known = directives.directive
directives.directive = lambda name, *rest: (
    (Any, []) if name in ("include", "raw", "csv-table") or not known(name, *rest)[0] else known(name, *rest)
)
roles.role = lambda *_: ((lambda name, raw, text, *_: ([nodes.inline(raw, text)], [])), [])
for path in sys.argv[1:]:
    text = open(path, encoding="utf-8").read()
    settings = {"report_level": 5, "halt_level": 6, "file_insertion_enabled": False, "raw_enabled": False,
                "doctitle_xform": False, "docinfo_xform": False}
    tree = publish_doctree(text, settings_overrides=settings)
    titles = [each.astext() for each in tree.findall(nodes.title) if isinstance(each.parent, nodes.section)]
    print(json.dumps([path, titles]))
"""


def found(path: Path) -> list[tuple[int, str]]:
    """Return (line, words) of the headings that qmd finds."""
    text = path.read_text("utf-8", "replace")
    content = Readers(["all"]).of(path.name).format.extract(RawBytes(path.name, text.encode()))
    assert content.structure is not None
    return [
        (content.text.count("\n", 0, each.start) + 1, content.text[each.low : each.high])
        for each in content.structure.headings
    ]


def words(text: str) -> str:
    """Return the letters and digits of a title, which do not depend on its markup."""
    text = re.sub(r":[\w:+-]+:`|<[^<>`]*>`", "", text)
    return "".join(character for character in text.casefold() if character.isalnum())


def asciidoctor(paths: list[Path]) -> dict[str, list[int]]:
    """Return the lines of the headings that Asciidoctor finds, by path."""
    return dict(_run(["ruby", "-e", _RUBY], paths))


def docutils(paths: list[Path]) -> dict[str, list[str]]:
    """Return the headings that docutils finds, by path."""
    return dict(_run([sys.executable, "-c", _DOCUTILS], paths))


def _run(command: list[str], paths: list[Path]) -> list[tuple[str, list[int] | list[str]]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for number, path in enumerate(paths):
            copy = Path(folder) / f"{number}{path.suffix}"
            copy.write_text(_CONDITION.sub("//", path.read_text("utf-8", "replace")), "utf-8")
            names[str(copy)] = str(path)
        for at in range(0, len(paths), 100):
            files = [*names][at : at + 100]
            done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
            rows += [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
            if done.returncode:
                print(done.stderr[-1_000:], file=sys.stderr)
    return [(names[path], value) for path, value in rows]


def main() -> None:
    verbose = "-v" in sys.argv
    print(f"{'':30} {'files':>6} {'headings':>9} {'false':>6} {'missed':>7} {'seconds':>8}")
    for folder in (Path(name) for name in sys.argv[1:] if name != "-v"):
        for suffix, program in ((".adoc", asciidoctor), (".rst", docutils)):
            paths = sorted(path for path in folder.rglob(f"*{suffix}") if path.is_file())
            if not paths:
                continue
            right = program(paths)
            paths = [path for path in paths if str(path) in right]
            start = time.perf_counter()
            ours = {str(path): found(path) for path in paths}
            seconds = time.perf_counter() - start
            total = false = missed = 0
            for path, expected in right.items():
                mine = [line if suffix == ".adoc" else words(text) for line, text in ours[path]]
                wanted = [each if isinstance(each, int) else words(each) for each in expected]
                total += len(mine)
                wrong = [each for each in mine if each not in wanted]
                lacking = [each for each in wanted if each not in mine]
                false += len(wrong)
                missed += len(lacking)
                if verbose and (wrong or lacking):
                    print(path, "false", wrong, "missed", lacking)
            name = f"{folder.name} {suffix}"
            print(f"{name:30} {len(paths):6} {total:9,} {false:6} {missed:7} {seconds:8.2f}")


if __name__ == "__main__":
    main()
