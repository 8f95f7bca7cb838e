"""The benchmarks of `peers.py`: one reader for each, which makes files and questions from published data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from common import file_names, read_collection


class Question(Struct, frozen=True):
    """A question with the paths of the files that answer it.

    `partly` are files that answer it in part. They count half in nDCG, and nothing in other measures.
    """

    text: str
    gold: frozenset[str]
    partly: frozenset[str] = frozenset()
    category: str = ""


class Corpus(Struct, frozen=True):
    """Files (text by path) that are indexed together, and questions about them.

    An index is used again if `digest` is the same; without one, it is made from the files.
    """

    name: str
    files: dict[str, str]
    questions: tuple[Question, ...]
    digest: str = ""


class PeerSet(Struct, frozen=True):
    """A benchmark that others publish figures of.

    `data` is the file or folder that is read, relative to the path that the user gives, and `source` says
    where to get it. `subsets` names the parts that figures are published for, by categories of questions;
    an empty tuple stands for all questions.
    """

    data: str
    source: str
    read: Callable[[Path], Iterator[Corpus]]
    measures: tuple[str, ...]
    subsets: dict[str, tuple[str, ...]]


def locomo(file: Path) -> Iterator[Corpus]:
    """Read ten long dialogues: a file for each session, and all dialogues in one index.

    The text is that of basic-memory's benchmark: a heading with the date, and the turns without the captions
    of images. The gold files of a question are the sessions of its evidence, such as D3 of `D3:11`.
    """
    files: dict[str, str] = {}
    questions: list[Question] = []
    for number, dialogue in enumerate(json.loads(file.read_text(encoding="utf-8"))):
        sessions: dict[str, str] = {}
        conversation = dialogue["conversation"]
        for key, turns in conversation.items():
            if found := re.fullmatch(r"session_(\d+)", key):
                name = sessions[found[1]] = f"locomo-c{number:02}-s{int(found[1]):02}.md"
                date = f"# Chat session at {conversation[f'{key}_date_time']}"
                lines = [f"- **{turn['speaker']}:** {turn['text'].strip()}" for turn in turns]
                files[name] = "\n".join([date, "", "## Conversation", *lines, ""])
        for each in dialogue["qa"]:
            evidence = re.findall(r"\bD(\d+):", " ".join(each["evidence"]))
            gold = frozenset(sessions[session] for session in evidence if session in sessions)
            questions.append(Question(each["question"], gold, category=str(each["category"])))
    yield Corpus("", files, tuple(questions))


def vault(checkout: Path) -> Iterator[Corpus]:
    """Read the English notes of Obsidian's help, with questions in English and Russian."""
    rows = json.loads((checkout / "eval/golden-sets/obsidian-help.json").read_text(encoding="utf-8"))
    questions = (
        Question(row["query"], frozenset(row["relevant_paths"]), frozenset(row["partial_paths"]))
        for row in rows
    )
    yield Corpus("", _markdown(checkout / "fixtures/obsidian-help/en"), tuple(questions))


def gno(fixtures: Path) -> Iterator[Corpus]:
    """Read two sets of gno, each with an index of its own."""
    folder = fixtures / "cjk-lexical-benchmark"
    judged: dict[str, set[str]] = {}
    for row in json.loads((folder / "qrels.json").read_text(encoding="utf-8"))["judgments"]:
        judged.setdefault(row["queryId"], set()).add(row["docid"])
    rows = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    questions = (Question(row["query"], frozenset(judged[row["id"]]), category="CJK") for row in rows)
    yield Corpus("cjk", _markdown(folder / "corpus"), tuple(questions))
    folder = fixtures / "general-embedding-benchmark"
    rows = json.loads((folder / "queries.json").read_text(encoding="utf-8"))
    questions = (Question(row["query"], frozenset(row["relevantDocs"]), category="general") for row in rows)
    yield Corpus("general", _markdown(folder / "corpus"), tuple(questions))


def longmemeval(file: Path) -> Iterator[Corpus]:
    """Read chats of a user with an assistant: each question has sessions, and thus an index, of its own.

    Files are named by number, because ids of sessions tell which ones answer. Questions without an answer
    (`_abs`) are left out, as the authors do.
    """
    rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    for row in rows:
        if row["question_id"].endswith("_abs"):
            continue
        files: dict[str, str] = {}
        names: dict[str, str] = {}
        sessions = zip(
            row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True
        )
        for number, (session, date, turns) in enumerate(sessions):
            if session in names:  # some sessions are listed twice
                continue
            names[session] = f"{number:03}.md"
            said = [f"**{turn['role'].capitalize()}:** {turn['content'].strip()}" for turn in turns]
            files[names[session]] = "\n\n".join([f"# Chat on {date}", *said, ""])
        gold = frozenset(names[session] for session in row["answer_session_ids"])
        question = Question(row["question"], gold, category=row["question_type"])
        yield Corpus(row["question_id"], files, (question,))


def scifact(folder: Path) -> Iterator[Corpus]:
    """Read a collection in BEIR layout, with the files and so the index of `quality.py`."""
    collection = read_collection(folder)
    names = file_names(collection.documents)
    paths = {document: path for path, document in names.items()}
    files = {path: document.markdown for path, document in zip(names, collection.documents, strict=True)}
    questions = (
        Question(text, frozenset(paths[document] for document, grade in grades.items() if grade > 0))
        for query, text in collection.queries.items()
        if (grades := collection.qrels[query])
    )
    yield Corpus("", files, tuple(questions), collection.digest)


def _markdown(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*.md") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


_ALL: dict[str, tuple[str, ...]] = {"all": ()}
PEER_SETS = {
    "locomo": PeerSet(
        "data/locomo10.json",
        "git clone https://github.com/dial481/locomo-audit (CC BY-NC 4.0)",
        locomo,
        ("R@5", "R@10", "MRR", "all@5", "all@10"),
        {"categories 1 to 4": ("1", "2", "3", "4"), "all categories": ()},
    ),
    "vault": PeerSet(
        "",
        "git clone https://github.com/flowing-abyss/obsidian-hybrid-search (MIT)",
        vault,
        ("nDCG@5", "MRR", "Hit@1", "Hit@5"),
        _ALL,
    ),
    "gno": PeerSet(
        "evals/fixtures",
        "git clone https://github.com/gmickel/gno (MIT)",
        gno,
        ("nDCG@10", "R@5", "MRR"),
        {"CJK": ("CJK",), "general": ("general",)},
    ),
    "longmemeval": PeerSet(
        "",
        "longmemeval_s_cleaned.json of https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned (MIT)",
        longmemeval,
        ("all@5", "all@10", "nDCG@10", "Hit@5", "Hit@10"),
        _ALL,
    ),
    "scifact": PeerSet(
        "",
        "a folder in BEIR layout, made from https://github.com/beir-cellar/beir (see bench/README.md)",
        scifact,
        ("nDCG@10", "MRR", "R@10"),
        _ALL,
    ),
}
