"""Packs for sessions: passages that the reader has already are not given again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from qmd.engine.packing import markdown
from qmd.engine.packing.packer import Known, Packer, Renderer, Run
from qmd.engine.packing.reading import read_pack
from qmd.engine.requests import DEFAULT_TOKENS, SearchRequest
from qmd.errors import NotFoundError, UsageError
from qmd.text.digest import passage_hash
from qmd.text.regex import lazy

if TYPE_CHECKING:
    from qmd.engine.given import Given
    from qmd.store.base import Store
    from qmd.types import Config, Pack

#: The most characters of the name of a session.
MAX_SESSION = 200
_ID = lazy(r"[0-9a-f]{8}")


class PackRequest(Struct, frozen=True):
    """A pack to make.

    Attributes:
        search: The goal as a hybrid search, with its filters and the most tokens of the pack as it is shown.
        since: The id or the text of an earlier pack: give only new or changed passages since.
        session: A name; passages that it was given before are named in a line.
        again: Whether such passages are repeated.
    """

    search: SearchRequest
    since: str | None = None
    session: str | None = None
    again: bool = False


def make_pack(
    store: Store,
    config: Config,
    run: Run,
    request: PackRequest,
    given: Given,
    render: Renderer = markdown.render,
) -> Pack:
    """Return the pack for a request, and remember its passages.

    Raises `UsageError` for values out of range, `NotFoundError` if the id of an earlier pack is not known,
    and as a hybrid search.
    """
    tokens = DEFAULT_TOKENS if request.search.tokens is None else request.search.tokens
    if len(request.session or "") > MAX_SESSION:
        raise UsageError(f"session is too long (more than {MAX_SESSION} characters)")
    before = {} if request.session is None or request.again else given.of(_session(request.session))
    known = Known(before, _unchanged_since(request.since, given))
    packed = Packer(store, config, run, tokens, known, render).pack(request.search)
    # A pack without passages is remembered by its name alone.
    given.add(_pack(packed.pack.id), packed.paragraphs or {passage_hash(packed.pack.id): ""})
    if request.session is not None:
        given.add(_session(request.session), packed.paragraphs)
    return packed.pack


def _unchanged_since(since: str | None, given: Given) -> Callable[[str], bool]:
    """Return whether a paragraph is in an earlier pack."""
    if since is None:
        return lambda text: False
    if _ID.fullmatch(since):
        known = given.of(_pack(since))
        if not known:
            raise NotFoundError(f"no pack {since} is remembered", "give the file with the pack")
        return lambda text: passage_hash(text) in known
    texts = "\n\n".join(cited.text for cited in read_pack(since))
    return lambda text: markdown.escaped(text) in texts


# Packs and sessions have names of their own.
def _pack(id_: str) -> str:
    return f"pack {id_}"


def _session(name: str) -> str:
    return f"session {name}"
