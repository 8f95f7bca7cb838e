"""The web page of a server: search, reading and upkeep for people. It needs the extra `web`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from qmd.features.page.addresses import read_address as read_address
from qmd.installation import install_command

if TYPE_CHECKING:
    from qmd.server.index_host import IndexHost
    from qmd.server.keys import Keys
    from qmd.server.pages import PageSource

#: The packages of the extra `web`.
PACKAGES = ("jinja2", "latex2mathml", "nh3", "pygments")


def missing() -> str:
    """Return the extra to install; "" if all packages are there."""
    if all(find_spec(name) is not None for name in PACKAGES):
        return ""
    return f"the page needs the extra 'web': {install_command('web')}"


def open_pages(host: IndexHost, keys: Keys | None) -> PageSource:
    """Return the pages of a server. `keys` are None if it takes none."""
    from qmd.features.page.app import Web  # needs the packages

    return Web(host, keys)
