"""The web page of a server: search, reading and upkeep for people. It needs the extra `web`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from qmd.installation import install_command
from qmd.text.uris import encode_path

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


def read_address(file: str, **parameters: Any) -> str:
    """Return the address of the page of a document."""
    given = {name: value for name, value in parameters.items() if value not in (None, "")}
    return f"/read/{encode_path(file)}" + (f"?{urlencode(given)}" if given else "")


def open_pages(host: IndexHost, keys: Keys | None) -> PageSource:
    """Return the pages of a server. `keys` are None if it takes none."""
    from qmd.features.page.app import Web  # needs the packages

    return Web(host, keys)
