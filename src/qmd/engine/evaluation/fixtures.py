"""Reading judged questions from tobi/qmd's benchmark files and from folders in BEIR layout."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from qmd.config.marks_file import Entry
from qmd.errors import NotFoundError, QueryError, SourceError
from qmd.sources.paths import in_words
from qmd.text.query import parse_document

_MAX_BYTES = 100_000_000
_EXAMPLE = (
    'a fixture is {"collection": "notes", "queries": [{"id": "1", "query": "how to deploy", '
    '"expected_files": ["ops/deploy.md"], "expected_in_top_k": 3}]}'
)


class Question(Struct, frozen=True):
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
    questions: tuple[Question, ...]
    collection: str | None = None
    description: str | None = None


def read_benchmark(path: str) -> Fixture:
    """Read a file in tobi/qmd's format: JSON with `queries` of `id`, `query`, `expected_files` and more.

    Raises `SourceError`, which names the line or the query, if the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            root = json.loads(file.read(_MAX_BYTES))
    except OSError as error:
        raise _unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8") from error
    except json.JSONDecodeError as error:
        raise SourceError(f"{path}:{error.lineno}: not JSON: {error.msg}") from error
    try:
        return _fixture(os.path.basename(path), root)
    except ValueError as error:
        raise SourceError(f"{path}: {error}", _EXAMPLE) from error


def _fixture(name: str, root: Any) -> Fixture:
    """Parse a benchmark. Like the functions below, raises `ValueError` with the reason if it is invalid."""
    if not isinstance(root, dict) or not isinstance(root.get("queries"), list):
        raise ValueError("no list of 'queries'")
    if root.get("version", 1) != 1:
        raise ValueError(f"version {root['version']!r} is unknown; this qmd knows version 1")
    questions = tuple(_question(item, number) for number, item in enumerate(root["queries"], 1))
    if not questions:
        raise ValueError("'queries' is empty")
    for identity, count in Counter(question.id for question in questions).items():
        if count > 1:
            raise ValueError(f"two queries have the id '{identity}'")
    collection, description = (_text(root, key, "the file") for key in ("collection", "description"))
    return Fixture(name, questions, collection, description)


def _question(item: Any, number: int) -> Question:
    location = f"query {number}"
    if not isinstance(item, dict):
        raise ValueError(f"{location} is not an object")
    identity = _text(item, "id", location) or str(number)
    location = f"query {number} ('{identity}')"
    text = _text(item, "query", location)
    if text is None:
        raise ValueError(f"{location}: no 'query'")
    try:
        parse_document(text)
    except QueryError as error:
        raise ValueError(f"{location}: {error.message}") from error
    files = item.get("expected_files")
    if not isinstance(files, list) or not files or not all(isinstance(f, str) and f for f in files):
        raise ValueError(f"{location}: 'expected_files' must be a list of paths, at least one")
    within = item.get("expected_in_top_k")
    if within is not None and (type(within) is not int or not 1 <= within <= 1000):
        raise ValueError(f"{location}: 'expected_in_top_k' must be a whole number from 1 to 1000")
    return Question(identity, text, dict.fromkeys(files, 1), _text(item, "type", location), within)


def _text(item: Mapping[str, Any], key: str, location: str) -> str | None:
    """Return an optional text; None if it is missing or blank."""
    value = item.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{location}: '{key}' must be text")
    return value if value and value.strip() else None


def of_marks(entries: Sequence[Entry]) -> Fixture:
    """Return the pins and marks of an index as questions. Bad documents have the grade 0.

    Raises `NotFoundError` if there are none.
    """
    questions = []
    for number, entry in enumerate(entries, 1):
        grades = dict.fromkeys(entry.files.get("bad", ()), 0)
        grades |= dict.fromkeys((*entry.files.get("pin", ()), *entry.files.get("good", ())), 1)
        questions.append(Question(str(number), entry.query, grades))
    if not questions:
        raise NotFoundError("there are no pins or marks to replay", "make some: qmd mark QUERY DOCUMENT good")
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
    for location, row in _rows(_first_existing(folder, "queries.jsonl")):
        texts[_id(row, location)] = " ".join(_string(row, "text", location).split())
    questions = []
    for query, judged in grades.items():
        if not texts.get(query):
            location = f"{qrels}:{first_lines[query]}"
            raise SourceError(f"{location}: no text for the query '{query}' in queries.jsonl")
        if any(value > 0 for value in judged.values()):
            questions.append(Question(query, texts[query], judged))
    if not questions:
        raise SourceError(f"{qrels}: no query has a relevant document")
    return Fixture(os.path.basename(os.path.abspath(folder)), tuple(questions))


def read_corpus(folder: str) -> Iterator[tuple[str, str]]:
    """Yield (id, Markdown) of the documents of a folder in BEIR layout; a title becomes a heading.

    Raises `SourceError`, which names file and line, if `corpus.jsonl` is missing or cannot be read.
    """
    for location, row in _rows(corpus_file(folder)):
        title, text = (_string(row, key, location) for key in ("title", "text"))
        heading = f"# {title.strip()}\n\n" if title.strip() else ""
        yield _id(row, location), heading + text


def corpus_file(folder: str) -> str:
    """Return the file with a BEIR folder's documents. Raises `SourceError` if there is none."""
    return _first_existing(folder, "corpus.jsonl")


def _rows(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (file and line number, object) from a file of JSON lines."""
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise SourceError(f"{path}:{number}: not JSON: {error.msg}") from error
        if not isinstance(row, dict):
            raise SourceError(f"{path}:{number}: not a JSON object")
        yield f"{path}:{number}", row


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


def _id(row: Mapping[str, Any], location: str) -> str:
    value = row.get("_id")
    if not isinstance(value, str | int) or value == "":
        raise SourceError(f"{location}: no '_id'")
    return str(value)


def _string(row: Mapping[str, Any], key: str, location: str) -> str:
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise SourceError(f"{location}: '{key}' must be text")
    return value or ""


def _unreadable(path: str, error: OSError) -> SourceError:
    return SourceError(f"{path}: cannot be read: {in_words(error)}")
