"""Addresses that open a file in an editor."""

from __future__ import annotations

import re

from qmd.text.uris import encode_path

#: The address that opens a file at a line unless `editor_uri` or QMD_EDITOR_URI is set.
DEFAULT_EDITOR = "vscode://file/{path}:{line}:{col}"
#: The value of `editor_uri` that turns links off.
NO_EDITOR = "none"
#: Schemes that open a file in an editor or a viewer. Others, such as `javascript:`, could run a program when
#: a result is clicked.
EDITOR_SCHEMES = frozenset(
    "file vscode vscode-insiders vscodium cursor windsurf zed idea pycharm webstorm jetbrains subl sublime "
    "txmt mvim nvim emacs org-protocol atom nova bbedit x-bbedit obsidian logseq http https".split()
)


def is_editor(template: str) -> bool:
    """Return whether the scheme of a template is that of a known editor."""
    return template.partition(":")[0].lower() in EDITOR_SCHEMES


def editor_address(template: str, path: str, line: int) -> str:
    """Fill in the fields of `editor_uri`: {path}, percent-encoded, {line}, and {col}, which is 1.

    A path starts with a slash. A slash before {path} is therefore dropped in `file/{path}`, but kept in
    `file://{path}`. If {path} is the whole value of a parameter, as in `obsidian://open?path={path}`, slashes
    are encoded too: Obsidian asks for that, and others decode it.
    """
    encoded = encode_path(path)
    filled = re.sub(r"(?<!:/)/\{path\}", "{path}", template)
    filled = re.sub(r"=\{path\}(?=&|$)", "=" + encoded.replace("/", "%2F"), filled).replace("{path}", encoded)
    return re.sub(r"\{col(umn)?\}", "1", filled.replace("{line}", str(line)))
