"""The conformance suite of the protocol, over HTTP, in every revision that it knows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.agents import Site
from tests.judges.calls import Judges

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
KNOWN = Path(__file__).with_name("known_failures.yml")


def known() -> dict[tuple[str, str], str]:
    """Return the known failures: (scenario, check) to the message."""
    entries = KNOWN.read_text(encoding="utf-8").partition("\nserver:\n")[2]
    lines = [line for line in entries.splitlines() if not line.startswith("  #")]
    found = [re.fullmatch(r"  - (\S+):(\S+) # (.+)", line) for line in lines]
    assert all(found), "every known failure has its message"
    return {(match[1], match[2]): match[3] for match in found if match}


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_conformance_suite_fails_only_known_checks(
    judges: Judges, site: Site, tmp_path: Path, revision: str
) -> None:
    options = ["--suite", "all", "--spec-version", revision, "--expected-failures", str(KNOWN)]
    done = judges.run(SUITE, "server", "--url", site.url, *options, "--output-dir", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    reasons = known()
    passed = 0
    for file in tmp_path.glob("*/checks.json"):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[-\dZ]+$", "", file.parent.name)
        for check in json.loads(file.read_text(encoding="utf-8")):
            passed += check["status"] == "SUCCESS"
            if check["status"] in ("FAILURE", "WARNING"):
                assert reasons[scenario, check["id"]] in json.dumps(check)
    assert passed >= 30
