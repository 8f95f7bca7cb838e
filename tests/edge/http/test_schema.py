"""The API agrees with its OpenAPI description: schemathesis calls every endpoint."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.clients import Server, server_of
from tests.users import User

pytestmark = pytest.mark.slow

#: Random examples for each endpoint, after those at all limits of the description.
_EXAMPLES = os.environ.get("QMD_SCHEMA_EXAMPLES", "4")
#: Some requests are refused because of the state of the index: a path that is no folder, a name that is
#: taken, a line past the end, a collection without vectors, a search that is not ready in
#: a billionth of a second, an answer that has more tokens than it may. The
#: description cannot express that, nor the grammar of query documents.
#: All searches read their options by one class, so only `query` is called at all limits of these. Those of
#: `embed`, which take long, are tested beside its other tests.
_CONFIG = """
[[operations]]
include-name = "POST /collections/add"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]

[[operations]]
include-name = "PUT /collections/{name}"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-name = "POST /get"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-name = "GET /documents/{path}/similar"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-name = "POST /query"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "503"]
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "503"]

[[operations]]
include-name = "POST /pack"
phases.coverage.enabled = false
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "503"]
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "503"]

[[operations]]
include-name = "POST /search"
phases.coverage.enabled = false
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-name = "POST /ask"
phases.coverage.enabled = false
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "503"]
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "503"]

[[operations]]
include-name = "POST /grep"
phases.coverage.enabled = false
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "503"]
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "503"]

[[operations]]
include-name = "POST /multi_get"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-name = "POST /vsearch"
phases.coverage.enabled = false
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "503"]
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", "503"]

[[operations]]
include-name = "POST /embed"
phases.coverage.enabled = false
checks.negative_data_rejection.expected-statuses = ["400", "413"]
"""
#: Only folders made for this test are indexed, because a generated path could be the root of the disk.
#: Conditions of `where` have a grammar, which the description cannot state.
_HOOKS = """
import itertools, os, schemathesis

numbers = itertools.count()

@schemathesis.hook
def before_call(context, case, kwargs):
    if case.path == "/collections/add" and isinstance(case.body, dict):
        path = case.body.get("path")
        if isinstance(path, str) and path.startswith(("/", "~")):
            folder = os.path.join(os.environ["FOLDERS"], str(next(numbers)))
            os.makedirs(folder)
            case.body["path"] = folder
    where = case.body.get("where") if isinstance(case.body, dict) else None
    if isinstance(where, list):
        fits = lambda text: isinstance(text, str) and text.strip() and len(text) <= 10_000
        case.body["where"] = ["ext=md" if fits(text) else text for text in where]
"""


def test_api_matches_its_openapi_description(owner: User, tmp_path: Path) -> None:
    owner.ok("collection", "add", str(owner.notes), "--name", "notes")
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "others")
    owner.ok("embed", "-q")
    (tmp_path / "schemathesis.toml").write_text(_CONFIG, encoding="utf-8")
    (tmp_path / "qmd_hooks.py").write_text(_HOOKS, encoding="utf-8")
    command = [Path(sys.executable).with_name("schemathesis"), "run", "--checks", "all"]
    command += ["--max-examples", _EXAMPLES, "--seed", "1", "--no-color"]
    # schemathesis gives up on paths that it generates and then rejects, and on a slow machine.
    command += ["--suppress-health-check", "all", "--request-timeout", "600", "--max-response-time", "600"]
    with server_of(owner) as server:
        environ = {**os.environ, "SCHEMATHESIS_HOOKS": "qmd_hooks", "PYTHONPATH": str(tmp_path)}
        found = subprocess.run(
            [*command, f"http://127.0.0.1:{server.port}/openapi.json"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environ | {"FOLDERS": str(tmp_path / "folders")},
            check=False,
        )
        assert found.returncode == 0, found.stdout
        assert server.ok("GET", "/health")["status"] == "healthy"
    assert " passed" in found.stdout


def accepts(schema: dict[str, Any], value: str) -> bool:
    """Return whether the schema of a string allows a value."""
    fits = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
    return fits and re.search(schema.get("pattern", ""), value) is not None


NAMES = [
    "n",
    "n.m",
    "a b",
    "数据",
    "n" * 100,
    "",
    "n" * 101,
    ".n",
    "a/b",
    "a\\b",
    " n",
    "n\u3000",
    "a\nb",
    "a\u2028b",
    "\x85",
]
BLANK = ["x", " x ", "\ufeff", "\u200b", "", " ", "\x1c", "\x85", "\xa0", "\u2028", "\t\n"]


def test_openapi_description_states_the_limits_of_texts(server: Server) -> None:
    server.post("/collections/add", name="notes", path="~/folder")
    known = server.ok("GET", "/openapi.json")["components"]["schemas"]
    name = "notes"
    for value in NAMES:
        answer = server.ask("PUT", f"/collections/{quote(name, safe='')}", {"new_name": value})
        assert (answer.status == 200) == accepts(known["NewName"]["properties"]["new_name"], value), value
        assert accepts(known["NewCollection"]["properties"]["name"], value) == (answer.status == 200), value
        name = value if answer.status == 200 else name
    for value in BLANK:
        texts = [
            ("/search", "query", {}, "SearchBody"),
            ("/search", "author", {"query": "x"}, "SearchBody"),
            ("/contexts/add", "text", {"path": "/"}, "NewContext"),
        ]
        for path, field, others, of in texts:
            schema = known[of]["properties"][field]
            answer = server.ask("POST", path, {field: value, **others})
            assert (answer.status == 200) == accepts(schema.get("anyOf", [schema])[0], value), (field, value)
