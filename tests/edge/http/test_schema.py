"""The API does what its description says, whatever is sent: asked by schemathesis, of every endpoint."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.clients import server_of
from tests.users import User

#: About half a minute.
_EXAMPLES = "25"
#: Some requests are refused for what there is, not for what they say: a folder that is no folder, a name
#: that is taken, a line past the end. The description cannot know; nor that a query of several lines has a
#: grammar.
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
include-name = "POST /query"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "404"]

[[operations]]
include-name = "POST /embed"
checks.negative_data_rejection.expected-statuses = ["400", "413"]
"""
#: Nothing but folders made for this is ever indexed: a made-up path may be the root of the disk.
_HOOKS = """
import itertools, os, schemathesis

numbers = itertools.count()

@schemathesis.hook
def before_call(context, case, kwargs):
    if case.path == "/collections/add" and isinstance(case.body, dict):
        if isinstance(case.body.get("path"), str):
            folder = os.path.join(os.environ["FOLDERS"], str(next(numbers)))
            os.makedirs(folder)
            case.body["path"] = folder
"""


def test_the_api_does_what_its_description_says(owner: User, tmp_path: Path) -> None:
    owner.ok("collection", "add", str(owner.notes), "--name", "notes")
    owner.ok("collection", "add", str(owner.home / "folder"), "--name", "others")
    owner.ok("embed", "-q")
    (tmp_path / "schemathesis.toml").write_text(_CONFIG, encoding="utf-8")
    (tmp_path / "qmd_hooks.py").write_text(_HOOKS, encoding="utf-8")
    command = [Path(sys.executable).with_name("schemathesis"), "run", "--checks", "all"]
    command += ["--max-examples", _EXAMPLES, "--seed", "1", "--no-color"]
    # It gives up on paths that it makes up and then rejects itself.
    command += ["--suppress-health-check", "filter_too_much"]
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
