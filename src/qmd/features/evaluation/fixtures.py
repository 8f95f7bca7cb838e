"""Reading judged questions from tobi/qmd's benchmark files and from folders in BEIR layout."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct, ValidationError, convert, field

from qmd.config.marks_file import MarkEntry
from qmd.errors import NotFoundError, QueryError, SourceError
from qmd.sources.paths import in_words
from qmd.text.query import parse_document

_MAX_BYTES = 100_000_000
_EXAMPLE = (
    'a fixture is {"collection": "notes", "queries": [{"id": "1", "query": "how to deploy", '
    '"expected_files": ["ops/deploy.md"], "expected_in_top_k": 3}]}'
)


class LabelledQuestion(Struct, frozen=True):
    """A query with grades by document name; a grade above 0 means relevant.

    `type` is the fixture's own. `within` is the rank by which the fixture expects the documents.
    """

    id: str
    text: str
    grades: Mapping[str, int]
    type: str | None = None
    within: int | None = None


class Fixture(Struct, frozen=True):
    """The questions of a benchmark, and the collection to search (None for the default collections)."""

    name: str
    questions: tuple[LabelledQuestion, ...]
    collection: str | None = None
    description: str | None = None


class _Query(Struct, frozen=True):
    query: Annotated[str, Meta(pattern=r"\S")]
    expected_files: Annotated[list[Annotated[str, Meta(min_length=1)]], Meta(min_length=1)]
    id: str | None = None
    type: str | None = None
    expected_in_top_k: Annotated[int, Meta(ge=1, le=1000)] | None = None


class _QuestionsFile(Struct, frozen=True):
    queries: Annotated[list[_Query], Meta(min_length=1)]
    version: Literal[1] = 1
    collection: str | None = None
    description: str | None = None


class _Row(Struct, frozen=True):
    """A line of a file in BEIR layout."""

    id: Annotated[str, Meta(min_length=1)] | int = field(name="_id")
    text: str | None = None
    title: str | None = None


def read_benchmark(path: str) -> Fixture:
    """Read a file in tobi/qmd's format: JSON with `queries` of `id`, `query`, `expected_files` and more.

    Raises `SourceError`, which names the line or the query, if the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            found = convert(json.loads(file.read(_MAX_BYTES)), _QuestionsFile)
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8") from error
    except json.JSONDecodeError as error:
        raise SourceError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    except ValidationError as error:
        raise SourceError(f"{path}: {error}", _EXAMPLE) from error
    questions: dict[str, LabelledQuestion] = {}
    for number, query in enumerate(found.queries, 1):
        identity = query.id if query.id and query.id.strip() else str(number)
        if identity in questions:
            raise SourceError(f"{path}: two queries have the id '{identity}'")
        try:
            parse_document(query.query)
        except QueryError as error:
            raise SourceError(f"{path}: query {number} ('{identity}'): {error.message}") from error
        grades = dict.fromkeys(query.expected_files, 1)
        questions[identity] = LabelledQuestion(
            identity, query.query, grades, query.type, query.expected_in_top_k
        )
    collection, description = found.collection or None, found.description or None
    return Fixture(os.path.basename(path), tuple(questions.values()), collection, description)


def of_marks(entries: Sequence[MarkEntry]) -> Fixture:
    """Return the pins and marks of an index as questions. Bad documents have the grade 0.

    Raises `NotFoundError` if there are none.
    """
    questions = []
    for number, entry in enumerate(entries, 1):
        grades = dict.fromkeys(entry.files.get("bad", ()), 0)
        grades |= dict.fromkeys((*entry.files.get("pin", ()), *entry.files.get("good", ())), 1)
        questions.append(LabelledQuestion(str(number), entry.query, grades))
    if not questions:
        raise NotFoundError(
            "there are no pins or marks to replay", "make some: 'qmd mark QUERY DOCUMENT good'"
        )
    return Fixture("pins and marks", tuple(questions))


def read_judgements(folder: str) -> Fixture:
    """Read the judged questions of a folder in BEIR layout: `queries.jsonl` and `qrels.tsv`, or `.gz` files.

    Raises `SourceError`, which names file and line, if a file is missing or cannot be read.
    """
    qrels = _first_existing(folder, "qrels.tsv", os.path.join("qrels", "test.tsv"))
    grades: dict[str, dict[str, int]] = {}
    first_lines: dict[str, int] = {}
    for number, line in _lines(qrels):
        fields = line.split("\t")
        if len(fields) != 3:
            raise SourceError(f"{qrels}:{number}: expected three fields separated by tabs")
        query, document, grade = fields
        try:
            value = int(grade)
        except ValueError as error:
            if number == 1:
                continue  # the header
            raise SourceError(f"{qrels}:{number}: the grade must be a whole number, not '{grade}'") from error
        grades.setdefault(query, {})[document] = value
        first_lines.setdefault(query, number)
    texts: dict[str, str] = {}
    for row in _rows(_first_existing(folder, "queries.jsonl")):
        texts[str(row.id)] = " ".join((row.text or "").split())
    questions = []
    for query, judged in grades.items():
        if not texts.get(query):
            location = f"{qrels}:{first_lines[query]}"
            raise SourceError(f"{location}: no text for the query '{query}' in queries.jsonl")
        if any(value > 0 for value in judged.values()):
            questions.append(LabelledQuestion(query, texts[query], judged))
    if not questions:
        raise SourceError(f"{qrels}: no query has a relevant document")
    return Fixture(os.path.basename(os.path.abspath(folder)), tuple(questions))


def read_corpus(folder: str) -> Iterator[tuple[str, str]]:
    """Yield (id, Markdown) of the documents of a folder in BEIR layout; a title becomes a heading.

    Raises `SourceError`, which names file and line, if `corpus.jsonl` is missing or cannot be read.
    """
    for row in _rows(corpus_file(folder)):
        title = (row.title or "").strip()
        yield str(row.id), (f"# {title}\n\n" if title else "") + (row.text or "")


def corpus_file(folder: str) -> str:
    """Return the file with a BEIR folder's documents. Raises `SourceError` if there is none."""
    return _first_existing(folder, "corpus.jsonl")


def _rows(path: str) -> Iterator[_Row]:
    """Yield the rows of a file of JSON lines."""
    for number, line in _lines(path):
        try:
            yield convert(json.loads(line), _Row)
        except json.JSONDecodeError as error:
            raise SourceError(f"{path}:{number}: not JSON: {error.msg}") from error
        except ValidationError as error:
            raise SourceError(f"{path}:{number}: {error}") from error


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) for the lines of a file, plain or `.gz`, that are not blank."""
    number = 0
    try:
        with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                text = line.decode("utf-8-sig").strip("\r\n")
                if text.strip():
                    yield number, text
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}:{number}: not UTF-8") from error
    except (EOFError, zlib.error) as error:
        raise SourceError(f"{path}: the file is damaged or incomplete after line {number}") from error
    except OSError as error:
        raise _unreadable(path, error) from error


def _first_existing(folder: str, *names: str) -> str:
    """Return the path of the first file that exists, plain or `.gz`."""
    for name in names:
        for path in (os.path.join(folder, name), os.path.join(folder, name + ".gz")):
            if os.path.isfile(path):
                return path
    raise SourceError(
        f"{folder}: no {names[0]} or {names[0]}.gz",
        "a folder in BEIR layout has corpus.jsonl, queries.jsonl and qrels.tsv",
    )


def _unreadable(path: str, error: OSError) -> SourceError:
    return SourceError(f"{path}: cannot be read: {in_words(error)}")
