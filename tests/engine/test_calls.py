"""What the methods of an index take, and what becomes of calls when it is closed."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

import qmd
from qmd.engine.access.restricted import MEMBERS
from qmd.engine.parts import PARTS
from tests.conftest import Notes


@pytest.fixture
def index(notes: Notes, index: qmd.Index) -> qmd.Index:
    texts = {f"{number}.md": f"# Heron {number}\n\nA heron stands in the reeds.\n" for number in range(50)}
    index.add_collection(notes(texts), "notes")
    index.update()
    return index


def test_closing_waits_for_searches_of_other_threads(index: qmd.Index) -> None:
    ends: list[Exception] = []
    begun = threading.Barrier(9)

    def search(seen: qmd.Index) -> None:
        begun.wait()
        try:
            while True:
                assert seen.search("heron").hits
        except Exception as error:  # noqa: BLE001 - the thread that has made it looks at it
            ends.append(error)

    threads = [
        threading.Thread(target=search, args=(seen,)) for seen in (index, index.limited(["notes"])) * 4
    ]
    for thread in threads:
        thread.start()
    begun.wait()
    assert index.search("reeds").hits
    index.close()
    for thread in threads:
        thread.join()
    assert [type(end) for end in ends] == [qmd.ClosedError] * len(threads)
    index.close()


#: By the annotation of an argument.
SAMPLES: dict[str, Any] = {
    "Sequence[str]": ["a"],
    "Iterable[Hit | Page | Skipped]": [],
    "Iterable[str]": ["a"],
    "bool": True,
    "float": 1,
    "float | None": 1,
    "str | None": "a",
    "bool | None": True,
    "SearchRequest": qmd.SearchRequest("heron"),
    "SearchKind": "search",
    "Literal['good', 'bad']": "good",
}


@pytest.mark.parametrize("restricted", [False, True])
def test_every_member_of_a_closed_index_raises_the_same_error(index: qmd.Index, restricted: bool) -> None:
    document = index.get("notes/1.md").document
    seen = index.limited() if restricted else index
    index.close()
    samples = {**SAMPLES, "Document": document}
    attributes = {"close", "locations", "notes", "settings", "model_provider"}
    core = {name for name, target in PARTS.builtin.items() if target.startswith("qmd.engine.")}
    for name in sorted((MEMBERS | core) - attributes):
        member = getattr(qmd.Index, name)
        needed = (
            [each for each in inspect.signature(member).parameters.values() if each.default is each.empty]
            if callable(member)
            else []
        )
        given = [each.annotation for each in needed[1:] if each.kind <= each.POSITIONAL_OR_KEYWORD]
        arguments = [samples.get(each, "a") for each in given]
        with pytest.raises(qmd.ClosedError, match="closed"):
            found = getattr(seen, name)
            found(*arguments)


def test_closing_a_restricted_index_lets_another_be_made(index: qmd.Index) -> None:
    with index.limited(["notes"]) as limited:
        assert limited.search("heron").hits
    with pytest.raises(qmd.ClosedError):
        limited.search("heron")
    assert index.limited(["notes"]).search("heron").hits


def test_an_index_cannot_be_closed_by_a_call_of_its_own(index: qmd.Index) -> None:
    def progress(*_: object) -> None:
        index.close()

    with pytest.raises(qmd.BusyError):
        index.update(on_progress=progress)
    assert index.search("heron").hits


WRONG: list[tuple[str, Callable[[Any], object]]] = [
    ("query must be a text or a SearchRequest, not None", lambda index: index.search(None)),
    ("query must be a text or a SearchRequest, not a list of str", lambda index: index.query(["heron"])),
    ("reference must be a text, not bytes", lambda index: index.get(b"1.md")),
    ("text must be a text, not int", lambda index: index.cite_check(5)),
    ("collections must be a list of texts, not 'notes'", lambda index: index.update("notes")),
    ("collections must be a list of texts, not 'it'", lambda index: index.search("a", collections="it")),
    ("limit must be a whole number or None, not '5'", lambda index: index.search("a", limit="5")),
    ("limit must be a whole number or None, not float", lambda index: index.query("a", limit=2.5)),
    ("after must be a text or None, not int", lambda index: index.search("a", after=2024)),
    ("query must be a text, not None", lambda index: index.search(qmd.SearchRequest(None))),  # type: ignore[arg-type]
    ("weight must be a number, not '2'", lambda index: index.set_weight("notes", "2")),
    ("path must be a text or a path, not int", lambda index: index.add_collection(5)),
    ("target must be a text, not None", lambda index: index.add_context(None, "text")),
    ("kind must be one of", lambda index: index.mark("heron", "1.md", ["good"])),
    ("goal must be a text or a SearchRequest, not None", lambda index: index.pack(None)),
    ("references must be a list of texts, not a list of int", lambda index: index.titles_of([5])),
    ("the query is empty", lambda index: index.pack("")),
]


@pytest.mark.parametrize(("message", "wrong"), WRONG)
@pytest.mark.parametrize("restricted", [False, True])
def test_arguments_of_a_wrong_type_are_named(
    index: qmd.Index, message: str, wrong: Callable[[Any], object], restricted: bool
) -> None:
    with pytest.raises(qmd.UsageError, match=message):
        wrong(index.limited(["notes"]) if restricted else index)


def test_limiting_to_an_unknown_collection_names_the_known_ones(index: qmd.Index) -> None:
    with pytest.raises(qmd.CollectionNotFoundError) as failed:
        index.limited(["note"])
    assert failed.value.hint == "did you mean 'notes'? known collections: notes"
    with pytest.raises(qmd.UsageError, match="a list of texts"):
        index.limited("notes")


@pytest.mark.parametrize("copies", [pickle.dumps, copy.copy, copy.deepcopy])
def test_an_index_cannot_be_copied(index: qmd.Index, copies: Callable[[object], object]) -> None:
    for each in (index, index.limited(["notes"])):
        with pytest.raises(qmd.UsageError, match="pickled or copied") as failed:
            copies(each)
        assert failed.value.hint is not None and "qmd.open_index" in failed.value.hint


@pytest.mark.parametrize(
    "error",
    [
        qmd.DocumentNotFoundError("none", ("a.md",), "try a.md"),
        qmd.AmbiguousReferenceError("two", ("a.md", "b.md"), "choose"),
        qmd.VectorIndexMissingError(),
        qmd.TokensError("too few", "give more", least=9),
        qmd.UsageError("wrong", "right"),
    ],
)
def test_errors_can_be_sent_to_another_process(error: qmd.QmdError) -> None:
    received = pickle.loads(pickle.dumps(error))
    assert (type(received), str(received), vars(received)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("name", ["", "a.md/index.sqlite", "x" * 5_000, "\0", 5, b"index.sqlite", ["a"]])
def test_a_path_that_no_index_can_have_is_refused(notes: Notes, environ: dict[str, str], name: Any) -> None:
    folder = notes({"a.md": "a"})
    path = f"{folder}/{name}" if isinstance(name, str) else name
    with pytest.raises((qmd.UsageError, qmd.StoreError)) as failed:
        qmd.open_index(path, environ=environ)
    assert isinstance(name, str) is (failed.value.hint is not None)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process so")
def test_too_little_memory_is_an_error_that_says_so(index: qmd.Index, environ: dict[str, str]) -> None:
    path = index.locations.index
    index.close()
    script = (
        "import resource, sys, qmd\n"
        "resource.setrlimit(resource.RLIMIT_AS, (300_000_000, 300_000_000))\n"
        "index = qmd.open_index(sys.argv[1])\n"
        "print(len(index.query('heron').hits))\n"
        "try: index.embed(force=True)\n"
        "except qmd.ModelError as error: print(error.in_one_line())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, path],
        env={**os.environ, **environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr == ""
    assert ran.stdout == (
        "10\nthis process may have 300 MB of memory, which is too little for a model "
        "(allow more, as with 'ulimit -v unlimited', or close other programs)\n"
    )
