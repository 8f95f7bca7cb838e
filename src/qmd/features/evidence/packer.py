"""Make packs: search for each question of a goal, choose paragraphs, and fit them into the tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from qmd.engine.requests import SearchRequest
from qmd.engine.retrieval.filters import Asked, read_request, scope_of
from qmd.engine.retrieval.queries import main_search, read_query_document
from qmd.errors import TokensError
from qmd.features.evidence import choice, markdown
from qmd.features.evidence.candidates import CandidateSource, sources
from qmd.features.evidence.choice import contained, shingles
from qmd.features.evidence.citing import address_of
from qmd.features.evidence.questions import questions
from qmd.features.evidence.types import Pack, PackedPassage
from qmd.search_options import MAX_PASSAGES
from qmd.store.base import Store
from qmd.text import budget
from qmd.text.budget import cuts
from qmd.text.data_uris import largest_free
from qmd.text.dates import stated
from qmd.text.digest import passage_hash
from qmd.text.outline import sections
from qmd.text.query import LexicalQuery
from qmd.text.regex import lazy
from qmd.text.wording import escaped, inert, inert_address
from qmd.types import Config, Document, SearchResponse, Section
from qmd.types.notes import OF_SEARCHES

#: The documents whose paragraphs are candidates for each question.
DOCUMENTS = 30
#: Characters of the hash that a pack shows of a passage.
HASH = 8
#: The most words of a goal that are looked up, and the most addresses of copies that a passage names.
_WORDS, _COPIES = 50, 5
#: Paragraphs with less relevance are not worth naming when they are left out.
_RELEVANT = 0.1
#: A gap of so many characters between two paragraphs is no blank line, but a picture.
_PICTURE = 40
_HEADINGS = lazy(r"(?:\s*#{1,6}[ \t][^\n]*(?:\n|\Z))+")
#: The cost of the fence around a passage, and a line that names a passage given before.
_FENCE, _AGAIN = 6, 6

Run = Callable[[SearchRequest], SearchResponse]
Renderer = Callable[[Pack], str]


class Known(Struct, frozen=True):
    """The passages that the reader of a pack has already.

    Attributes:
        given: The addresses of paragraphs that the session was given, by hash; they are named in a line.
        unchanged: Whether a paragraph is in the pack since which this one is; it is left out.
        skip: Whether what was found in a paragraph is passed over, so that nothing beside it is chosen.
    """

    given: Mapping[str, str] = {}
    unchanged: Callable[[str], bool] = lambda text: False
    skip: Callable[[str], bool] = lambda text: False


class Packed(Struct, frozen=True):
    """A pack, and its paragraphs by their hashes.

    Attributes:
        pack: The pack.
        paragraphs: The addresses of the paragraphs that it shows, names or leaves out as unchanged.
        shown: The address of the passage, and the relevance, of each paragraph that it shows or names.
    """

    pack: Pack
    paragraphs: Mapping[str, str]
    shown: Mapping[str, tuple[str, float]]


class _Paragraph(Struct, frozen=True):
    """A candidate: its place in the list of sources, its span, and what is known of it."""

    source: int
    place: int
    start: int
    end: int
    hash: str
    again: bool
    unchanged: bool


class Packer(Struct):
    """Makes the pack of one goal, of at most `most` passages if that is given.

    `render` makes the text that must fit into the tokens.
    """

    store: Store
    config: Config
    run: Run
    tokens: int
    known: Known = Known()
    render: Renderer = markdown.render
    most: int | None = None

    def pack(self, request: SearchRequest) -> Packed:
        """Return the pack for a request, whose query is the goal. Raises as a hybrid search."""
        read = read_request(self.store, self.config, read_query_document(request))
        goal = request.query
        if request.searches:
            goal = request.searches[main_search([each.type for each in request.searches])].query
        request = read.request
        asked = (
            [request]
            if request.searches
            else [replace(request, query=question) for question in questions(request.query)]
        )
        responses = [self.run(self._search(each)) for each in asked]
        unanswered = tuple(
            response.query
            for response in responses
            if not response.hits or response.stage("answer") is not None
        )
        stages = {(stage.stage, stage.reason): stage for response in responses for stage in response.stages}
        empty = Pack(
            goal=goal,
            id="0" * HASH,
            passages=(),
            missing=self._missing(read),
            unanswered=unanswered,
            more=10_000,
            unchanged=10_000,
            tokens=self.tokens,
            stages=tuple(stage for stage in stages.values() if stage.notable),
        )
        return self.fitted(empty, responses)

    def _search(self, request: SearchRequest) -> SearchRequest:
        return replace(
            request,
            limit=DOCUMENTS,
            passages=MAX_PASSAGES,
            scores="calibrated",
            context_lines=None,
            full=False,
            explain=False,
            facets=(),
            tokens=None,
        )

    def _missing(self, read: Asked) -> tuple[str, ...]:
        """Return the words of the goal that no document has that the search covers."""
        scope = replace(scope_of(self.store, self.config, read.request), where=None)
        questions = [query.question for query in read.queries if query.type != "hyde"]
        terms = dict.fromkeys(
            term for question in questions for term in question.terms.required if not term.prefix
        )
        return tuple(
            dict.fromkeys(
                " ".join(term.words)
                for term in [*terms][:_WORDS]
                if not self.store.lexical.search(LexicalQuery((term,)), scope, 1, longer=False).matches
            )
        )

    def fitted(self, empty: Pack, responses: Sequence[SearchResponse]) -> Packed:
        """Return the pack with as many paragraphs of the hits as fit, one response for each question.

        Raises `TokensError` if not even the pack without passages fits.
        """
        found = sources(self.store, [response.hits for response in responses], self.known.skip)
        candidates = [
            each for number, source in enumerate(found) for each in self._paragraphs(number, source)
        ]
        weighed = [_weighed(each, found[each.source]) for each in candidates]

        def own(number: int, taken: Set[int]) -> choice.Paragraph | None:
            source = found[candidates[number].source]
            rest = _own(candidates[number], source, taken)
            if rest is None:
                return None
            candidates[number] = rest
            return _weighed(rest, source)

        chosen = choice.choose(weighed, self.tokens - budget.count(self.render(empty)), own)
        best_first = chosen.chosen
        while True:
            packed = self._assembled(empty, found, candidates, best_first, chosen)
            tokens = budget.count(self.render(packed.pack))
            if tokens <= self.tokens and (self.most is None or len(packed.pack.passages) <= self.most):
                return replace(packed, pack=replace(packed.pack, tokens=tokens))
            if not best_first:
                raise TokensError(
                    f"tokens {self.tokens} is too little for this answer",
                    f"raise it to {tokens}",
                    least=tokens,
                )
            best_first = best_first[:-1]

    def _paragraphs(self, number: int, source: CandidateSource) -> list[_Paragraph]:
        paragraphs = []
        for place in sorted(source.relevance):
            start, end = largest_free(source.text, *source.spans[place])
            if start == end:
                continue  # only a picture
            text = source.text[start:end]
            hash_ = passage_hash(text)
            unchanged = self.known.unchanged(text) or self.known.unchanged(body(text))
            again = not self.known.given.keys().isdisjoint(_hashes(text)) and not unchanged
            paragraphs.append(_Paragraph(number, place, start, end, hash_, again, unchanged))
        return paragraphs

    def _assembled(
        self,
        empty: Pack,
        found: Sequence[CandidateSource],
        candidates: Sequence[_Paragraph],
        best_first: Sequence[int],
        chosen: choice.Choice,
    ) -> Packed:
        """Return the pack with some of the candidates, by number: neighbours joined, in reading order."""
        documents = dict.fromkeys(candidates[number].source for number in best_first)
        copies = _copies(chosen)
        passages: list[PackedPassage] = []
        known: dict[str, str] = {}
        shown: dict[str, tuple[str, float]] = {}
        for source in documents:
            its = sorted(number for number in best_first if candidates[number].source == source)
            outline = sections(found[source].text, found[source].structure)
            for run in _runs([number for number in its if not candidates[number].unchanged], candidates):
                first, last = candidates[run[0]], candidates[run[-1]]
                also = _joined(found, candidates, [each for number in run for each in copies.get(number, ())])
                passages.append(_passage(found[source], outline, first, last, len(passages) + 1, also))
                for each in map(candidates.__getitem__, run):
                    shown[each.hash] = passages[-1].address, max(found[source].relevance[each.place])
            for each in map(candidates.__getitem__, its):
                text = found[source].text[each.start : each.end]
                known |= dict.fromkeys(_hashes(text), _address(found[source], each.start, each.end))
        # Packs without passages differ by their goal, and by what they leave out as unchanged.
        identity = [f"{each.address} {each.hash}" for each in passages] or ["", empty.goal, *known]
        pack = replace(
            empty,
            id=passage_hash("\n".join(identity))[:HASH],
            passages=tuple(passages),
            more=sum(
                max(found[candidates[number].source].relevance[candidates[number].place]) >= _RELEVANT
                for number in (*chosen.left_out, *chosen.chosen[len(best_first) :])
            ),
            unchanged=sum(candidates[number].unchanged for number in best_first),
        )
        return Packed(pack, known, shown)


def _own(paragraph: _Paragraph, source: CandidateSource, taken: Set[int]) -> _Paragraph | None:
    """Return the sentences of a near copy, from the first to the last, that the shingles taken do not have.

    None if they have all. A paragraph that is only named is named whole.
    """
    if paragraph.again or paragraph.unchanged:
        return None
    text = source.text[paragraph.start : paragraph.end]
    ends = [0, *cuts(text, ()), len(text)]
    new = [
        (start, end)
        for start, end in pairwise(ends)
        if (words := shingles(text[start:end])) and contained(words, taken) < choice.COPY
    ]
    if not new:
        return None
    start, end = new[0][0], new[-1][1]
    start += len(text[start:end]) - len(text[start:end].lstrip())
    return replace(paragraph, start=paragraph.start + start, end=paragraph.start + end)


def body(text: str) -> str:
    """Return a paragraph without the headings above it, which change if a document is renamed."""
    headings = _HEADINGS.match(text)
    return text[headings.end() :].strip() or text if headings else text


def _hashes(text: str) -> list[str]:
    """Return the hashes by which a paragraph is known: also without its headings."""
    return [passage_hash(text), passage_hash(body(text))]


def _weighed(paragraph: _Paragraph, source: CandidateSource) -> choice.Paragraph:
    text = source.text[paragraph.start : paragraph.end]
    address = _address(source, paragraph.start, paragraph.end)
    frame = budget.count(f"[10] {address} {'0' * HASH} {_day(source.document)}") + _FENCE
    frame += sum(budget.count(note.line) for note in _notes(source).values() if not note.apart)
    price = 0 if paragraph.unchanged else budget.count(address) + _AGAIN if paragraph.again else None
    return choice.Paragraph(
        document=paragraph.source,
        place=paragraph.place,
        tokens=budget.count(text),
        frame=frame,
        relevance=tuple(source.relevance[paragraph.place]),
        shingles=shingles(text),
        price=price,
    )


def _copies(chosen: choice.Choice) -> dict[int, list[int]]:
    """Return the near copies of each chosen candidate."""
    copies: dict[int, list[int]] = {}
    for copy, original in chosen.copies.items():
        copies.setdefault(original, []).append(copy)
    return copies


def _joined(
    found: Sequence[CandidateSource], candidates: Sequence[_Paragraph], copies: Sequence[int]
) -> tuple[str, ...]:
    """Return the addresses of copies, of neighbours together."""
    runs: list[list[_Paragraph]] = []
    for each in sorted((candidates[number] for number in copies), key=lambda each: (each.source, each.place)):
        last = runs[-1][-1] if runs else None
        if last is not None and (last.source, last.place + 1) == (each.source, each.place):
            runs[-1].append(each)
        else:
            runs.append([each])
    return tuple(_address(found[run[0].source], run[0].start, run[-1].end) for run in runs[:_COPIES])


def _runs(numbers: Sequence[int], candidates: Sequence[_Paragraph]) -> list[list[int]]:
    """Return the numbers of neighbours together that are both new or both given before."""
    runs: list[list[int]] = []
    for number in numbers:
        before = candidates[runs[-1][-1]] if runs else None
        this = candidates[number]
        near = before is not None and this.start - before.end < _PICTURE
        if before is not None and near and before.place + 1 == this.place and before.again == this.again:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _passage(
    source: CandidateSource,
    outline: Sequence[Section],
    first: _Paragraph,
    last: _Paragraph,
    number: int,
    also: tuple[str, ...],
) -> PackedPassage:
    text = source.text[first.start : last.end]
    lines = _lines(source.text, first.start, last.end)
    return PackedPassage(
        number=number,
        file=inert_address(source.document.file),
        place=address_of(source.document, lines, source.anchors).removeprefix(f"{source.document.file}:"),
        first_line=lines[0],
        last_line=lines[1],
        hash=passage_hash(escaped(text))[:HASH],
        section=inert(_section(outline, lines[0]) or _section(outline, lines[1])),
        date=_day(source.document),
        score=max(source.scores),
        also=tuple(map(inert_address, also)),
        again=first.again,
        text="" if first.again else inert(text),
        **_notes(source),
    )


def _day(document: Document) -> str:
    """Return the day of a document; "" if it is that of the file, which a model would take for the facts'."""
    return stated(document.date, document.modified_ns)[:10]


def _notes(source: CandidateSource) -> dict[str, Any]:
    """Return what there is to say of a document that its passages have room for, by key."""
    names = PackedPassage.__struct_fields__
    found = (note for note in source.notes if note.key in names and not isinstance(note, OF_SEARCHES))
    return {note.key: note.inert(inert_address, inert) for note in found}


def _section(outline: Sequence[Section], line: int) -> str:
    return " > ".join(each.heading for each in outline if each.first_line <= line <= each.last_line)


def _lines(text: str, start: int, end: int) -> tuple[int, int]:
    first = text.count("\n", 0, start) + 1
    return first, first + text.count("\n", start, end)


def _address(source: CandidateSource, start: int, end: int) -> str:
    return address_of(source.document, _lines(source.text, start, end), source.anchors)
