"""Checking the citations and quotations of a text against the indexed documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from msgspec.structs import replace

from qmd.engine.access.rules import Rule
from qmd.engine.deadline import Deadline
from qmd.engine.documents.library import Library, Version
from qmd.engine.parts import Part
from qmd.engine.workspace import Workspace
from qmd.errors import NotFoundError, SourceError, UsageError
from qmd.features.evidence.citations import MAX_CITATIONS, Citation, citations, place_at
from qmd.features.evidence.edited import Edited
from qmd.features.evidence.quotations import assigned, by_citation, is_quoted
from qmd.features.evidence.standing import stands
from qmd.features.evidence.targets import Resolver, Target
from qmd.features.evidence.types import CitationCheck, CitationReport, Lines, Standing, Verdict
from qmd.features.evidence.verbatim import LineNumbers, VerbatimWords
from qmd.text.anchors import LINE, anchor_at, span
from qmd.text.outline import find_section
from qmd.text.regex import lazy
from qmd.text.wording import plural
from qmd.types import Anchor, Document
from qmd.types.cancelling import Cancelled

#: The longest text that is checked, and the most text of documents that is read, in characters.
MAX_DRAFT = 2_000_000
_MAX_TEXT = 50_000_000
#: Seconds after which the citations that are left are not checked.
SECONDS = 60.0
_TIME_IS_UP = "not checked: the time was up"
_OTHERS = lazy("[\ud800-\udfff]")


class CitationMethods(Part):
    """The methods of `Index` that check citations."""

    _rules: Mapping[str, Rule] = {"cite_check": Rule(), "quote_check": Rule()}

    def cite_check(
        self,
        text: str,
        *,
        folder: str | None = None,
        timeout: float = SECONDS,
        cancelled: Cancelled | None = None,
    ) -> CitationReport:
        """Check every citation of a text, and the quotations that belong to them, against the documents.

        A file that was edited since it was indexed is read as it is now.

        Args:
            text: The text, such as a draft in Markdown.
            folder: The folder on disk from which relative links lead; None if they are paths of the index.
            timeout: The seconds after which the citations that are left are not checked.
            cancelled: Called before each document; the call ends if it returns true.

        Raises:
            UsageError: If the text is too long or has too many citations.
            CancelledError: If the call was cancelled.
        """
        if len(text) > MAX_DRAFT:
            raise UsageError(f"the text has more than {MAX_DRAFT:,} characters", "check its parts")
        # Offsets stay. A file may have other line ends, and bytes that are no text.
        text = _OTHERS.sub("\ufffd", text.replace("\r\n", " \n").replace("\r", "\n"))
        found = citations(text)
        if len(found) > MAX_CITATIONS:
            raise UsageError(f"the text has more than {MAX_CITATIONS:,} citations", "check its parts")
        resolver = Resolver(_CitedReader(self._workspace, Edited(self._workspace)), text, folder)
        deadline, finding = Deadline(timeout, cancelled), Deadline(timeout / 2, cancelled)
        targets: list[Target] = []
        doubtful: set[int] = set()
        for citation in found:
            deadline.check()
            late = Target(citation, None, None, "unchecked", _TIME_IS_UP)
            target = late if finding.passed() else resolver.target(citation)
            if target.document is None and not citation.certain:
                if not citation.possible:
                    continue
                doubtful.add(len(targets))
            targets.append(target)
        pairs, uncited = assigned(text, [target.citation for target in targets], doubtful)
        quotations = by_citation(pairs)
        # Citations inside of a quotation are those of its source.
        doubtful |= {
            number
            for number, target in enumerate(targets)
            if target.document is None and is_quoted(target.citation, pairs)
        }
        judged = [
            (target, quotations.get(number, ()))
            for number, target in enumerate(targets)
            if number in quotations or number not in doubtful
        ]
        judge = _Judge(resolver.library, text)
        # Each text is compared once, for all its citations.
        judged.sort(key=lambda pair: -1 if pair[0].document is None else pair[0].document.id)
        checks: list[CitationCheck] = []
        for target, quoted in judged:
            deadline.check()
            if deadline.passed():
                target = replace(target, standing="unchecked", message=_TIME_IS_UP)
            checks += judge.checks(target, [quotation.words for quotation in quoted])
        return CitationReport(tuple(sorted(checks, key=lambda check: check.start)), uncited)

    def quote_check(self, reference: str, quote: str) -> CitationCheck:
        """Tell if a quotation stands in a document, or in the lines that a reference names, and its place.

        Raises as `get`.
        """
        library = _CitedReader(self._workspace)
        document, first, count = library.place(reference)
        if not len(VerbatimWords(quote)):
            raise UsageError("the quotation has no words")
        cited = None if first is None else (first, first if count is None else first + count - 1)
        citation = Citation(0, len(reference), "code", reference, "", 0, len(reference))
        judge = _Judge(library, reference)
        (check,) = judge.checks(Target(citation, document, cited), [quote])
        return check


class _CitedReader(Library):
    """Reads each document once, and looks for each reference once."""

    def __init__(self, workspace: Workspace, version: Version | None = None) -> None:
        super().__init__(workspace.store, workspace.config, version)
        self._total = 0
        self.text = cache(self._text)  # type: ignore[method-assign]
        self.anchors = cache(super().anchors)  # type: ignore[method-assign]
        self.find = cache(super().find)  # type: ignore[method-assign]
        self.place = cache(super().place)  # type: ignore[method-assign]
        self.section = cache(super().section)  # type: ignore[method-assign]

    def _text(self, document: Document) -> str:
        text = super().text(document)
        self._total += len(text)
        if self._total > _MAX_TEXT:
            raise UsageError("the documents that are cited are too long together", "check parts of the text")
        return text


class _Judge:
    """Tells the standing of citations. Words are divided once if citations of a text follow one another."""

    def __init__(self, library: Library, text: str) -> None:
        self._library = library
        self._text = text
        self._lines = LineNumbers(text)
        self._words: tuple[int, VerbatimWords] | None = None
        self._verdicts: dict[tuple[int, Lines | None, Standing, str], Verdict] = {}

    def checks(self, target: Target, quotes: Sequence[str]) -> list[CitationCheck]:
        """Return a check for each quotation of a citation, or one if there are none."""
        unread = target.document is None or target.standing == "unchecked"
        missing = Verdict(target.standing, reason=target.message) if unread else None
        if target.document is not None and missing is None:
            try:
                words, anchors = self._read(target.document)
            except (NotFoundError, SourceError) as error:
                missing = Verdict("absent", reason=error.message)
        if missing is not None:
            return [self._check(target, missing, quote) for quote in quotes or (None,)]
        if not quotes:
            return [self._check(target, _of_place(target, words), None, anchors)]
        verdicts = [self._of_quote(target, quote, words, anchors) for quote in quotes]
        replacement = self._replacement(target, verdicts, words, anchors)
        return [
            self._check(target, verdict, quote, anchors, replacement if verdict.standing == "moved" else None)
            for quote, verdict in zip(quotes, verdicts, strict=True)
        ]

    def _read(self, document: Document) -> tuple[VerbatimWords, Sequence[Anchor]]:
        if self._words is None or self._words[0] != document.id:
            self._words = document.id, VerbatimWords(self._library.text(document))
        return self._words[1], self._library.anchors(document)

    def _of_quote(
        self, target: Target, quote: str, words: VerbatimWords, anchors: Sequence[Anchor]
    ) -> Verdict:
        """Return the standing of a quotation. Equal ones are looked for once."""
        assert target.document is not None
        key = target.document.id, target.cited, target.standing, quote
        if key not in self._verdicts:
            title = self._library.title(target.document)
            self._verdicts[key] = _of_quote(target, quote, words, anchors, title)
        return self._verdicts[key]

    def _check(
        self,
        target: Target,
        verdict: Verdict,
        quote: str | None,
        anchors: Sequence[Anchor] = (),
        replacement: str | None = None,
    ) -> CitationCheck:
        citation, document = target.citation, target.document
        line = self._lines.of(citation.at)
        places = [address_of(document, place, anchors) for place in verdict.places] if document else []
        address = address_of(document, verdict.lines, anchors) if document and verdict.lines else None
        return CitationCheck(
            line=line,
            column=citation.at - self._text.rfind("\n", 0, citation.at),
            citation=self._text[citation.at : citation.to],
            standing=verdict.standing,
            message=_message(verdict, quote, address),
            quote=quote,
            file=None if document is None else document.file,
            address=address,
            first_line=verdict.lines and verdict.lines[0],
            last_line=verdict.lines and verdict.lines[1],
            text=verdict.text,
            difference=verdict.difference,
            candidates=target.candidates or tuple(places),
            start=citation.at,
            end=citation.to,
            replacement=replacement,
        )

    def _replacement(
        self, target: Target, verdicts: Sequence[Verdict], words: VerbatimWords, anchors: Sequence[Anchor]
    ) -> str | None:
        """Return a citation with the place of its quotations; None if not all of them stand there."""
        found = [
            verdict.lines for verdict in verdicts if verdict.standing in ("holds", "moved") and verdict.lines
        ]
        citation, document = target.citation, target.document
        written = self._text[citation.at : citation.to]
        if document is None or len(found) < len(verdicts) or not written.endswith(citation.place):
            return None
        lines = min(first for first, _ in found), max(last for _, last in found)
        sections = self._library.sections(document) if citation.place.startswith("#") else ()
        inner = [section for section in sections if section.first_line <= lines[0] <= section.last_line]
        heading = (
            inner[-1].heading if inner and find_section(sections, inner[-1].heading) == inner[-1] else ""
        )
        place = place_at(citation, lines, _anchor_address(lines, anchors), heading)
        return None if place is None else written[: len(written) - len(citation.place)] + place


def _of_place(target: Target, words: VerbatimWords) -> Verdict:
    """Tell whether the lines of a citation without quotations are there, and are not all empty."""
    if target.standing != "holds" or target.cited is None:
        return Verdict(target.standing, reason=target.message)
    numbers = words.line_numbers
    total = numbers.count - words.text.endswith("\n")
    first, last = target.cited
    if first > total or (last > total and "-" in target.citation.reference[len(target.citation.path) :]):
        return Verdict("absent", reason=f"the document has {plural(total, 'line')}")
    lines = first, min(last, total)
    end = len(words.text) if last >= total else numbers.start(last + 1)
    if not words.text[numbers.start(first) : end].strip():
        return Verdict("absent", reason="there is no text in these lines")
    return Verdict("holds", lines)


def _of_quote(
    target: Target, quote: str, words: VerbatimWords, anchors: Sequence[Anchor], title: str
) -> Verdict:
    """Return the place of a quotation in the lines that its citation names."""
    # Pages that are not there have no lines, so that a quotation on another page has moved.
    cited = (0, 0) if target.standing != "holds" else target.cited
    verdict = stands(words, quote, cited)
    if (
        verdict.standing not in ("holds", "absent")
        and anchors
        and anchors[0].kind == LINE
        and cited is not None
    ):
        # Who cites source code may count the lines of the file.
        total = words.text.count("\n") + 1
        if (lines := span(anchors, LINE, *cited, total)) and stands(words, quote, lines).standing == "holds":
            return stands(words, quote, lines)
    if verdict.standing != "holds" and VerbatimWords(quote).folded == VerbatimWords(title).folded:
        return Verdict("holds", target.cited)
    return verdict


def _anchor_address(lines: Lines, anchors: Sequence[Anchor]) -> str:
    """Return the place of lines in the source file, such as `p12` or `p12-13`; "" if it has none."""
    first, last = anchor_at(anchors, lines[0]), anchor_at(anchors, lines[1])
    if first is None or last is None:
        return ""
    return first.address if first.value == last.value else f"{first.address}-{last.value}"


def address_of(document: Document, lines: Lines, anchors: Sequence[Anchor]) -> str:
    """Return the address of some lines of a document: `notes/a.md:12-14`, or `report.pdf:p12`."""
    place = _anchor_address(lines, anchors) or (
        f"{lines[0]}" if lines[0] == lines[1] else f"{lines[0]}-{lines[1]}"
    )
    return f"{document.file}:{place}"


def _message(verdict: Verdict, quote: str | None, address: str | None) -> str:
    """Say the standing of a citation in a sentence."""
    match verdict.standing:
        case "holds" if quote is None:
            return "it is there; nothing is quoted"
        case "holds":
            return verdict.reason or "quoted exactly"
        case "moved":
            return f"it stands at {address}"
        case "inexact":
            return f"not quoted exactly at {address}: {verdict.reason}"
        case "changed":
            return f"not quoted exactly; the nearest words are at {address}"
    return verdict.reason
