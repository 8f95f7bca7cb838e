"""To an agent, an index answers as if the documents that are kept from agents did not exist."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings, strategies as st

import qmd
from tests.property import test_restricted as restricted

#: Parts of the front matter that keep a document from agents.
REFUSALS = ("agents: false", "agents: no", "Agents: False", "agents: 'off'")
NAMES = ("kept.md", "sub/1.md", "heron/heron.md", "hunter3.md")
documents = st.tuples(st.sampled_from(REFUSALS), restricted.bodies, restricted.links)
kept = st.dictionaries(st.sampled_from(NAMES), documents, max_size=4)


def _kept_text(refusal: str, words: list[str], links: list[str]) -> str:
    body = f"# {words[0].lstrip('#')}\n\n{' '.join((*words, 'zanzibar', *links))}.\n"
    return f"---\n{refusal}\nstatus: zanzibar\nzanzibar: 1\ntags: [zanzibar]\naliases: [Q1]\n---\n{body}"


# Shrinking would take minutes, because an example makes two indexes and asks them hundreds of questions.
@pytest.mark.slow
@settings(
    max_examples=3,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(files=st.fixed_dictionaries({"a": restricted.folders, "c": restricted.folders}), hidden=kept)
@example(
    files={"a": {"0.md": "# hunter2\n\nhunter2 [[1]].\n", "1.md": "# hunter\n\nheron.\n"}, "c": {}},
    hidden={"kept.md": ("agents: false", ["hunter3", "heron"], ["[[0]]"])},
)
def test_agent_index_answers_like_an_index_without_kept_documents(
    environ: dict[str, str],
    files: dict[str, dict[str, str]],
    hidden: dict[str, tuple[str, list[str], list[str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        indexes = []
        for name, more in (
            ("whole", {path: _kept_text(*each) for path, each in hidden.items()}),
            ("alone", {}),
        ):
            root = Path(folder) / name
            root.mkdir()
            restricted._write(root, {**files, "a": {**files["a"], **more}})
            index = opened.enter_context(qmd.open_index(root / "index.sqlite", environ=environ))
            for collection in files:
                index.add_collection(str(root / collection), collection)
            # Reranking counts words in all texts: see docs/secrets.md.
            indexes.append(index.limited(agent=True))
        whole, alone = (_without_times(restricted._answers(each, files)) for each in indexes)
        for got, wanted in zip(whole, alone, strict=True):
            assert got == wanted


def _without_times(answers: Iterator[object]) -> list[str]:
    """Return answers without the times of files, which differ."""
    return [re.sub(r"'(date|modified_ns|first|last)': [^,}]+", "", repr(answer)) for answer in answers]
