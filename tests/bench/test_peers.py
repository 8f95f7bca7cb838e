"""`bench/peers.py` on made-up data in the formats of the benchmarks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "peers.py"
LOCOMO = [
    {
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_1_date_time": "1:00 pm on 8 May, 2023",
            "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a kestrel."}],
            "session_2_date_time": "2:00 pm on 9 May, 2023",
            "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "My sister bakes sourdough."}],
            "session_3_date_time": "a date without a session",
        },
        "qa": [
            {"question": "Who adopted a kestrel?", "evidence": ["D1:1"], "category": 4},
            {"question": "kestrel sourdough", "evidence": ["D1:1; D2:1"], "category": 1},
            {"question": "Does Ann bake sourdough?", "evidence": ["D1:1"], "category": 5},
            {"question": "kestrel", "evidence": [], "category": 4},
        ],
    }
]
LONGMEMEVAL = [
    {
        "question_id": f"q{number}{suffix}",
        "question_type": "multi-session",
        "question": "How many kestrels do I have?",
        "answer": "two",
        "question_date": "2023/05/30 (Tue) 23:40",
        "haystack_dates": ["2023/05/20 (Sat) 02:21"] * 4,
        "haystack_session_ids": ["answer_1", "ultrachat_7", "ultrachat_7", "answer_2"],
        "haystack_sessions": [
            [{"role": "user", "content": "I have a kestrel.", "has_answer": True}],
            [{"role": "user", "content": "How do I bake sourdough?"}],
            [{"role": "user", "content": "How do I bake sourdough?"}],
            [
                {"role": "user", "content": "Another bird is here."},
                {"role": "assistant", "content": "A second one?"},
            ],
        ],
        "answer_session_ids": ["answer_1", "answer_2"],
    }
    for number, suffix in enumerate(("", "_abs", ""))
]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def measured(tmp_path: Path, benchmark: str, data: Path, *more: object) -> list[dict[str, Any]]:
    """Return the results of `search`."""
    out = tmp_path / "out.json"
    done = run(benchmark, data, "--modes", "search", "--work", tmp_path / "work", "--json", out, *more)
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))["results"]
    return results


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_locomo_has_a_file_for_each_session_and_counts_questions_without_evidence(tmp_path: Path) -> None:
    write(tmp_path / "data/locomo10.json", LOCOMO)
    answered, everything = measured(tmp_path, "locomo", tmp_path)
    assert (answered["subset"], answered["questions"], answered["files"]) == ("categories 1 to 4", 3, 2)
    assert answered["measures"]["all@5"] == pytest.approx(2 / 3, abs=1e-4)
    assert (everything["subset"], everything["questions"], everything["failures"]) == ("all categories", 4, 0)
    text = (tmp_path / "work/locomo/files/locomo-c00-s01.md").read_text(encoding="utf-8")
    assert text == (
        "# Chat session at 1:00 pm on 8 May, 2023\n\n## Conversation\n- **Ann:** I adopted a kestrel.\n"
    )


def test_longmemeval_searches_the_chats_of_each_question_alone(tmp_path: Path) -> None:
    file = tmp_path / "longmemeval_s.json"
    write(file, LONGMEMEVAL)
    [result] = measured(tmp_path, "longmemeval", file)
    assert (result["questions"], result["files"]) == (2, 6)
    assert result["measures"]["Hit@5"] == 1.0
    assert result["measures"]["all@5"] == 0.0
    names = sorted(path.name for path in (tmp_path / "work/longmemeval/q0/files").iterdir())
    assert names == ["000.md", "001.md", "003.md"]


def test_sample_takes_each_nth_question_of_all_indexes(tmp_path: Path) -> None:
    file = tmp_path / "longmemeval_s.json"
    write(file, LONGMEMEVAL)
    [result] = measured(tmp_path, "longmemeval", file, "--sample", 2)
    assert result["questions"] == 1
    assert not (tmp_path / "work/longmemeval/q2").exists()


def test_vault_counts_notes_that_answer_in_part_only_in_ndcg(tmp_path: Path) -> None:
    notes = tmp_path / "fixtures/obsidian-help/en"
    write(notes / "Plugins/Kestrel.md", "The kestrel hovers.")
    write(notes / "Bread.md", "Bread is mentioned by no bird.")
    rows = [
        {"query": "kestrel", "relevant_paths": ["Bread.md"], "partial_paths": ["Plugins/Kestrel.md"]},
        {"query": "kestrel", "relevant_paths": ["Plugins/Kestrel.md"], "partial_paths": []},
    ]
    write(tmp_path / "eval/golden-sets/obsidian-help.json", rows)
    [result] = measured(tmp_path, "vault", tmp_path)
    assert result["measures"]["Hit@5"] == 0.5
    assert result["measures"]["nDCG@5"] == pytest.approx((1 / (2 + 1 / 1.58496) + 1) / 2, abs=1e-3)


def test_gno_has_an_index_for_each_of_its_sets(tmp_path: Path) -> None:
    cjk, general = (
        tmp_path / "evals/fixtures" / name
        for name in ("cjk-lexical-benchmark", "general-embedding-benchmark")
    )
    write(cjk / "corpus/zh/d001.md", "冷链温控报警")
    write(cjk / "queries.json", [{"id": "q", "query": "温控"}])
    write(cjk / "qrels.json", {"judgments": [{"queryId": "q", "docid": "zh/d001.md", "relevance": 3}]})
    write(general / "corpus/en/index.md", "a fast framework")
    write(general / "queries.json", [{"query": "framework", "relevantDocs": ["en/index.md"]}])
    results = measured(tmp_path, "gno", tmp_path)
    assert [(each["subset"], each["measures"]["nDCG@10"]) for each in results] == [
        ("CJK", 1.0),
        ("general", 1.0),
    ]


def test_missing_and_wrong_data_say_where_to_get_it(tmp_path: Path) -> None:
    missing = run("locomo", tmp_path)
    assert missing.returncode == 1
    assert f"there is no {tmp_path}/data/locomo10.json" in missing.stderr
    assert "https://github.com/dial481/locomo-audit" in missing.stderr
    write(tmp_path / "empty.json", [])
    empty = run("longmemeval", tmp_path / "empty.json")
    assert empty.returncode == 1
    assert "has no questions of longmemeval. Get it here" in empty.stderr
    write(tmp_path / "other.json", [{}])
    wrong = run("longmemeval", tmp_path / "other.json")
    assert wrong.returncode == 1
    assert "is not the data of longmemeval (KeyError: 'question_id')" in wrong.stderr
    assert "https://huggingface.co/datasets/xiaowu0162/longmemeval-cleaned" in wrong.stderr


def test_scifact_shares_the_index_of_quality(tmp_path: Path) -> None:
    collection = tmp_path / "scifact"
    write(
        collection / "corpus.jsonl", '{"_id": "a", "text": "A heron stands."}\n{"_id": "b", "text": "Owls."}'
    )
    write(collection / "queries.jsonl", '{"_id": "q", "text": "heron"}')
    write(collection / "qrels.tsv", "query\tdocument\tgrade\nq\ta\t1\n")
    command = [sys.executable, str(SCRIPT.with_name("quality.py")), str(collection), "--work"]
    subprocess.run([*command, str(tmp_path / "work")], check=True, capture_output=True)
    index = tmp_path / "work/scifact/index.sqlite"
    before = index.stat().st_ino
    [result] = measured(tmp_path, "scifact", collection)
    assert (result["files"], result["measures"]["nDCG@10"]) == (2, 1.0)
    assert index.stat().st_ino == before
