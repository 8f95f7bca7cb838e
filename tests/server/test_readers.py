"""Processes that read beside a server answer as it does, with what is written meanwhile."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import json

import qmd
from qmd.api.arguments import SearchBody
from qmd.errors import NotFoundError
from qmd.processes import run
from qmd.server.keys import Key
from qmd.server.readers import ReaderAnswer, ReaderProcesses
from tests.conftest import Notes
from tests.waiting import PATIENCE

LIMITED = Key("limited", "", collections=("open",))
AGENT = Key("agent", "", agent=True)
#: Of the form of a key of AWS.
SECRET = "AKIA" + "Q3EGRIZ7LX5MNPWS"


@pytest.fixture
def index(tmp_path: Path, environ: dict[str, str], notes: Notes) -> Iterator[qmd.Index]:
    folder = notes({"open/a.md": f"# Rivers\n\nThe key is {SECRET}.\n", "shut/b.md": "# Rivers\n\nLakes.\n"})
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        for name in ("open", "shut"):
            index.add_collection(str(folder / name), name)
        yield index


async def answer_of(readers: ReaderProcesses, key: Key | None, query: str, **more: Any) -> ReaderAnswer:
    """Return the answer to a search as soon as there is a reader."""
    with anyio.fail_after(PATIENCE):
        while (answer := await readers.ask("POST /search", key, SearchBody(query=query, **more))) is None:
            await anyio.sleep(0.01)
    return answer


def files(answer: ReaderAnswer) -> list[str]:
    assert answer.status == 200
    return sorted(hit["file"] for hit in json.decode(answer.body)["results"])


def children() -> list[int]:
    """Return the processes that this one has started, without the one that lists them."""
    listed = [map(int, line.split()) for line in run(["ps", "-A", "-o", "pid=,ppid="]).stdout.splitlines()]
    found = [pid for pid, parent in listed if parent == os.getpid()]
    return [pid for pid in found if "qmd.processes" in run(["ps", "-o", "args=", "-p", str(pid)]).stdout]


def test_readers_answer_as_the_index_does(index: qmd.Index, environ: dict[str, str], notes: Notes) -> None:
    async def talk() -> None:
        readers = ReaderProcesses(1, index.locations, environ)
        async with readers.run():
            assert files(await answer_of(readers, None, "rivers")) == ["open/a.md", "shut/b.md"]
            assert files(await answer_of(readers, LIMITED, "rivers")) == ["open/a.md"]
            masked = await answer_of(readers, AGENT, "key")
            assert SECRET.encode() not in masked.body
            assert b"[secret:" in masked.body
            with pytest.raises(NotFoundError) as error:
                index.limited(["open"]).search("rivers", collections=["shut"])
            refused = await answer_of(readers, LIMITED, "rivers", collections=["shut"])
            assert (refused.status, refused.body.decode()) == (404, error.value.in_one_line())
            # What was written since the reader has started.
            index.add_collection(str(notes({"more/c.md": "# Rivers\n"}) / "more"), "more")
            assert "more/c.md" in files(await answer_of(readers, None, "rivers"))
            index.set_weight("more", 0.5)
            index.remove_collection("shut")
            assert files(await answer_of(readers, None, "rivers")) == ["more/c.md", "open/a.md"]

    anyio.run(talk)


def test_readers_that_hang_are_replaced_and_the_server_answers(
    index: qmd.Index, environ: dict[str, str]
) -> None:
    async def talk() -> None:
        readers = ReaderProcesses(1, index.locations, environ, patience=0.2)
        async with readers.run():
            await answer_of(readers, None, "rivers")
            (first,) = children()
            os.kill(first, signal.SIGSTOP)
            with anyio.fail_after(PATIENCE):
                while await readers.ask("POST /search", None, SearchBody(query="rivers")) is not None:
                    pass  # the process stops a moment after the signal was sent
                while first in children():
                    await anyio.sleep(0.01)
        assert children() == []

    anyio.run(talk)


def test_readers_that_are_killed_while_they_start_come_again(
    index: qmd.Index, environ: dict[str, str]
) -> None:
    async def talk() -> None:
        readers = ReaderProcesses(1, index.locations, environ)
        async with readers.run():
            with anyio.fail_after(PATIENCE):
                while not (started := children()):
                    await anyio.sleep(0.01)
            os.kill(started[0], signal.SIGKILL)
            assert len(files(await answer_of(readers, None, "rivers"))) == 2

    anyio.run(talk)


def test_readers_that_die_are_replaced_and_end_with_the_server(
    index: qmd.Index, environ: dict[str, str]
) -> None:
    async def talk() -> None:
        readers = ReaderProcesses(1, index.locations, environ)
        async with readers.run():
            await answer_of(readers, None, "rivers")
            (first,) = children()
            os.kill(first, signal.SIGKILL)
            # What it was asked is for the server, until another is ready.
            assert await readers.ask("POST /search", None, SearchBody(query="rivers")) is None
            assert len(files(await answer_of(readers, None, "rivers"))) == 2
            assert first not in children()
        assert children() == []

    anyio.run(talk)
