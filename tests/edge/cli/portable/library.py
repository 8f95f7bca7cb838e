"""The collections that the portable files contain, and commands on these files."""

from __future__ import annotations

import json

from tests.users import User

#: A word in every text, title, name and context of the collection that is not exported.
HIDDEN = "zanzibar"
LIBRARY = {
    "notes/ops/kestrel.md": "---\ntags: [bird]\n---\n# Kestrel\n\nThe kestrel hovers. See [[plan]].\n",
    "notes/plan.md": "# Plan\n\nThe plan for the budget, above all falcons.\n",
    "talks/talk.md": "# Talk\n\nA talk about the kestrel.\n",
    f"{HIDDEN}/{HIDDEN}.md": f"---\ntags: [{HIDDEN}]\n---\n# {HIDDEN} kestrel\n\nThe kestrel of {HIDDEN}.\n",
}


def hits(user: User, *args: str) -> list[str]:
    return [hit["file"] for hit in json.loads(user.ok(*args, "--json", "-q"))]


def refusal(user: User, *args: str, **environ: str) -> str:
    """Return the error and hint of a command. The test fails if the command succeeds."""
    result = user.invoke(*args, **environ)
    assert result.exit_code in (1, 2), result.output
    lines = result.stderr.strip().splitlines()
    assert lines[0].startswith("Error: "), result.stderr
    assert len(lines) <= 2
    assert "internal error" not in lines[0]
    return result.stderr
