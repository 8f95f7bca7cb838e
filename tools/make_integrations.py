"""Makes what in integrations/ follows from tables of the program: `python tools/make_integrations.py`.

The tables are the agents and the hooks of `qmd.features.agents`, and the version. A test compares the files
with this.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qmd._version import __version__
from qmd.features.agents import hook_settings, mcp_settings
from qmd.features.agents.agents import server_entry

FOLDER = Path(__file__).parent.parent / "integrations"
DESCRIPTION = (
    "Search, read and cite your own notes and documents: keyword, vector and hybrid search on your machine."
)
PROGRAM = ("qmd",)
SERVER = (*PROGRAM, "mcp")
#: What all manifests say of the project.
ABOUT: Mapping[str, Any] = {"name": "qmd", "version": __version__, "description": DESCRIPTION}
AUTHOR = {"name": "The qmd-python authors"}
#: Files that are written by hand, except for the version.
VERSIONED = ("hermes/plugin.yaml", "openclaw/package.json", "openclaw/openclaw.plugin.json")
KEYWORDS = ["search", "notes", "markdown", "knowledge-base", "mcp"]


def files() -> dict[str, str]:
    """Return the texts of the files by their paths in integrations/."""
    return {
        "claude/.claude-plugin/plugin.json": _json(
            {**ABOUT, "author": AUTHOR, "license": "MIT", "keywords": KEYWORDS}
        ),
        "claude/.mcp.json": _json({"mcpServers": {"qmd": _entry("claude")}}),
        "claude/hooks/hooks.json": _hooks("claude"),
        "codex/config.toml": mcp_settings.shown("config.toml", "mcp_servers", "qmd", _entry("codex")) + "\n",
        "codex/hooks.json": _hooks("codex"),
        "gemini/gemini-extension.json": _json({**ABOUT, "mcpServers": {"qmd": _entry("gemini")}}),
        "gemini/hooks/hooks.json": _hooks("gemini"),
        **{name: _versioned((FOLDER / name).read_text(encoding="utf-8")) for name in VERSIONED},
    }


def _entry(target: str, words: Sequence[str] = SERVER) -> dict[str, Any]:
    return server_entry(target, words)


def _hooks(target: str) -> str:
    return _json({"hooks": hook_settings.section(target, PROGRAM)})


def _versioned(text: str) -> str:
    return re.sub(r'(?m)^(\s*"?version"?: "?)[\w.]+', rf"\g<1>{__version__}", text)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


if __name__ == "__main__":
    for name, text in files().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
