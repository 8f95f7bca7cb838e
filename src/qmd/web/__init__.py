"""The web page of a server: search, reading and upkeep for people. It needs the extra `web`."""

from __future__ import annotations

from importlib.util import find_spec

from qmd.installation import install_command

#: The packages of the extra `web`.
PACKAGES = ("jinja2", "latex2mathml", "markdown_it", "mdit_py_plugins", "nh3", "pygments")


def available() -> bool:
    """Return whether everything that the page needs is installed."""
    return all(find_spec(name) is not None for name in PACKAGES)


def missing() -> str:
    """Return the error if something is not installed."""
    return f"the page needs the extra 'web': {install_command('web')}"
