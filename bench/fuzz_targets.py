"""The targets of `fuzz.py`: for each reader, its inputs and the checks of its results."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

import common  # noqa: F401 - makes this copy of qmd the one that is imported
from fuzz_inputs import EDITS, ENCODINGS, FILES, LINES, NAMES, QUERIES, TEXTS, chunkings, encoded, tool_calls
from qmd.errors import QmdError
from qmd.types import Config

Check = Callable[[Any], None]


class Target(Struct, frozen=True):
    """A reader of untrusted input. `prepared` yields a function that tries one of the `inputs`."""

    name: str
    inputs: st.SearchStrategy[Any]
    prepared: Callable[[], AbstractContextManager[Check]]
    #: The seconds that an input may take. All inputs are small.
    patience: float = 10.0


def _refused(error: QmdError) -> None:
    """Check that a refusal has a message."""
    assert error.message.strip()


# -- Markdown files ------------------------------------------------------------------------------------------


@contextmanager
def _reading() -> Iterator[Check]:
    from qmd.sources.formats.registry import Readers
    from qmd.sources.reading import read_all
    from qmd.text.markdown.reading import read
    from qmd.text.outline import MAX_TITLE
    from qmd.types import Fingerprint, SourceFile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")

        def check(given: tuple[str, bytes, str | None]) -> None:
            name, data, encoding = given
            Path(path).write_bytes(data)
            file = SourceFile(name, path, Fingerprint(0, 0, 0))
            (outcome,) = read_all([file], Readers((), encoding))
            if outcome.error is not None:
                _refused(outcome.error)
                return
            ((_, source, _),), fingerprint = outcome.documents, outcome.fingerprint
            assert fingerprint is not None
            text = source.text
            assert "\r" not in text
            assert "\0" not in text
            assert fingerprint.size == len(data)
            assert source.hash == hashlib.sha256(text.encode()).hexdigest()
            assert len(source.title) <= MAX_TITLE
            assert source.title == " ".join(source.title.split())
            assert source.title or not name.strip("\u202e.md")
            reading = read(text)
            body = reading.structure.body
            assert body == 0 or text[body - 1] == "\n" or body == len(text)
            found = reading.blocks
            assert reading.structure.fits(text)
            for block in found:
                assert body <= block.start < block.end <= len(text)
                assert block.start in (0, body) or text[block.start - 1] == "\n"
            for before, after in pairwise(found):
                assert before.end <= after.start

        yield check


# -- the chunker ---------------------------------------------------------------------------------------------


@contextmanager
def _chunking() -> Iterator[Check]:
    from qmd.config.paths import cache_dir
    from qmd.models.e5.embedder import load_embedder
    from qmd.text.chunking import chunk
    from qmd.text.markdown.reading import read

    real = load_embedder(Path(cache_dir(os.environ))).tokenizer

    def check(given: tuple[str, str | None, int, int, int, int]) -> None:
        text, pattern, repeat, target, overlap, window = given
        if pattern is None:
            offsets = real.offsets(text)
        else:
            offsets = [match.span() for match in re.finditer(pattern, text) for _ in range(repeat)]
        structure = read(text).structure
        chunks = chunk(text, offsets, structure, target=target, overlap=overlap, window=window)
        assert bool(chunks) == bool(text.strip())
        if not chunks:
            return
        assert (chunks[0].start, chunks[-1].end) == (0, len(text))
        for number, part in enumerate(chunks):
            assert part.seq == number
            held = _tokens_in(offsets, part.start, part.end)
            assert held <= target or part.end - part.start == 1
            assert part.first_line == 1 + text.count("\n", 0, part.start)
            assert part.last_line == 1 + text.count("\n", 0, part.end - 1)
        for before, after in pairwise(chunks):
            assert before.start < after.start <= before.end < after.end
        for start, end in structure.verbatim_spans():
            if _tokens_in(offsets, start, end) <= target:
                assert not any(start < part.start < end or start < part.end < end for part in chunks)

    yield check


def _tokens_in(offsets: Sequence[tuple[int, int]], start: int, end: int) -> int:
    """Return the number of tokens with a part in [start, end)."""
    starts = [span[0] for span in offsets]
    ends = [span[1] for span in offsets]
    return bisect_left(starts, end) - min(bisect_right(ends, start), bisect_left(starts, start))


# -- queries -------------------------------------------------------------------------------------------------


@contextmanager
def _parsing() -> Iterator[Check]:
    import apsw

    from qmd.store.sqlite.terms import expression
    from qmd.text import tokens
    from qmd.text.highlight import Highlighter
    from qmd.text.query import longer_words, parse, parse_document

    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE f USING fts5(body, tokenize='ascii')")

    def check(given: tuple[str, str]) -> None:
        text, document = given
        query = parse(text)
        longer = [term for term in map(longer_words, query.terms) if term is not None]
        for term in (*query.terms, *query.negative, *longer):
            db.execute("SELECT count(*) FROM f WHERE f MATCH ?", (expression(term),)).fetchall()
        marker = Highlighter(query.terms)
        every = [(*span, weight) for span in tokens.spans(document) if (weight := marker.weight(span[2]))]
        assert marker.find(document) == sorted(every, key=lambda match: match[:2])
        try:
            read = parse_document(text)
        except QmdError as error:
            _refused(error)
            return
        assert (read.expand is None) != (not read.searches)
        assert all(each.query.strip() for each in read.searches)

    yield check
    db.close()


# -- index.yml -----------------------------------------------------------------------------------------------


@contextmanager
def _configuring() -> Iterator[Check]:
    from qmd.config import editing
    from qmd.config.index_yml import parse
    from qmd.types import Collection

    edits: dict[str, Callable[[str, str, str], object]] = {
        "add": lambda path, one, other: editing.add_collection(path, Collection(one, "/nowhere/" + other)),
        "remove": lambda path, one, _: editing.remove_collection(path, one),
        "rename": editing.rename_collection,
        "context": lambda path, one, other: editing.set_context(path, one or None, other, other),
        "no context": lambda path, one, other: editing.remove_context(path, one or None, other),
        "include": lambda path, one, other: editing.configure(
            path, one, include_by_default=len(other) % 2 == 0
        ),
        "command": lambda path, one, other: editing.configure(path, one, update=other),
    }
    keeping = {"add", "rename", "include"}

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        path = os.path.join(folder, "index.yml")

        def check(given: tuple[bytes, list[tuple[str, str, str]]]) -> None:
            data, wanted = given
            try:
                parse(data, path)
            except QmdError as error:
                _refused(error)
                return
            Path(path).write_bytes(data)
            for kind, one, other in wanted:
                before = Path(path).read_bytes()
                try:
                    edits[kind](path, one, other)
                except QmdError as error:
                    _refused(error)
                    assert Path(path).read_bytes() == before
                    continue
                after = Path(path).read_bytes()
                config = parse(after, path)
                if kind in keeping:
                    assert _comments(before) == _comments(after)
                if kind in keeping - {"rename"}:
                    assert _unknown(config) == _unknown(parse(before, path))

        yield check


def _unknown(config: Config) -> list[str]:
    """Return the unknown keys of a configuration, without their lines."""
    return [unknown.key for unknown in config.unknown_keys]


def _comments(data: bytes) -> list[bytes]:
    """Return the lines that are, or resemble, comments."""
    return [line.strip() for line in re.split(rb"\r\n?|\n", data) if line.strip().startswith(b"#")]


# -- arguments of MCP tools ----------------------------------------------------------------------------------


@contextmanager
def _calling() -> Iterator[Check]:
    from mcp_types import CallToolResult

    import qmd
    from qmd.api.reading import read
    from qmd.api.texts import error_text
    from qmd.mcp.tool import failure
    from qmd.mcp.tools import TOOLS

    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "notes"
        notes.mkdir()
        for number, line in enumerate(LINES):
            text = f"# Note {number}\n\nThe quick heron {number}.\n\n{line} 数据库\n"
            (notes / f"{number}.md").write_text(text.replace("\0", ""), encoding="utf-8")
        (notes / "a.md").write_text("# A\n\nquick\n", encoding="utf-8")
        with qmd.open_index(Path(folder) / "index.sqlite") as index:
            index.add_collection(str(notes), "notes")
            index.embed()

            def check(given: tuple[str, Any]) -> None:
                tool = TOOLS[given[0]]
                try:
                    arguments = read(tool.about.arguments, given[1] or {}, "argument", nulls=True)
                    result = tool.run(index, arguments, lambda: False)
                except QmdError as error:
                    _refused(error)
                    result = failure(error_text(error))
                CallToolResult.model_validate(result)
                assert result["content"] or given[0] == "multi_get"
                json.dumps(result, ensure_ascii=False, allow_nan=False).encode()

            yield check


TARGETS = (
    Target(
        "markdown", st.tuples(st.sampled_from(NAMES), encoded(TEXTS), st.sampled_from(ENCODINGS)), _reading
    ),
    Target("chunker", chunkings(), _chunking),
    Target("query", st.tuples(QUERIES, st.one_of(QUERIES, TEXTS)), _parsing),
    Target("index.yml", st.tuples(encoded(FILES), st.lists(EDITS, min_size=1, max_size=4)), _configuring),
    Target("mcp", tool_calls(), _calling),
)
