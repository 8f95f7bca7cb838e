"""docs/http.md matches the API, and its examples work."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import Server, server_of
from tests.repositories import Repository
from tests.users import MakeUser

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "http.md"
MAKER = ROOT / "tools" / "make_http_docs.py"
OPTIONS = ROOT / "tools" / "make_options_docs.py"
MADE = "<!-- From here on"
#: The commands in the generated part of the page.
EXAMPLES = re.findall(r"```sh\n(curl .*?)\n```", PAGE.read_text(encoding="utf-8").partition(MADE)[2], re.S)


@pytest.fixture(scope="module")
def documented(make_user: MakeUser) -> Iterator[Server]:
    """A server of a user who has the documents of the examples."""
    user = make_user("documented")
    for name in ("notes/ops/deploy.md", "work/plan.md"):
        (user.home / name).parent.mkdir(parents=True, exist_ok=True)
        (user.home / name).write_text(f"# {name}\n\nDeploy, roll back, ship a release.\n", encoding="utf-8")
    Repository(user.home / "notes").commit("2024-05-01T10:00:00Z", "Begin", {})
    user.ok("collection", "add", str(user.home / "notes"), "--name", "notes")
    user.ok("embed", "-q")
    with server_of(user) as server:
        yield server


@pytest.mark.skipif(not MAKER.exists(), reason="tools/ is not here")
def test_http_page_matches_the_openapi_document() -> None:
    made = runpy.run_path(str(MAKER))["page"]()
    assert PAGE.read_text(encoding="utf-8") == made, "run tools/make_http_docs.py"


@pytest.mark.skipif(not OPTIONS.exists(), reason="tools/ is not here")
def test_an_interface_lacks_an_option_only_for_a_reason() -> None:
    maker = runpy.run_path(str(OPTIONS))
    for kinds, reasons in maker["TABLES"].values():
        gaps = list(maker["lacking"](kinds, reasons))
        assert [(face, option) for face, option, reason in gaps if not reason] == []
        # And no reason is given for an option that there is.
        given = {(face, option) for face, named in reasons.items() for option in named if option}
        assert given <= {(face, option) for face, option, _ in gaps}
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert page == maker["page"](), "run tools/make_options_docs.py"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
def test_examples_of_the_http_page_work_in_order(documented: Server) -> None:
    assert len(EXAMPLES) == 31
    for example in EXAMPLES:
        if "/ask " in example:
            continue  # it needs a model: see tests/features/ask
        command = example.replace("127.0.0.1:18765", f"127.0.0.1:{documented.port}")
        done = subprocess.run(
            ["sh", "-c", command.replace("curl ", "curl --silent --show-error --fail-with-body ", 1)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (example, done.stdout, done.stderr)
        assert "/metrics" in example or json.loads(done.stdout)


def test_http_page_explains_every_metric(documented: Server) -> None:
    page = documented.ask("GET", "/metrics").text
    told = set(re.findall(r"^# TYPE (qmd_\w+)", page, re.M))
    told -= {name for name in told if name.endswith("_created")}
    text = PAGE.read_text(encoding="utf-8")
    assert {name for name in told if f"`{name}" not in text} == set()
    # The page explains no metric that does not exist.
    assert set(re.findall(r"`(qmd_[a-z_]+)(?=[`{])", text)) - {"qmd_"} == told


def test_http_page_explains_every_key_of_an_audit_line() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in (
        "time",
        "key",
        "action",
        "target",
        "outcome",
        "status",
        "done",
        "refused",
        "failed",
        "unanswered",
        "source",
        "count",
    ):
        assert f"`{name}`" in text
