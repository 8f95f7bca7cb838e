"""A class shares its name only with what it implements, so a name means one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import qmd

ROOT = Path(qmd.__file__).parent
#: Names that mean several things still. None is added.
SHARED = {
    # Values of the library, and their form in answers of programs.
    *("Anchor Collection Collections Commit Document History Hit Indexed Link Note Stage".split()),
    *("Asked Citation Cut Item Kind Listing Masker Methods Page Pin Reader Section Tool Work Writer".split()),
    *("_Scan _Search _Session _Text".split()),
}


def test_class_shares_its_name_only_with_what_it_implements() -> None:
    places = defaultdict[str, list[str]](list)
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                # Of a protocol of the same name, or of a part of it.
                bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
                if not bases & {node.name, f"Stored{node.name}", "_View"}:
                    places[node.name].append(path.relative_to(ROOT).as_posix())
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in shared.items() if name not in SHARED} == {}
