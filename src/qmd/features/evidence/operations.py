"""The operations on packs and citations: their arguments, their functions and their answers."""

from __future__ import annotations

from typing import Annotated, Any, Self

from msgspec import UNSET, Meta, Struct, UnsetType

from qmd.api.arguments import SearchArguments, search_arguments
from qmd.api.operation import Operation
from qmd.api.operations import as_json
from qmd.api.reading import Request
from qmd.api.results import Stage, stages_of
from qmd.engine.index import Index
from qmd.features.evidence.packs import MAX_SESSION, PackRequest
from qmd.features.evidence.types import CitationCheck, Pack, PackedPassage
from qmd.models.base import Cancelled
from qmd.search_options import OF_HITS
from qmd.text.wording import plural

#: Seconds after which the citations of a request that are left are not checked.
CITE_SECONDS = 10.0
#: The arguments of packs beside those of a search: their types and defaults.
OF_PACKS: dict[str, Any] = {
    "since": (
        Annotated[str, Meta(description="The id or the text of an earlier pack: give what is new since.")]
        | None,
        None,
    ),
    "session": (
        Annotated[str, Meta(max_length=MAX_SESSION, description="Name what it was given before.")] | None,
        None,
    ),
    "again": (Annotated[bool, Meta(description="Repeat what was given before.")], False),
}


PackBody = search_arguments(
    "query",
    "PackBody",
    "The goal as `query`: a question, several, or a task. The answer has at most 4,000 tokens unless "
    "`tokens` says otherwise.",
    without=OF_HITS,
    more=OF_PACKS,
)


class CiteBody(Request):
    """A text with citations, such as a draft in Markdown. `fix` asks for it with citations rewritten."""

    text: str
    fix: bool = False


def pack_request(arguments: SearchArguments) -> PackRequest:
    """Return the request for the engine. Raises as `SearchArguments.request`."""
    names = OF_PACKS.keys() & {*arguments.__struct_fields__}
    return PackRequest(arguments.request(), **{name: getattr(arguments, name) for name in names})


class PackResult(Struct, frozen=True):
    """A pack: its passages in reading order by document.

    `missing` are the words of the goal that no document has, and `unanswered` its questions that nothing
    seems to answer. `more` relevant passages were left out to stay within `tokens`, and `unchanged` ones
    because they are in the earlier pack.
    """

    id: str
    passages: tuple[PackedPassage, ...]
    missing: tuple[str, ...]
    unanswered: tuple[str, ...]
    more: int
    unchanged: int
    stages: tuple[Stage, ...]
    indexed_at: str | None
    content: None

    @classmethod
    def of(cls, pack: Pack, indexed_at: str | None) -> Self:
        """Return the result for a pack of the engine."""
        return cls(
            pack.id,
            pack.passages,
            pack.missing,
            pack.unanswered,
            pack.more,
            pack.unchanged,
            stages_of(pack.stages),
            indexed_at,
            content=None,
        )


class Citations(Struct, frozen=True):
    """The citations of a text in order, how many do not hold, and how many quotations have no citation.

    `fixed` is the text with rewritten citations, if the request asks for it.
    """

    checks: tuple[CitationCheck, ...]
    failed: int
    uncited: int
    indexed_at: str | None
    content: str
    fixed: str | UnsetType = UNSET


def pack(index: Index, body: SearchArguments, cancelled: Cancelled) -> PackResult:
    """Collect the passages for a question or a task within some tokens: whole, each once, by document."""
    indexed_at = index.indexed_at()

    def printed(pack: Pack) -> str:
        return as_json(PackResult.of(pack, indexed_at))

    return PackResult.of(
        index.limited(agent=True).run_pack(pack_request(body), render=printed, cancelled=cancelled),
        indexed_at,
    )


def cite(index: Index, body: CiteBody, cancelled: Cancelled) -> Citations:
    """Check what a text cites and quotes: whether it holds, moved, changed, or is absent or ambiguous."""
    indexed_at = index.indexed_at()
    report = index.cite_check(body.text, timeout=CITE_SECONDS, cancelled=cancelled)
    wrong = [f"{each.line}: {each.citation} {each.standing}: {each.message}" for each in report.failed]
    return Citations(
        checks=report.checks,
        failed=len(wrong),
        uncited=report.uncited,
        indexed_at=indexed_at,
        content="\n".join([plural(len(report.checks), "citation", separator=""), *wrong]),
        fixed=report.fixed(body.text) if body.fix else UNSET,
    )


PACK = Operation(
    "POST /pack",
    pack,
    body={"query": "how do I ship a release? who approves it?", "tokens": 1000},
    given=PackBody,
    query=("query", "searches"),
    missing=True,
    models=True,
    command="pack",
    after="POST /query",
)
CITE = Operation(
    "POST /cite",
    cite,
    body={"text": 'Deploy "with make" (notes/ops/deploy.md:3).'},
    apart=True,
    command="cite check",
    after="POST /multi_get",
)
