"""Source code by tree-sitter: functions and classes are sections. Nothing is run."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from typing import Any

from qmd.sources.formats.base import RawFile
from qmd.sources.formats.parts import Parts, numbered_lines
from qmd.text.anchors import LINE
from qmd.types import Anchor, Extracted
from qmd.types.structure import Heading

name = "code"
version = 3
media_type = "text/plain"

#: Package, function of the package that returns the language, and name of the language by suffix.
GRAMMARS = {
    **dict.fromkeys(("py", "pyi"), ("tree_sitter_python", "language", "python")),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), ("tree_sitter_javascript", "language", "javascript")),
    **dict.fromkeys(("ts", "mts", "cts"), ("tree_sitter_typescript", "language_typescript", "typescript")),
    "tsx": ("tree_sitter_typescript", "language_tsx", "tsx"),
    "go": ("tree_sitter_go", "language", "go"),
    "rs": ("tree_sitter_rust", "language", "rust"),
    "java": ("tree_sitter_java", "language", "java"),
    **dict.fromkeys(("c", "h"), ("tree_sitter_c", "language", "c")),
    **dict.fromkeys(("cc", "cpp", "cxx", "hpp", "hh"), ("tree_sitter_cpp", "language", "cpp")),
    "cs": ("tree_sitter_c_sharp", "language", "csharp"),
}
#: Nodes that are sections, and those that contain sections.
_FUNCTIONS = frozenset(
    "function_definition function_declaration generator_function_declaration method_definition "
    "method_declaration function_item constructor_declaration type_alias_declaration macro_definition "
    "type_item const_item static_item".split()
)
_CLASSES = frozenset(
    "class_definition class_declaration abstract_class_declaration interface_declaration enum_declaration "
    "type_declaration struct_item enum_item trait_item impl_item mod_item union_item class_specifier "
    "struct_specifier union_specifier enum_specifier namespace_definition namespace_declaration "
    "record_declaration struct_declaration internal_module module annotation_type_declaration".split()
)
#: Nodes around a definition that belong to it.
_AROUND = frozenset(
    "decorated_definition export_statement template_declaration linkage_specification "
    "expression_statement declaration_list file_scoped_namespace_declaration".split()
)
#: Comments and attributes before a definition belong to it.
_BEFORE = ("comment", "line_comment", "block_comment", "attribute_item")
#: How deeply definitions are nested at most, and sections with fewer lines are not split.
_DEPTH, _SMALL = 5, 30
#: The longest name, in characters.
_MAX_NAME = 100


def extract(file: RawFile) -> Extracted:
    from tree_sitter import Language, Parser

    suffix = file.path.rpartition(".")[2].lower()
    package, function, language = GRAMMARS[suffix]
    grammar = Language(getattr(import_module(package), function)())
    text = file.text()
    root = Parser(grammar).parse(text.encode()).root_node
    lines = [(start, line) for _, start, line in numbered_lines(text)]
    parts = Parts()
    for level, first, named in _sections(root):
        row, column = named.start_point
        start, line = lines[row]
        low = start + len(line.encode()[:column].decode())
        high = min(low + len(named.text.decode()), start + len(line), low + _MAX_NAME)
        parts.headings.append(Heading(lines[first][0], min(level + 1, 6), low, high))
    starts = [0, *(each.start for each in parts.headings), len(text)]
    parts.verbatim = [*pairwise(starts)]
    # `a.py:l6` is line 6 as well.
    places = (Anchor(1, LINE, 1),)
    fields = {"language": (language,)}
    return Extracted(
        text, file.path.rpartition("/")[2], fields, anchors=places, structure=parts.structure(text)
    )


def _sections(root: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield (level, first line, name) of definitions, in order; lines count from 0."""
    pending = [(node, 1) for node in reversed(root.children)]
    end = 0
    while pending:
        node, level = pending.pop()
        if node.type in _AROUND:
            pending += [(child, level) for child in reversed(node.children)]
            continue
        if node.type not in _FUNCTIONS and node.type not in _CLASSES:
            continue
        first, last = _first_line(node), node.end_point[0] + 1
        named = _name(node)
        if first < end or named is None:
            continue  # on a line with what is before it
        inner = _inner(node) if node.type in _CLASSES and level < _DEPTH and last - first > _SMALL else []
        stop = min((_first_line(child) for child in inner), default=last)
        if inner and stop > first:
            pending += [(child, level + 1) for child in reversed(inner)]
            last = stop
        end = last
        yield level, first, named


def _inner(node: Any) -> list[Any]:
    """Return the definitions directly inside of a class."""
    found = []
    for child in node.children:
        if child.type.endswith(("body", "block", "declaration_list", "list")):
            for item in child.children:
                inside = item.children if item.type in _AROUND else [item]
                found += [each for each in inside if each.type in _FUNCTIONS or each.type in _CLASSES]
    return found


def _first_line(node: Any) -> int:
    """Return the first line of a definition with the decorators and comments above it."""
    if node.parent is not None and node.parent.type in _AROUND:
        return _first_line(node.parent)
    first = int(node.start_point[0])
    before = node.prev_sibling
    while before is not None and before.type in _BEFORE and before.end_point[0] in (first, first - 1):
        first = min(first, int(before.start_point[0]))
        before = before.prev_sibling
    return first


def _name(node: Any) -> Any:
    """Return the name of a definition; None if it has none."""
    named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    while named is not None and named.child_by_field_name("declarator") is not None:
        named = named.child_by_field_name("declarator")
    if named is None:
        inside = (child.child_by_field_name("name") for child in node.children if child.type == "type_spec")
        named = node.child_by_field_name("type") or next(inside, None)
    return named if named is not None and named.text.strip() else None
