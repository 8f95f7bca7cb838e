"""Programs that `instructions.py` counts: a method of an open index, again and again.

    python bench/instruction_programs.py NAME TIMES QUERY...

They run with the `qmd` of the Python that runs them, also an older one, so nothing else of this folder is
imported.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import qmd

_DOCUMENTS = ("n/manuals/0.md", "n/papers/0.md", "n/chinese/0.md", "n/large/0.md", "n/notes/0.md")


def _each(call: Callable[[qmd.Index, str], object], words: Sequence[str]) -> Callable[[qmd.Index, int], None]:
    """Return a program that makes each call once, and then so many. An empty answer is an error."""

    def program(index: qmd.Index, times: int) -> None:
        for word in itertools.islice(itertools.cycle(words), len(words) + times):
            if not call(index, word):
                raise SystemExit(f"{word}: found nothing")

    return program


def _save(index: qmd.Index, times: int) -> None:
    """Do what a watcher does for a note that was saved."""
    from qmd.engine.index_work import IndexWork

    work, note = IndexWork(index, lambda: False), Path("n/notes/1.md")
    for number in range(2 + times):
        text = note.read_text(encoding="utf-8") + f"\nSaved {number:03}.\n"
        note.write_text(text, encoding="utf-8", newline="\n")
        os.utime(note, (1_760_000_000 + number, 1_760_000_000 + number))
        if work.scan("n", ["notes/1.md"], lambda *_: None, burst=False).updated != 1:
            raise SystemExit("nothing was updated")


def _complete(index: qmd.Index, typed: str) -> object:
    from qmd.features.page.completion import complete

    return complete(index, typed)


def main() -> None:
    name, times, *queries = sys.argv[1:]
    programs = {
        "search": _each(lambda index, query: index.search(query, limit=10).hits, queries),
        "outline": _each(lambda index, reference: index.outline(reference)[1], _DOCUMENTS),
        "completion": _each(_complete, ["[sta", "[status:d", "tag:b", "path:no", "after:2"]),
        "save": _save,
    }
    with qmd.open_index() as index:
        programs[name](index, int(times))


if __name__ == "__main__":
    main()
