"""`Index.embed`: progress and cancellation."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import qmd
from qmd.engine.embedding.batches import BATCH_CHUNKS, Share, Tally, embedding_lock
from qmd.models.base import CancelledError
from tests.conftest import Notes
from tests.model_server import serving

LONG = "\n\n".join(f"## Day {day}\n\n" + f"Tide {day} rose by {day} feet. " * 40 for day in range(200))


@pytest.fixture
def remote(tmp_path: Path, environ: dict[str, str]) -> Iterator[qmd.Index]:
    """An empty index whose embedder is remote, so that many chunks take little time."""
    with serving() as server:
        variables = {**environ, "QMD_EMBED_MODEL": f"openai:tiny@{server.url}"}
        with qmd.open_index(tmp_path / "index.sqlite", environ=variables) as opened:
            yield opened


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_embed_reports_progress_in_chunks(remote: qmd.Index, notes: Notes, workers: int) -> None:
    remote.add_collection(str(notes({"0-long.md": LONG, **{f"{n}.md": f"heron {n}" for n in range(5)}})))
    seen: list[qmd.EmbedProgress] = []
    report = remote.embed(workers=workers, on_progress=seen.append)
    done = [each.chunks_done for each in seen]
    assert (done[0], done[-1]) == (0, report.chunks)
    assert report.chunks > 2 * BATCH_CHUNKS
    assert all(0 <= after - before <= BATCH_CHUNKS for before, after in pairwise(done))
    assert done[1] <= BATCH_CHUNKS / 8  # so that there soon is an estimate
    first, last = seen[0], seen[-1]
    assert (last.texts_done, last.texts_total) == (6, 6)
    assert (last.chunks_total, last.seconds_left) == (report.chunks, 0)
    assert first.seconds_left is None
    # The estimate uses only sizes, so it is approximate.
    assert report.chunks / 2 < first.chunks_total < 2 * report.chunks
    assert all(each.seconds_left for each in seen if 0 < each.chunks_done < report.chunks)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors are not assigned here")
def test_missing_vectors_estimates_with_the_processors_of_the_process(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    with qmd.open_index(tmp_path / "index.sqlite", environ=environ) as index:
        index.add_collection(str(notes({"long.md": LONG})))
        mine = os.sched_getaffinity(0)
        with_all = index.missing_vectors().seconds
        os.sched_setaffinity(0, {min(mine)})
        try:
            with_one = index.missing_vectors().seconds
        finally:
            os.sched_setaffinity(0, mine)
    assert with_all is not None
    assert with_one == pytest.approx(with_all * len(mine))


def test_cancelled_embed_ends_within_a_few_chunks(
    tmp_path: Path, environ: dict[str, str], notes: Notes
) -> None:
    with serving() as server:
        variables = {**environ, "QMD_EMBED_MODEL": f"openai:tiny@{server.url}"}
        with qmd.open_index(tmp_path / "index.sqlite", environ=variables) as index:
            index.add_collection(str(notes({"long.md": LONG})))
            with pytest.raises(CancelledError):
                index.embed(cancelled=lambda: bool(server.asked("/v1/embeddings")))
        assert sum(len(body["input"]) for body in server.asked("/v1/embeddings")) < BATCH_CHUNKS / 4


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5_000)), max_size=30), st.integers(1, 9))
def test_tally_estimate_ends_at_the_actual_number_of_chunks(texts: list[tuple[int, int]], batch: int) -> None:
    """Each text is (number of chunks, bytes in a chunk); `batch` chunks are embedded at a time."""
    texts.sort(key=lambda text: text[0] * text[1])
    tally = Tally([chunks * size for chunks, size in texts])
    share = 0.0
    for chunks, size in texts:
        for at in range(0, chunks, batch):
            part = min(batch, chunks - at)
            tally.add(Share(int(at + part == chunks), part, part * size))
            progress = tally.progress()
            assert progress.chunks_total - progress.chunks_done >= len(texts) - progress.texts_done
            # What people see: a total that stays as it is, and a bar that only grows.
            assert (progress.texts_total, share < progress.share) == (len(texts), True)
            share = progress.share
    assert share == (1.0 if texts else 0.0)
    last = tally.progress()
    assert (last.chunks_total, last.texts_done) == (sum(chunks for chunks, _ in texts), len(texts))


@pytest.mark.slow
@pytest.mark.parametrize("background", [True, False])
def test_embed_makes_only_the_vectors_of_the_end_of_a_text_that_has_grown(
    tmp_path: Path, environ: dict[str, str], notes: Notes, background: bool
) -> None:
    with serving() as server:
        variables = {**environ, "QMD_EMBED_MODEL": f"openai:tiny@{server.url}"}

        def sent() -> int:
            return sum(len(body["input"]) for body in server.asked("/v1/embeddings"))

        with qmd.open_index(tmp_path / "index.sqlite", environ=variables) as index:
            folder = notes({"long.md": LONG})
            index.add_collection(str(folder))
            index.embed(background=background)
            first = sent()
            with (folder / "long.md").open("a", encoding="utf-8") as stream:
                stream.write("\n\n## Day 200\n\nThe last tide was a heron.\n")
            index.rescan("notes")
            report = index.embed(background=background)
            # The last chunk has grown, and there may be one more.
            assert 1 <= sent() - first <= 3
            assert first > 2 * BATCH_CHUNKS
            assert index.status().needs_embedding == 0
            again = sent()
            # A text that begins differently is embedded from its beginning.
            (folder / "long.md").write_text("# Other\n\n" + LONG, encoding="utf-8")
            index.rescan("notes")
            assert index.embed(background=background).chunks >= report.chunks
            assert sent() - again >= first


def test_rescan_leaves_no_states_of_a_file_that_grows(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"a.md": "# A\n\nFirst.\n"})
    index.add_collection(str(folder))
    for number in range(5):
        with (folder / "a.md").open("a", encoding="utf-8") as stream:
            stream.write(f"\nLine {number}.\n")
        assert index.rescan("notes").updated == 1
    assert not [item for item in index.cleanup().items if item.kind == "texts"]


def add(path: str, environ: dict[str, str], folder: Path, name: str) -> None:
    """Add a collection and embed it, as another process does."""
    with qmd.open_index(path, environ=environ) as index:
        index.add_collection(str(folder), name)
        with suppress(qmd.AlreadyRunningError):
            index.embed([name])


@pytest.mark.slow
@pytest.mark.parametrize("names", [(), ("notes",)])
@pytest.mark.parametrize("workers", [1, 2])
def test_embed_goes_on_with_what_was_added_meanwhile(
    remote: qmd.Index, notes: Notes, names: tuple[str, ...], workers: int
) -> None:
    remote.add_collection(str(notes({f"{n}.md": f"heron {n}" for n in range(80)})), "notes")
    more = notes({f"{n}.md": f"pelican {n}" for n in range(5)}, "more")
    path, environ = remote.locations.index, dict(remote._workspace.environ)

    def on_progress(progress: qmd.EmbedProgress) -> None:
        if progress.chunks_done and "more" not in remote.config.collections:
            add(path, environ, more, "more")

    report = remote.embed(names, workers=workers, on_progress=on_progress)

    assert report.texts == 85
    assert remote.missing_vectors().texts == 0
    # Nothing is left for the next one.
    assert not [*Path(path).parent.glob("*.wanted")]


@pytest.mark.slow
def test_embed_leaves_alone_what_nobody_asked_for(remote: qmd.Index, notes: Notes) -> None:
    for name in ("notes", "more"):
        remote.add_collection(str(notes({f"{n}.md": f"{name} {n}" for n in range(5)}, name)), name)

    remote.embed(["notes"])

    assert (remote.missing_vectors(["notes"]).texts, remote.missing_vectors(["more"]).texts) == (0, 5)


@pytest.mark.slow
def test_embeddings_at_one_moment_leave_no_text_to_the_other(remote: qmd.Index, notes: Notes) -> None:
    path, environ = remote.locations.index, dict(remote._workspace.environ)

    def work(worker: int) -> None:
        for turn in range(12):
            name = f"c{worker}-{turn}"
            add(path, environ, notes({"a.md": f"heron {name}"}, name), name)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(remote.config.collections) == 36
    assert remote.missing_vectors().texts == 0


@pytest.mark.slow
def test_embed_makes_what_a_killed_one_was_asked_for(remote: qmd.Index, notes: Notes) -> None:
    path, environ = remote.locations.index, dict(remote._workspace.environ)
    for name in ("first", "asked", "last"):
        remote.add_collection(str(notes({"a.md": f"heron {name}"}, name)), name)
    # A process that ends without a further look is like one that is killed.
    with embedding_lock(path), pytest.raises(qmd.AlreadyRunningError, match="asked"):
        remote.embed(["asked"])

    with qmd.open_index(path, environ=environ) as later:
        later.embed(["last"])

    missing = {name: remote.missing_vectors([name]).texts for name in remote.config.collections}
    assert missing == {"first": 1, "asked": 0, "last": 0}


def said(index: qmd.Index, query: str) -> list[str | None]:
    return [each.reason for each in index.query(query).stages if each.stage == "embedding"]


@pytest.mark.slow
def test_search_says_once_how_many_documents_of_its_hits_lack_vectors(
    remote: qmd.Index, notes: Notes
) -> None:
    remote.add_collection(str(notes({"a.md": "A heron waits."}, "first")))
    remote.embed()
    remote.add_collection(str(notes({"b.md": "A bittern.", "c.md": "Another bittern."}, "second")))

    assert said(remote, "heron waits") == []
    assert said(remote, "bittern") == ["2 documents have no vectors yet: run 'qmd embed'"]
    with embedding_lock(remote.locations.index):
        assert said(remote, "bittern") == ["vectors are being made: 2 documents left"]
    assert said(remote, "bittern") == ["2 documents have no vectors yet: run 'qmd embed'"]
    remote.embed()
    assert said(remote, "bittern") == []
