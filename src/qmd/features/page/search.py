"""A search on the page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from qmd.api import operations
from qmd.engine.index import Index
from qmd.engine.requests import DEFAULT_SCORES, SearchRequest, of_document
from qmd.engine.retrieval.own_words import add_own_words
from qmd.errors import ConfigError, ForbiddenError, PluginError
from qmd.features.page.addresses import read_address
from qmd.features.page.filters import FACETS, Chip, Facet, chips, facet
from qmd.features.page.markdown import slug
from qmd.features.page.pages import safe
from qmd.features.page.rendered import Find, marked
from qmd.features.page.syntax import BLOCK_ID
from qmd.models.base import Cancelled
from qmd.ranking.calibration import RELATED
from qmd.search_options import SearchKind
from qmd.text.anchors import LINE
from qmd.text.highlight import Highlighter
from qmd.text.outline import heading_text
from qmd.text.query import as_typed
from qmd.text.question import Question
from qmd.text.wording import plain, visible
from qmd.types import Config, Hit, SearchResponse, SortOrder
from qmd.types.notes import Note, shown
from qmd.types.traces import ContractBlend, Fusion, KeywordMatch, Trace, TunedBlend, VectorMatch

Mode = Literal["words", "meaning", "both"]
MODES: Mapping[Mode, SearchKind] = {"words": "search", "meaning": "vsearch", "both": "query"}
#: Results while one types, results of a page, and the most.
FIRST = 10
PAGE = 20
MOST = 500
#: The documents beside one that are similar to it, and the least score of such a document.
RELATED_DOCUMENTS, LEAST_SIMILAR = 8, 0.2
_MAX_SNIPPET = 480
_MAX_TAGS = 6
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[^`\n]*")
_PREFIX = re.compile(r"\s*(?:>\s*)*(?:#{1,6}\s+|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)?")
_HEADING = re.compile(r"\s*(?:>\s*)*#{1,6}\s")
_CALLOUT = re.compile(r"\[!\w[\w-]*(?:\|[^\[\]]*)?\][+-]?\s*")
#: A marked text in a title: `==text==`, or a heading of a wiki.
_MARKED = re.compile(r"==[ \t]{0,5}([^=\n]{1,200}+)==")
_MARKS = re.compile(r"==|`|!?\[\[|\]\]")
_RULE = re.compile(r"[\s|:=*_-]*")
_FOUND_BY: Mapping[Mode, str] = {
    "words": "by words",
    "meaning": "by meaning",
    "both": "by words and meaning",
}
#: The formats whose texts are Markdown.
_MARKDOWN = frozenset(("markdown", "notebook", "transcript", "transcript-json", "opencode"))
_PARTS = {"lexical": "words", "vector": "meaning"}


class Wishes(Struct, frozen=True):
    """The wishes of a request. `mode` is None if it has none: then words come first.

    If `typing`, the last word may be unfinished.
    """

    query: str
    mode: Mode | None = None
    sort: SortOrder = "relevance"
    limit: int = PAGE
    offset: int = 0
    scores: bool = False
    typing: bool = False

    def parameters(self, **changes: Any) -> dict[str, str]:
        """Return the parameters of the address of this search, without defaults."""
        changed = replace(self, **changes)
        given = {
            "q": changed.query,
            "mode": changed.mode or "",
            "sort": "date" if changed.sort == "date" else "",
            "n": str(changed.limit) if changed.limit != PAGE else "",
            "from": str(changed.offset) if changed.offset else "",
            "scores": "1" if changed.scores else "",
        }
        return {name: value for name, value in given.items() if value}


class ResultPart(Struct, frozen=True):
    """A part of a score: its name, its share in percent, and its beginning in the bar."""

    name: str
    share: float
    start: float


class PageResult(Struct, frozen=True):
    """A hit as it is shown."""

    href: str
    file: str
    title: Markup
    crumbs: tuple[str, ...]
    section: Markup
    section_href: str  #: The address of the heading of the section
    date: str
    tags: tuple[str, ...]
    snippet: Markup
    line: int
    place: tuple[str, int] | None  #: The kind and number of the page, slide or cell
    percent: int
    parts: tuple[ResultPart, ...]
    notes: tuple[Note, ...]


class Results(Struct, frozen=True):
    """The results of a search as the engine has them: `hits`, and `less` that are hardly related.

    `notes` are the steps that did not run, and `found_by` names those that did.
    `mode` is that of the steps that ran: without vectors, a search by both is one by words.
    `total` is the number of results on all pages, if it is known, and `more` whether others follow.
    `indexed_at` is the time of the index: later changes of files are not in the results. `chips` are the
    filters in the query, and `waiting` is whether documents have no vectors yet.
    """

    asked: Wishes
    mode: Mode
    hits: tuple[PageResult, ...]
    less: tuple[PageResult, ...]
    facets: tuple[Facet, ...] | None  #: None if they were not asked for
    found_by: tuple[str, ...]
    notes: tuple[str, ...]
    more: bool
    total: int | None
    indexed_at: str | None
    chips: tuple[Chip, ...] = ()
    waiting: bool = False


def read_parameters(parameters: Mapping[str, str]) -> Wishes:
    """Return the wishes in the parameters of an address. Wrong values count as not given."""
    mode = parameters.get("mode", "")
    limit, offset = (
        int(number) if number.isascii() and number.isdigit() and len(number) < 6 else default
        for number, default in ((parameters.get("n", ""), PAGE), (parameters.get("from", ""), 0))
    )
    return Wishes(
        parameters.get("q", "").replace("\0", " ").strip()[:10_000],
        cast(Mode, mode) if mode in MODES else None,
        "date" if parameters.get("sort") == "date" else "relevance",
        min(max(limit, 1), MOST),
        offset,
        parameters.get("scores") == "1",
        parameters.get("live") == "1",
    )


def run(index: Index, asked: Wishes, cancelled: Cancelled, *, facets: bool) -> Results:
    """Search, without a mode by words.

    The last word also matches longer words while one types, and if nothing is found without.
    """
    mode: Mode = asked.mode or "words"
    query = asked.query
    if mode != "meaning" and (asked.typing or _is_unfinished(index, query, cancelled)):
        query = as_typed(query)
    request = SearchRequest(
        query,
        limit=asked.limit,
        offset=asked.offset,
        sort=asked.sort,
        explain=asked.scores,
        facets=tuple(FACETS) if facets else (),
    )
    response, indexed_at = operations.run(index, MODES[mode], request, cancelled)
    typed = chips(question := Question.read(asked.query).among(response.unknown_fields))
    if (
        asked.typing
        and not response.hits
        and typed
        and typed[-1].without
        and query.endswith(typed[-1].written)
    ):
        # The filter at the end is not complete yet, so it does not take away what is shown.
        return run(index, replace(asked, query=typed[-1].without), cancelled, facets=facets)
    hits = response.hits
    fields = index.fields_of([hit.file for hit in hits])
    marked_in = question if query == asked.query else Question.read(query).among(question.unknown)
    find = highlighter(index.config, marked_in)
    typing = query != asked.query
    results = tuple(_result(hit, asked.query, fields.get(hit.file, {}), find, typing=typing) for hit in hits)
    # Words that are not complete yet say little about what is related, and nothing about an answer.
    related = _related(index, asked, response, hits) if facets else len(hits)
    return Results(
        asked,
        _mode(response, mode),
        results[:related],
        results[related:],
        tuple(facet(name, counts, asked.query, typed) for name, counts in response.facets.items() if counts)
        if facets
        else None,
        tuple(_found_by(response, mode)),
        tuple(_notes(response, silent=() if facets else ("answer",))),
        response.more,
        response.total,
        indexed_at,
        tuple(typed),
        response.stage("embedding") is not None,
    )


def _is_unfinished(index: Index, query: str, cancelled: Cancelled) -> bool:
    """Return whether the words of a query find something only if the last one is a beginning."""
    typed = as_typed(query)

    def is_answered(query: str) -> bool:
        response, _ = operations.run(index, "search", SearchRequest(query, limit=1), cancelled)
        return bool(response.hits) and response.stage("answer") is None

    return typed != query and not is_answered(query) and is_answered(typed)


def related(index: Index, file: str, cancelled: Cancelled) -> tuple[list[str], list[PageResult]]:
    """Return the steps that could not run, and the documents that are similar to one and not linked to it."""
    request = of_document(SearchRequest(file, limit=RELATED_DOCUMENTS, unlinked=True))
    response = index.run("similar", request, cancelled=cancelled)
    # The scores of words alone are low.
    hits = [hit for hit in response.hits if hit.similar_to is None or hit.score >= LEAST_SIMILAR]
    fields = index.fields_of([hit.file for hit in hits])
    formats = {file: {"format": values.get("format", ())} for file, values in fields.items()}
    return [*_notes(response)], [_result(hit, "", formats.get(hit.file, {}), None) for hit in hits]


def saved(index: Index) -> dict[str, str]:
    """Return the queries of saved searches by name; none if the caller may not see them."""
    with suppress(ConfigError, ForbiddenError, PluginError):  # or if the feature is missing
        return {each.name: each.query for each in index.saved_searches()}
    return {}


def highlighter(config: Config, question: Question) -> Find | None:
    """Return a function that finds the words of a query and their synonyms in a text; None if it has none."""
    terms = add_own_words(config, question, []).terms.terms
    return Highlighter(terms).highlights if terms else None


def _result(
    hit: Hit,
    query: str,
    fields: Mapping[str, tuple[Any, ...]],
    find: Find | None,
    *,
    typing: bool = False,
) -> PageResult:
    is_markdown = _MARKDOWN.issuperset(map(str, fields.get("format", ())))
    passage = hit.snippet.text, hit.snippet.first_line, hit.title, hit.section
    snippet = plain_snippet(*passage, markdown=is_markdown)
    place = hit.file + (f":{hit.anchor.address}" if hit.anchor else "")
    line = hit.snippet.line
    section = (
        "" if hit.section == hit.title else hit.section.removeprefix(f"{hit.title} > ").replace(" > ", " › ")
    )
    live = 1 if typing else None
    section = _MARKED.sub(r"\1", section)
    return PageResult(
        href=read_address(hit.file, q=query, live=live, line=line if line > 1 else None)
        + ("#hit" if line > 1 else ""),
        file=hit.file,
        title=safe(marked(plain(_MARKED.sub(r"\1", hit.title)), find)),
        crumbs=tuple(visible(part) for part in place.split("/")),
        section=safe(marked(plain(section), find)),
        section_href=read_address(hit.file, q=query, live=live) + f"#{slug(section.rpartition(' › ')[2])}",
        date=hit.date[:10],
        tags=tuple(visible(str(tag)) for tag in fields.get("tag", ())[:_MAX_TAGS]),
        snippet=safe(marked(snippet, find)),
        line=line,
        place=(hit.anchor.kind, hit.anchor.value) if hit.anchor and hit.anchor.kind != LINE else None,
        percent=hit.percent,
        parts=tuple(_parts(hit.traces)),
        notes=tuple(shown(hit.notes, "page")),
    )


def plain_snippet(text: str, first_line: int, title: str, section: str = "", *, markdown: bool = True) -> str:
    """Return a passage of Markdown, or of another text, as plain text in one paragraph.

    The title and the section, which stand above it, are not repeated, and a dot divides other headings from
    what follows. A passage that begins or ends inside a sentence has an ellipsis there.
    """
    known = {title.casefold(), section.rpartition(" > ")[2].casefold()}
    lines = text.split("\n")
    if markdown and first_line == 1 and lines[0].rstrip() == "---":
        bare = [line.rstrip() for line in lines]
        lines = lines[1 + next((at for at in range(1, len(bare)) if bare[at] in ("---", "...")), 0) :]
    parts: list[str] = []
    for line in lines:
        shown = _without_markup(line) if markdown else line.strip()
        if "|" in shown and line.lstrip().startswith("|"):
            shown = " · ".join(filter(None, map(str.strip, shown.strip("| ").split("|"))))
        if not shown or (not parts and shown.casefold() in known):
            continue
        parts.append(f"{shown} ·" if markdown and _HEADING.match(line) else shown)
    joined = plain(" ".join(parts)).removesuffix(" ·")
    if len(joined) > _MAX_SNIPPET:
        joined = joined[:_MAX_SNIPPET].rsplit(" ", 1)[0]
    whole = not joined or unicodedata.category(joined[-1]) in ("Po", "Pe", "Pf")
    return ("… " if joined[:1].islower() else "") + joined + ("" if whole else " …")


def _without_markup(line: str) -> str:
    """Return a line of Markdown as it is read; "" for lines that divide, fences and comments."""
    if _FENCE.fullmatch(line) or _RULE.fullmatch(line) or line.lstrip().startswith("<!--"):
        return ""
    begin = _PREFIX.match(line)
    shown = heading_text(_CALLOUT.sub("", line[begin.end() :] if begin else line).replace("[[#", "[["))
    # The rest of a link was cut at the edge of the passage.
    return BLOCK_ID.sub("", _MARKS.sub("", shown))


def _related(index: Index, asked: Wishes, response: SearchResponse, hits: Sequence[Hit]) -> int:
    """Return how many of the first hits are about the subject, if the list is in order of estimates."""
    calibrated = (index.settings.scores or DEFAULT_SCORES) == "calibrated"
    if asked.sort == "date" or not calibrated or response.stage("calibrate") is not None:
        return len(hits)
    return next((at for at, hit in enumerate(hits) if hit.score < RELATED and not hit.pinned), len(hits))


def _ran(response: SearchResponse) -> set[str]:
    return {stage.stage for stage in response.stages if stage.status == "ran"}


def _mode(response: SearchResponse, asked: Mode) -> Mode:
    """Return the mode of the steps that ran; the one that was asked for if only filters did."""
    ran = _ran(response)
    if asked != "both" or ran.isdisjoint(("lexical", "vector")):
        return asked
    return "words" if "vector" not in ran else "both" if "lexical" in ran else "meaning"


def _found_by(response: SearchResponse, mode: Mode) -> Iterator[str]:
    ran = _ran(response)
    if not ran.isdisjoint(("lexical", "vector")) or (mode == "meaning" and "filter" not in ran):
        yield _FOUND_BY[_mode(response, mode)]
    if "rerank" in ran:
        yield "reranked"


def _notes(response: SearchResponse, silent: Sequence[str] = ()) -> Iterator[str]:
    for stage in response.stages:
        if stage.reason and stage.notable and stage.stage not in ("expand", "dates", *silent):
            yield stage.reason


def _parts(traces: Sequence[Trace]) -> Iterator[ResultPart]:
    """Return the parts of a score, each with its share of the whole."""
    weights: dict[str, float] = {}
    for trace in traces:
        match trace:
            case KeywordMatch():
                weights["words"] = 1.0
            case VectorMatch():
                weights["meaning"] = 1.0
            case Fusion(lists=lists):
                for each in lists:
                    name = _PARTS[each.list.partition(":")[0]]
                    weights[name] = weights.get(name, 0.0) + each.contribution
            case ContractBlend(rerank, fused, share):
                weights = _scaled(weights, share * fused) | {"reranker": (1.0 - share) * rerank}
            case TunedBlend(rerank, fused, title, cosine):
                weights = _scaled(weights, fused)
                weights["meaning"] = weights.get("meaning", 0.0) + cosine
                weights |= {"reranker": rerank, "title": title}
    positive = {name: value for name, value in weights.items() if value > 0}
    total, start = sum(positive.values()), 0.0
    for name, value in positive.items():
        share = 100 * value / total
        yield ResultPart(name, round(share, 1), round(start, 1))
        start += share


def _scaled(weights: Mapping[str, float], total: float) -> dict[str, float]:
    whole = sum(weights.values()) or 1.0
    return {name: total * value / whole for name, value in weights.items()}
