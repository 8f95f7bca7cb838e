"""All hints have one shape, so that they read alike after an error, in brackets and after a semicolon."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.files import ROOT

#: Where a call of these names has its hint; that of an exception is its second argument.
_FUNCTIONS = {"warning": 2, "problem": 2, "ok": 2, "fail": 1}
_KEYWORDS = {"hint", "if_unknown", "if_missing"}
#: Errors of protocols, whose second argument is none.
_OTHER = {"MisuseError", "OSError", "MessageError", "MCPError", "_RefusedError"}
_FULL_STOP = re.compile(r"(?<!\.)\.$|[a-z)']\. [A-Z]")
_CAPITAL = re.compile(r"[A-Z][a-z]+ ")
#: One with words of the user, which have quotes of their own, stands bare at the end, to be copied.
_BARE_COMMAND = re.compile(r"(?<!['`])\bqmd [a-z-]+\b(?! is\b)(?!.*(?:\{\}|''))")


def _text(node: ast.expr) -> str | None:
    """Return a literal, with `{}` for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values)
    return None


def _hints(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the hints that a call has, or that something named `hint` is set to."""
    if isinstance(node, ast.Assign):
        if any(getattr(each, "id", getattr(each, "attr", "")) == "hint" for each in node.targets):
            yield node.value
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        yield from (each.value for each in node.keywords if each.arg in _KEYWORDS)
        place = 1 if name.endswith("Error") and name not in _OTHER else _FUNCTIONS.get(name)
        if place is not None:
            yield from node.args[place : place + 1]


def _found() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "src" / "qmd").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for hint in _hints(node):
                for each in (hint.body, hint.orelse) if isinstance(hint, ast.IfExp) else (hint,):
                    if (
                        text := _text(each)
                    ) and "to retrieve." not in text:  # a sentence of tobi/qmd for agents
                        yield f"{path.relative_to(ROOT)}:{each.lineno}", text


HINTS = dict(_found())


def test_hints_are_found() -> None:
    assert len(HINTS) > 250


@pytest.mark.parametrize(
    ("pattern", "rule"),
    [
        (_CAPITAL, "begins with a small letter"),
        (_FULL_STOP, "has no full stop"),
        (_BARE_COMMAND, "has commands in single quotes"),
    ],
)
def test_every_hint_has_one_shape(pattern: re.Pattern[str], rule: str) -> None:
    search = pattern.match if pattern is _CAPITAL else pattern.search
    wrong = {place: text for place, text in HINTS.items() if search(_unquoted(text))}
    assert not wrong, rule


def _unquoted(text: str) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)
