"""The page in the browser, of a feature or a package that has a row `page` in `qmd.pages`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from qmd.errors import QmdError
from qmd.plugins import Table

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import Receive, Scope, Send

    from qmd.server.index_host import IndexHost
    from qmd.server.keys import Key, Keys


class PageSource(Protocol):
    """The pages of a server, whose requests have a session in place of a key in a header."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """The routes of the pages."""

    def run(self) -> AbstractAsyncContextManager[None]:
        """Return the work of the pages while the server runs."""

    def owns(self, path: str) -> bool:
        """Return whether a path is that of a page."""

    def may_be_linked(self, path: str) -> bool:
        """Return whether pages of other sites may lead to a path."""

    def is_public(self, path: str) -> bool:
        """Return whether a page needs no key, such as the one to sign in."""

    def key(self, scope: Scope) -> Key | None:
        """Return the key of the session of a request; None if it has none."""

    def target(self, method: str, path: str, body: bytes) -> str | None:
        """Return the change that a request asks for, for the audit log; None if it only reads."""

    def missing(self, request: Request) -> Response:
        """Answer a browser that asks for a path at which there is nothing."""

    async def refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that has no session."""


@runtime_checkable
class PageMaker(Protocol):
    """Makes the pages of a server."""

    def missing(self) -> str:
        """Return the packages of the pages that are missing, and how to install them; "" if all are there."""

    def read_address(self, file: str, **parameters: Any) -> str:
        """Return the address of the page of a document; of the `parameters`, `line` is that to begin with."""

    def open_pages(self, host: IndexHost, keys: Keys | None) -> PageSource:
        """Return the pages of a server. `keys` are None if it takes none."""


_PAGES = Table("qmd.pages", {}, PageMaker)


def page_maker() -> PageMaker:
    """Return the maker of the pages. Raises `QmdError` if there is none, or it lacks something."""
    maker: PageMaker | None = _PAGES.load("page")
    missing = "this installation has no page" if maker is None else maker.missing()
    if maker is None or missing:
        raise QmdError(missing)
    return maker
