"""The web page of a server: search, reading and upkeep for people. It needs the extra `web`."""

from __future__ import annotations

from importlib.util import find_spec

#: The packages of the extra `web`.
PACKAGES = ("jinja2", "latex2mathml", "markdown_it", "mdit_py_plugins", "nh3", "pygments")
#: The error if one of them is not installed.
MISSING = "the page needs the extra 'web': pip install 'qmd-python[web]'"


def available() -> bool:
    """Return whether everything that the page needs is installed."""
    return all(find_spec(name) is not None for name in PACKAGES)
