"""Every endpoint answers extreme numbers and dates: with an error of the client, or with a result."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import FieldInfo

from qmd.api.arguments import SearchArguments
from qmd.api.operation import Operation
from qmd.api.reading import fields_of
from qmd.api.table import TABLE
from tests.clients import Server, server_of
from tests.library import LIBRARY
from tests.repositories import Repository, needs_git
from tests.users import MakeUser

pytestmark = pytest.mark.slow

LONG = "9" * 400
#: Values as JSON writes them: whole numbers have any length there.
NUMBERS = [
    *("0 -1 1e17 100000000000000000 9223372036854775807 9223372036854775808 18446744073709551616".split()),
    *("99999999999999999999 1e308 1e400 -1e400 1e-400 2.5 0.5".split()),
    *(LONG, f"-{LONG}", f"{LONG}.5", f"0.{LONG}", "9" * 5_000),
]
PLAN = "notes/2025/plan.md"
#: Texts in which numbers and dates are read.
TEXTS = [
    *(
        LONG,
        f"-{LONG}",
        f"{LONG}d",
        "9" * 20,
        "9" * 17,
        "1e400",
        "²",
        "٣d",
        "９９９天前",
        "0" * 64,
        f"#{LONG}",
    ),
    *("9999-12-31 0001-01-01 9999 0000 10000 99999 99999d 2024-٠٣-01 9999-12-31T23:59:59".split()),
    *("0001-01-01T00:00:00+14:00 9999-12-31T23:59:59-14:00 99999-years-ago in-99999-years".split()),
    *(f"after:{LONG}", f"date:{LONG}", f"[size>{LONG}]", "[size:1e999] x", f"size>{LONG}", "size>1e400"),
    *("date<0001-01-01", "modified>9999-12-31", "[modified<9999-12-31] x", "date:9999 x", f"x^{LONG}"),
    *(f"{PLAN}:{LONG}", f"{PLAN}:{LONG}:{LONG}", f"{PLAN}:1-{LONG}", f"{PLAN}:p{LONG}", f"{PLAN}#{LONG}"),
    *(
        f"{PLAN}:{'9' * 20}",
        f"{PLAN}:1:{'9' * 20}",
        f"{PLAN}:p{'9' * 20}",
        f"{PLAN}:²",
        f"{PLAN}:p²",
        f"{PLAN}:٣",
    ),
    *(PLAN, f"crowd/{LONG}", f'See [[plan]] ({PLAN}:{LONG}). "line {LONG}" {PLAN}:3', f"kestrel {LONG}"),
]
VALUES = [*NUMBERS, *map(json.dumps, TEXTS)]
#: Arguments of which something is found.
FOUND: dict[str, Any] = {
    **{name: {"query": "kestrel"} for name in ("search", "vsearch", "query", "pack")},
    "get": {"file": PLAN},
    "multi_get": {"pattern": "notes/**"},
}
READING = [each for each in TABLE if not each.writes]


@pytest.fixture(scope="module")
def server(make_user: MakeUser) -> Iterator[Server]:
    user = make_user("extremes")
    for (collection, path), text in LIBRARY.items():
        file = user.home / "library" / collection / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for number, key in enumerate(("size", "priority", "date", "created", "due", "valid_until", "expires")):
        for value in (
            "9" * 400,
            f"0.{LONG}",
            "9" * 17,
            "0001-01-01",
            "9999-12-31T23:59:59-14:00",
            "1e400",
            ".inf",
        ):
            text = f"---\n{key}: {value}\n---\n# Extreme kestrel {number}\n\n[[plan]] {LONG}\n"
            (user.home / "library" / "crowd" / f"{key}-{value[:9]}.md").write_text(text, encoding="utf-8")
    for number, seconds in enumerate((-62135596800, 253402300799, 2**33)):
        file = user.home / "library" / "crowd" / f"bird0{number}.md"
        os.utime(file, ns=(seconds * 10**9 % 2**63, seconds * 10**9 % 2**63))
    repository = Repository(user.home / "library" / "notes")
    repository.commit("2024-01-01T10:00:00Z", "One", {"2025/plan.md": "# Plan\n\nOne.\n"})
    (user.home / "library" / "crowd" / "bird09.md").unlink()
    for collection in ("notes", "crowd"):
        user.ok("collection", "add", str(user.home / "library" / collection), "--name", collection)
    with server_of(user) as server:
        yield server


def requests_of(operation: Operation) -> Iterator[tuple[str, bytes | None]]:
    """Yield the path and body of requests with each argument extreme."""
    given = dict(operation.body or {}) | FOUND.get(operation.name, {})
    for item in (item for item in _own(operation) if item.name not in operation.in_path):
        for value in _values(item):
            if operation.takes_body:
                fields = {key: json.dumps(each) for key, each in given.items()} | {item.name: value}
                body = ", ".join(f"{json.dumps(key)}: {each}" for key, each in fields.items())
                yield operation.path, f"{{{body}}}".encode()
            else:
                text = value.strip('"')
                yield f"{_path(operation, PLAN)}?{item.name}={quote(text)}", None
    for text in TEXTS if operation.in_path else ():
        yield _path(operation, text), None


def _own(operation: Operation) -> Iterator[FieldInfo]:
    """Yield the arguments to try. All searches read their common ones by one class, which `query` tries."""
    (most,) = (each.arguments for each in READING if each.name == "query")
    shared = (
        () if operation.arguments is most else {item.name for item in fields_of(most)} - {"query", "limit"}
    )
    of_search = operation.takes_body and issubclass(operation.arguments, SearchArguments)
    yield from (item for item in fields_of(operation.arguments) if not of_search or item.name not in shared)


def _values(item: FieldInfo) -> list[str]:
    """Return values of the type of an argument, and one of each other type, which msgspec refuses."""
    kind = repr(item.type)
    if "dict[" in kind:
        return [f'{{"field": "size", "operator": "gte", "value": {value}}}' for value in VALUES]
    values = {*NUMBERS[:1], *VALUES[-1:], f"[{LONG}]"}
    values |= {*NUMBERS} if re.search(r"\b(int|float)\b", kind) else set()
    values |= {*map(json.dumps, TEXTS)} if re.search(r"\bstr\b", kind) else set()
    return (
        sorted(f"[{value}]" for value in values) if re.search(r"\b(list|tuple)\[", kind) else sorted(values)
    )


def _path(operation: Operation, value: str) -> str:
    path = operation.path
    for name in operation.in_path:
        path = path.replace(f"{{{name}}}", quote(value))
    return path


@pytest.mark.parametrize("operation", READING, ids=[each.name for each in READING])
def test_operation_answers_extreme_values(server: Server, operation: Operation) -> None:
    bad = []
    for path, body in requests_of(operation):
        answer = server.ask(operation.method, path, body=body)
        if answer.status >= 500 and answer.status != 503:
            bad.append((path[:200], body and body[:200], answer.text[:200]))
    assert not bad, (len(bad), bad[:10])


def test_pages_answer_extreme_values(server: Server) -> None:
    places = ("/read/", "/similar/", "/file/")
    paths = [f"{place}{quote(text)}" for place in places for text in TEXTS]
    parameters = {
        "/": ("q", "limit", "mode", "sort", "part", "page", "n"),
        "/read/notes/2025/plan.md": ("line", "q", "count", "from", "to", "passage", "part"),
        "/similar/notes/2025/plan.md": ("line", "q", "limit", "n"),
        "/why": ("q", "file"),
    }
    short = [value for value in NUMBERS if len(value) < 2_000] + TEXTS[:12]
    for path, names in parameters.items():
        for name in names:
            paths += [
                f"{path}?{name}={quote(value)}" for value in (TEXTS if name in ("q", "file") else short)
            ]
    paths += ["/", "/?q=kestrel&sort=date", "/?q=path:bird", "/upkeep", "/read/crowd/bird00.md"]
    answers = [(path[:200], server.ask("GET", path)) for path in paths]
    assert [(path, answer.text[:200]) for path, answer in answers if answer.status >= 500] == []


@needs_git
@pytest.mark.parametrize("seconds", ["100000000000000000", "9" * 20, "253402300800", "99999999999999"])
def test_history_with_an_impossible_time_is_an_error_of_the_source(make_user: MakeUser, seconds: str) -> None:
    user = make_user("timeless")
    repository = Repository(user.home / "clone")
    repository.commit("2024-01-01T10:00:00Z", "One", {"plan.md": "# Plan\n\nOne.\n"})
    written = repository.git("cat-file", "commit", "HEAD").replace("1704103200", seconds)
    digest = repository.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=written)
    repository.git("update-ref", "HEAD", digest.strip())
    user.ok("collection", "add", str(repository.folder), "--name", "clone")
    with server_of(user) as server:
        told = server.ask("GET", "/documents/clone/plan.md/history")
        read = server.ask("POST", "/get", {"file": "clone/plan.md", "as_of": "today"})
    assert {told.status, read.status} <= {200, 400}
