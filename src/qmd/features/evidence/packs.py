"""Packs for sessions: passages that the reader has already are not given again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Unpack, cast

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.access.rules import Rule
from qmd.engine.parts import Part
from qmd.engine.requests import DEFAULT_TOKENS, HybridSearchOptions, SearchRequest, make_request
from qmd.errors import NotFoundError, StoreError, UsageError
from qmd.features.evidence import markdown
from qmd.features.evidence.given import GivenInMemory
from qmd.features.evidence.markdown import read_pack
from qmd.features.evidence.packer import Known, Packer, Renderer, Run
from qmd.text.digest import passage_hash
from qmd.text.regex import lazy
from qmd.text.wording import escaped
from qmd.types import Stage

if TYPE_CHECKING:
    from qmd.engine.parts import Searches
    from qmd.features.evidence.given import Given
    from qmd.features.evidence.types import Pack
    from qmd.store.base import Store
    from qmd.types import Config, SearchResponse
    from qmd.types.cancelling import Cancelled

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


class PackMethods(Part):
    """The methods of `Index` that make packs."""

    _rules: Mapping[str, Rule] = {"pack": Rule(), "run_pack": Rule()}

    def pack(
        self,
        goal: str | SearchRequest,
        *,
        since: str | None = None,
        session: str | None = None,
        again: bool = False,
        **options: Unpack[HybridSearchOptions],
    ) -> Pack:
        """Return the evidence for a question or a task: passages by document, within `tokens` as Markdown.

        Args:
            goal: One question or several, or a task.
            since: The id or the text of an earlier pack: give only new or changed passages since.
            session: A name. Passages that it was given before are only named.
            again: Whether such passages are repeated.
            options: Those of `query`; `tokens` are 4,000 unless given.

        Raises:
            UsageError: A value is out of range.
            NotFoundError: The earlier pack is not known.
        """
        return self.run_pack(PackRequest(make_request("query", goal, options), since, session, again))

    def run_pack(
        self,
        request: PackRequest,
        *,
        run: Callable[[SearchRequest], SearchResponse] | None = None,
        given: Given | None = None,
        render: Callable[[Pack], str] | None = None,
        cancelled: Cancelled | None = None,
    ) -> Pack:
        """Make a pack. Raises as `pack`, and `CancelledError` as soon as `cancelled` returns true.

        Args:
            request: The goal and its limits.
            run: Runs the searches; by default this index does.
            given: Remembers the passages of sessions; by default as long as the index is open.
            render: Makes the text that must fit into the tokens; by default Markdown.
            cancelled: Whether the caller has left.
        """
        index = cast("Searches", self)
        remembered = vars(self).setdefault("_given", GivenInMemory())
        return make_pack(
            self._workspace.store,
            self._workspace.config,
            run or (lambda search: index.run("query", search, cancelled=cancelled)),
            request,
            given or remembered,
            render or markdown.render,
        )


def make_pack(
    store: Store,
    config: Config,
    run: Run,
    request: PackRequest,
    given: Given,
    render: Renderer = markdown.render,
) -> Pack:
    """Return the pack for a request, and remember its passages. If it cannot, a stage of the pack says so.

    Raises `UsageError` for values out of range, `NotFoundError` if the id of an earlier pack is not known,
    and as a hybrid search.
    """
    request.search.checked()
    tokens = DEFAULT_TOKENS if request.search.tokens is None else request.search.tokens
    if len(request.session or "") > MAX_SESSION:
        raise UsageError(f"session is too long (more than {MAX_SESSION} characters)")
    before = {} if request.session is None or request.again else given.of(_session(request.session))
    known = Known(before, _unchanged_since(request.since, given))
    packed = Packer(store, config, run, tokens, known, render).pack(request.search)
    try:
        # A pack without passages is remembered by its name alone.
        given.add(_pack(packed.pack.id), packed.paragraphs or {passage_hash(packed.pack.id): ""})
        if request.session is not None:
            given.add(_session(request.session), packed.paragraphs)
    except StoreError as error:
        unremembered = Stage("session", "failed", f"the pack is not remembered: {error.message}")
        return replace(packed.pack, stages=(*packed.pack.stages, unremembered))
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
    return lambda text: escaped(text) in texts


# Packs and sessions have names of their own.
def _pack(id_: str) -> str:
    return f"pack {id_}"


def _session(name: str) -> str:
    return f"session {name}"
