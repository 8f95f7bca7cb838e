"""`qmd bench`: measures of the searches for questions with known answers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qmd.text.uris import parse_uri
from tests.users import User

pytestmark = pytest.mark.slow

WriteFixture = Callable[..., str]

QUESTIONS = [
    {
        "id": "words",
        "query": "rollback release",
        "type": "exact",
        "description": "by words",
        "expected_files": ["deploy.md"],
        "expected_in_top_k": 1,
    },
    {
        "id": "meaning",
        "query": "moving data to another database safely",
        "type": "semantic",
        "description": "in another language",
        "expected_files": ["notes/数据库 迁移.md"],
        "expected_in_top_k": 3,
    },
]
CORPUS = [
    {"_id": "b/1", "title": "Herons", "text": "A heron stands in the water and waits."},
    {"_id": "b/2", "title": "", "text": "# Owls\n\nOwls hunt at night."},
    {"_id": "b/3", "title": "Bread", "text": "Flour, water and salt."},
]
QUERIES = [
    {"_id": "q1", "text": "which bird stands in water"},
    {"_id": "q2", "text": "baking"},
    {"_id": "q3", "text": "not judged"},
]
QRELS = "query-id\tcorpus-id\tscore\nq1\tb/1\t2\nq1\tb/2\t1\nq2\tb/3\t1\n"


@pytest.fixture
def fixture(tmp_path: Path) -> WriteFixture:
    """Write a fixture file in the format of tobi/qmd; return its path."""

    def write(queries: Any = QUESTIONS, **more: Any) -> str:
        path = tmp_path / "fixture.json"
        path.write_text(json.dumps({"description": "d", "version": 1, "queries": queries, **more}), "utf-8")
        return str(path)

    return write


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A folder in BEIR layout with a compressed corpus."""
    folder = tmp_path / "birds"
    folder.mkdir()
    lines = "".join(json.dumps(row) + "\n" for row in CORPUS)
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUERIES), "utf-8")
    (folder / "qrels.tsv").write_text(QRELS, "utf-8")
    return folder


def bench(user: User, *args: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(user.ok("bench", "--json", *args))
    return found


def answers(found: dict[str, Any], way: str) -> dict[str, dict[str, Any]]:
    return {answer["id"]: answer for answer in found["answers"] if answer["way"] == way}


def test_bench_measures_every_mode_on_the_users_index(seer: User, fixture: WriteFixture) -> None:
    found = bench(seer, fixture())
    assert [way["way"] for way in found["ways"]] == ["bm25", "vector", "hybrid", "full"]
    assert all(way["skipped"] is None for way in found["ways"])
    for way in ("bm25", "full"):
        assert answers(found, way)["words"]["found"] == ["deploy.md"]
    meaning = answers(found, "vector")["meaning"]
    assert meaning["found"] == ["notes/数据库 迁移.md"]
    rank = meaning["top"].index("notes/数据库 迁移.md") + 1
    assert meaning["measures"]["mrr@10"] == pytest.approx(1 / rank, abs=1e-6)
    full = next(way for way in found["ways"] if way["way"] == "full")
    per_question = [answer["measures"]["ndcg@10"] for answer in answers(found, "full").values()]
    assert full["measures"]["ndcg@10"] == pytest.approx(sum(per_question) / 2, abs=1e-5)


@pytest.mark.parametrize("kind", ["search", "query"])
def test_bench_ranks_like_the_search_command(seer: User, fixture: WriteFixture, kind: str) -> None:
    way = {"search": "bm25", "query": "full"}[kind]
    top = answers(bench(seer, fixture(), "--ways", way), way)["words"]["top"]
    hits = json.loads(seer.ok(kind, "rollback release", "--json", "-n", "10"))
    files = [parse_uri(hit["file"]) for hit in hits]
    assert top == [file.replace("notes/deploy.md", "deploy.md") for file in files]


def test_bench_names_skipped_modes_with_the_reason(reader: User, fixture: WriteFixture) -> None:
    found = bench(reader, fixture())
    assert [way["way"] for way in found["ways"] if way["skipped"] is None] == ["bm25"]
    text = reader.ok("bench", fixture())
    for way in ("vector", "hybrid", "full"):
        assert f"\n{way} was skipped: " in text
        assert "qmd embed" in text


def test_bench_table_has_rows_by_mode_and_by_question_type(seer: User, fixture: WriteFixture) -> None:
    lines = seer.ok("bench", fixture(), "--ways", "bm25,hybrid").splitlines()
    assert lines[0] == "fixture.json: 11 documents, 2 questions"
    heading = "Way nDCG@10 R@10 MRR@10 P@1 P@3 P@5 Expected p50 ms p95 ms"
    assert lines[2].split() == heading.split()
    assert [line.split()[0] for line in lines[3:5]] == ["bm25", "hybrid"]
    assert lines[6] == "nDCG@10 by type:"
    assert lines[7].split() == ["Type", "Questions", "bm25", "hybrid"]
    assert [line.split()[:2] for line in lines[8:]] == [["exact", "1"], ["semantic", "1"]]


def test_bench_csv_has_every_measure(seer: User, fixture: WriteFixture) -> None:
    head, row = seer.ok("bench", fixture(), "--ways", "bm25", "-k", "3", "--csv").splitlines()
    assert head == (
        "way,ndcg@3,recall@3,mrr@3,precision@1,precision@3,precision@5,precision@10,expected,p50_ms,p95_ms,skipped"
    )
    assert row.startswith("bm25,")
    assert len(row.split(",")) == len(head.split(","))


def test_bench_matches_expected_paths_by_their_end_in_any_case(seer: User, fixture: WriteFixture) -> None:
    question = {"id": "1", "query": "performance", "expected_in_top_k": 10}
    files = ["qmd://notes/2026/old%20notes.md", "./Deploy.md", "s.md", "otes/deploy.md"]
    (answer,) = bench(seer, fixture([question | {"expected_files": files}]), "--ways", "bm25")["answers"]
    # Part of a name is not the end of a path.
    assert set(answer["found"]) == {"qmd://notes/2026/old%20notes.md", "./Deploy.md"}
    assert set(answer["missing"]) == {"s.md", "otes/deploy.md"}
    assert answer["measures"]["expected"] == 0.5


def test_bench_counts_the_first_document_that_matches_an_expected_path(
    user: User, fixture: WriteFixture
) -> None:
    for name in ("a", "b"):
        (user.notes / name).mkdir()
        (user.notes / name / "readme.md").write_text(f"# Read {name}\n\nherons\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    path = fixture([{"id": "1", "query": "herons", "expected_files": ["readme.md"]}])
    (answer,) = bench(user, path, "--ways", "bm25")["answers"]
    assert answer["top"] in (["readme.md", "notes/b/readme.md"], ["readme.md", "notes/a/readme.md"])
    assert answer["measures"]["recall@10"] == 1.0
    assert answer["measures"]["precision@3"] == pytest.approx(1 / 3, abs=1e-6)


def test_bench_passes_typed_lines_to_the_modes_that_take_them(seer: User, fixture: WriteFixture) -> None:
    question = {"id": "1", "query": "lex: zzzz\nvec: the music group", "expected_files": ["emoji 🎉.md"]}
    found = bench(seer, fixture([question]), "--ways", "bm25,vector,hybrid")
    assert answers(found, "bm25")["1"]["top"] == []
    assert answers(found, "vector")["1"]["top"]
    assert answers(found, "hybrid")["1"]["top"] == answers(found, "vector")["1"]["top"]


def test_bench_notes_expected_documents_that_are_not_indexed(reader: User, fixture: WriteFixture) -> None:
    path = fixture([QUESTIONS[0] | {"expected_files": ["deploy.md", "gone.md"]}])
    result = reader.invoke("bench", path, "--ways", "bm25")
    assert "not in the index, so nothing finds them: 1 expected document (gone.md" in result.stderr
    assert bench(reader, path, "--ways", "bm25", "-q")["ways"][0]["measures"]["recall@10"] == 0.5


def test_bench_notes_times_of_cached_answers(user: User, fixture: WriteFixture) -> None:
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("embed", "-q")
    assert bench(user, fixture(), "--ways", "full")["notes"] == []
    (note,) = bench(user, fixture(), "--ways", "full")["notes"]
    assert note == "full: 2 of 2 were reranked from the cache, so their times are too short"


def test_bench_searches_the_collection_of_the_fixture_or_option(user: User, fixture: WriteFixture) -> None:
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    empty = user.home / "empty"
    empty.mkdir()
    user.ok("collection", "add", str(empty), "--name", "empty")
    path = fixture(collection="notes")
    assert bench(user, path, "--ways", "bm25")["documents"] == 11
    nothing = user.invoke("bench", path, "--ways", "bm25", "-c", "empty")
    assert (nothing.exit_code, "collection 'empty' has no documents" in nothing.stderr) == (1, True)
    unknown = user.invoke("bench", fixture(collection="nope"))
    assert (unknown.exit_code, "Collection not found: nope" in unknown.stderr) == (1, True)


def test_bench_refuses_an_empty_index(user: User, fixture: WriteFixture) -> None:
    result = user.invoke("bench", fixture())
    assert result.exit_code == 1
    assert "there are no documents" in result.stderr


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        ([], "length >= 1 - at `$.queries`"),
        ({}, "got `object` - at `$.queries`"),
        (["x"], "Expected `object`, got `str` - at `$.queries[0]`"),
        ([{"id": "a", "expected_files": ["a.md"]}], "missing required field `query` - at `$.queries[0]`"),
        ([QUESTIONS[0], QUESTIONS[0]], "two queries have the id 'words'"),
        ([{"query": "x", "expected_files": []}], "length >= 1 - at `$.queries[0].expected_files`"),
        ([{"query": "x", "expected_files": [1]}], "got `int` - at `$.queries[0].expected_files[0]`"),
        ([{"query": 1, "expected_files": ["a.md"]}], "got `int` - at `$.queries[0].query`"),
        (
            [{"query": "x", "expected_files": ["a"], "expected_in_top_k": 0}],
            "[0].expected_in_top_k`",
        ),
        ([{"query": "lex: a\nb", "expected_files": ["a"]}], "query 1 ('1'): line 2: does not begin with"),
    ],
)
def test_bench_names_the_place_of_an_error_in_a_fixture(
    reader: User, fixture: WriteFixture, queries: Any, reason: str
) -> None:
    result = reader.invoke("bench", fixture(queries))
    assert result.exit_code == 1
    assert reason in result.stderr


def test_bench_names_the_line_of_invalid_json(reader: User, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{\n"queries": [\n}', "utf-8")
    assert f"{path}:3: not JSON" in reader.invoke("bench", str(path)).stderr
    missing = reader.invoke("bench", str(tmp_path / "none.json"))
    assert (missing.exit_code, "none.json: cannot be read: no such file" in missing.stderr) == (1, True)
    newer = tmp_path / "newer.json"
    newer.write_text('{"version": 2, "queries": []}', "utf-8")
    assert "at `$.version`" in reader.invoke("bench", str(newer)).stderr


def test_bench_measures_a_beir_folder_and_leaves_nothing(user: User, beir: Path) -> None:
    found = bench(user, str(beir))
    assert (found["documents"], found["questions"]) == (3, 2)
    assert [way["skipped"] for way in found["ways"]] == [None] * 4
    assert answers(found, "bm25")["q1"]["top"][0] == "b/1"
    assert answers(found, "vector")["q2"]["top"][0] == "b/3"
    assert user.ok("ls") == "No collections yet. Add one with: qmd add PATH\n"


def test_bench_reuses_a_kept_index_until_the_corpus_changes(user: User, beir: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    first = bench(user, str(beir), "--work", str(work), "--ways", "bm25")
    written = (work / "files" / "0000000.md").stat().st_mtime_ns
    again = bench(user, str(beir), "--work", str(work), "--ways", "bm25")
    assert again["ways"][0]["measures"] == first["ways"][0]["measures"]
    assert (work / "files" / "0000000.md").stat().st_mtime_ns == written
    lines = "".join(json.dumps(row) + "\n" for row in CORPUS[:2])
    (beir / "corpus.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    result = user.invoke("bench", str(beir), "--work", str(work), "--ways", "bm25", "--json")
    assert json.loads(result.stdout)["documents"] == 2
    assert "not in the index, so nothing finds them: 1 expected document" in result.stderr


def test_bench_refuses_a_work_folder_with_other_files(user: User, beir: Path) -> None:
    before = sorted(user.notes.rglob("*"))
    result = user.invoke("bench", str(beir), "--work", str(user.notes))
    assert (result.exit_code, "contains files of another program" in result.stderr) == (1, True)
    assert sorted(user.notes.rglob("*")) == before


def test_bench_limits_the_number_of_questions(user: User, beir: Path) -> None:
    found = bench(user, str(beir), "--ways", "bm25", "--questions", "1")
    assert [answer["id"] for answer in found["answers"]] == ["q1"]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("queries.jsonl", '{"_id": "q1", "text": "x"}\n{"_id": \n', "queries.jsonl:2: not JSON"),
        (
            "queries.jsonl",
            '{"_id": "q1", "text": "x"}\n[1]\n',
            "queries.jsonl:2: Expected `object`",
        ),
        ("queries.jsonl", '{"text": "x"}\n', "queries.jsonl:1: Object missing required field `_id`"),
        ("queries.jsonl", '{"_id": "q1", "text": "x"}\n', "qrels.tsv:4: no text for the query 'q2'"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\nq1 b/1 1\n", "qrels.tsv:2: expected three fields"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\nq1\tb/1\thigh\n", "qrels.tsv:2: the grade must be"),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\n", "qrels.tsv: no query has a relevant document"),
        (
            "corpus.jsonl",
            '{"_id": "b/1", "text": 7}\n',
            "corpus.jsonl:1: Expected `str",
        ),
        ("corpus.jsonl.gz", "not packed", "corpus.jsonl.gz: cannot be read: not a gzipped file"),
    ],
)
def test_bench_names_file_and_line_of_an_error_in_a_beir_folder(
    user: User, beir: Path, name: str, text: str, reason: str
) -> None:
    (beir / name).write_text(text, "utf-8")
    result = user.invoke("bench", str(beir), "--ways", "bm25")
    assert result.exit_code == 1
    assert reason in result.stderr.replace("\n", " ")


def test_bench_refuses_a_folder_without_a_benchmark(user: User) -> None:
    result = user.invoke("bench", str(user.notes))
    assert result.exit_code == 1
    assert "no qrels.tsv" in result.stderr
    assert "corpus.jsonl, queries.jsonl and qrels.tsv" in result.stderr


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--ways", "bm25,magic"], "unknown way to search: magic"),
        (["--work", "work"], "leave --work out"),
        (["-k", "0"], "-k must be a whole number"),
        (["--ranking", "best"], "--ranking must be one of"),
    ],
)
def test_bench_refuses_invalid_options(
    reader: User, fixture: WriteFixture, args: list[str], reason: str
) -> None:
    result = reader.invoke("bench", fixture(), *args)
    assert (result.exit_code, reason in result.stderr) == (2, True)


def test_bench_refuses_a_collection_for_a_beir_folder(reader: User, beir: Path) -> None:
    result = reader.invoke("bench", str(beir), "-c", "notes")
    assert (result.exit_code, "leave -c out" in result.stderr) == (2, True)
