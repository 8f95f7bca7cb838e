"""Checking what a text cites and quotes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import pytest

import qmd
from qmd.features.evidence import verbatim
from qmd.features.evidence.citing import MAX_DRAFT
from qmd.features.evidence.standing import Rows, holds
from qmd.features.evidence.types import CitationCheck
from tests.citations import Case, Generator, drafts
from tests.conftest import Notes
from tests.files import CLAUDE, ROOT, lines, pdf

PAGES = ROOT / "docs"
OPS = """# Operations

You must not deploy on Fridays,
since rollbacks take 45 minutes.

## Rollback steps

Run `make rollback` to return to the **last** release. It costs $5 (5% of a day).

## Backups

A dump is made every night; see [the plan](plan.md) or <a href="https://good.example">a page</a>. \
数据库迁移**不支持**回滚，需要先备份数据。 ^dump
"""
CHINESE = """# 备份

数据库每天夜里两点自动备份一次，备份文件保留三十天。迁移工具不支持回滚到旧的版本。
恢复之前必须先停止所有的写入服务，否则数据可能会不一致。索引在恢复之后需要重新建立。

## 权限

只有管理员可以删除备份文件，普通用户没有这个权限。密码每九十天必须更换一次。
日志文件超过一百兆之后会自动分割，旧的日志不会被立即删除。
"""
FILES = {
    "ops.md": OPS,
    "old notes.md": "---\naliases: [Ancient]\n---\n# Old\n\nThe review of 2025 led to nothing.\n",
    "dup.md": "the same line\n\nthe same line\n",
    "a/readme.md": "# A\n\nFirst.\n",
    "b/readme.md": "# B\n\nSecond.\n",
    "笔记/备份.md": CHINESE,
}


@pytest.fixture
def cited(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes(FILES)), "notes")
    return index


def checks(index: qmd.Index, text: str) -> list[tuple[str, str | None]]:
    """Return the standing and the address of each check."""
    return [(check.standing, check.address) for check in index.cite_check(text).checks]


HOLD = [
    '"You must not deploy on Fridays, since rollbacks take 45 minutes" (notes/ops.md:3-4)',
    '"you must not deploy on Fridays" (ops.md:3).',
    "“must not deploy\non Fridays,” (ops.md:3:2)",
    "According to `ops.md:8`, «Run make rollback to return to the last release».",
    '"Run `make rollback` … last release" (ops.md:8)',
    '"You must not deploy [...] since rollbacks take 45 minutes" — ops.md:3-4',
    "> You must not deploy on Fridays,\n> since rollbacks take 45 minutes.\n> — notes/ops.md:3",
    "ops.md#Rollback steps says:\n\n> Run make rollback to return to the last release.",
    'It "costs $5 (5% of a day)" [1].\n\n[1]: qmd://notes/ops.md:8',
    "据ops.md:12说：「数据库迁移不支持回滚」。",
    '"A dump is made every night; see the plan" [[ops#Backups]]',
    '"every night; see [the plan](plan.md) or a page" (ops.md:12)',
    '"the plan or <a href=https://good.example>a page</a>" (ops.md:12)',
    '["A dump is made every night"](ops.md#backups)',
    '"The review of 2025 led to nothing" (old notes.md:6)',
    '"the review of 2025" [[Ancient]]',
    "“数据库每天夜里两点自动备份一次” (笔记/备份.md:3)",
    '"A dump is made every night" [[ops#^dump]]',
]


@pytest.mark.parametrize("text", HOLD)
def test_cite_check_accepts_other_typography(cited: qmd.Index, text: str) -> None:
    found = [check for check in cited.cite_check(text).checks if check.quote is not None]
    assert [check.standing for check in found] == ["holds"]


@pytest.mark.parametrize(
    ("text", "standing", "address"),
    [
        ('"You must deploy on Fridays" (ops.md:3)', "changed", "notes/ops.md:3"),
        ('"rollbacks take 54 minutes" (ops.md:4)', "changed", "notes/ops.md:4"),
        ('"rollbacks take 45 minutes" (ops.md:3)', "moved", "notes/ops.md:4"),
        ('"deploy on Fridays" (ops.md:3)', "inexact", "notes/ops.md:3"),
        ('"You must … deploy on Fridays" (ops.md:3)', "inexact", "notes/ops.md:3"),
        ('"YOU MUST not deploy" (ops.md:3)', "inexact", "notes/ops.md:3"),
        ('"It costs $5 (5" (ops.md:8)', "inexact", "notes/ops.md:8"),
        ('"rollbacks take 45 minutes" (ops.md#Backups)', "moved", "notes/ops.md:4"),
        ("“数据库迁移支持回滚” (ops.md:12)", "changed", "notes/ops.md:12"),
        (
            '"every night; see [the plan](https://evil.example/plan.md)" (ops.md:12)',
            "inexact",
            "notes/ops.md:12",
        ),
        ("> see [the plan](https://evil.example)\n\n— ops.md:12", "inexact", "notes/ops.md:12"),
        ('"or <a href=https://evil.example>a page</a>" (ops.md:12)', "inexact", "notes/ops.md:12"),
        ('"a dump is made [every night](https://evil.example)" (ops.md:12)', "inexact", "notes/ops.md:12"),
        ("“支持回滚” (ops.md:12)", "inexact", "notes/ops.md:12"),
        ('"the same line" (dup.md:2)', "ambiguous", None),
        ('"nothing like this is anywhere" (ops.md:3)', "absent", None),
        ('"whatever it says" (gone.md:3)', "absent", None),
        ('"whatever it says" (#abcdef)', "absent", None),
        ("see [it](gone.md)", "absent", None),
        ("see [[ops#Restoring]]", "absent", None),
        ("see ops.md:99", "absent", None),
        ("see ops.md:2", "absent", None),
        ("see ops.md:10-30", "absent", None),
        ("see readme.md:1", "ambiguous", None),
    ],
)
def test_cite_check_finds_what_is_wrong(
    cited: qmd.Index, text: str, standing: str, address: str | None
) -> None:
    assert checks(cited, text) == [(standing, address)]


def test_cite_check_says_what_differs(cited: qmd.Index) -> None:
    (check,) = cited.cite_check('See:\n"rollbacks take 54 minutes" (ops.md:3-4)').checks
    assert (check.line, check.column, check.citation) == (2, 30, "ops.md:3-4")
    assert check.difference == "rollbacks take [-54-] {+45+} minutes"
    assert check.text == "rollbacks take 45 minutes"
    (check,) = cited.cite_check('"Deploy on Fridays" (ops.md:3)').checks
    assert check.message == "not quoted exactly at notes/ops.md:3: it leaves out 'not'"


@pytest.mark.parametrize(
    "text",
    [
        "Words like e.g. Node.js, and/or, 10:30, localhost:8080, 3.5:1 and v1.2 are none.",
        "```\nops.md:99\n```",
        "A colour #ffcc0 and a tag #facade, an issue #123456.",
        "[web](https://example.org/a.md:99) https://example.org/ops.md:99 ![picture](gone.png) [[gone.png]]",
        '"A quotation that belongs to nothing" and package.json, without a citation.',
    ],
)
def test_cite_check_takes_other_text_for_no_citation(cited: qmd.Index, text: str) -> None:
    assert cited.cite_check(text).checks == ()


def belongs(index: qmd.Index, text: str) -> list[tuple[str, str]]:
    return [(check.quote, check.citation) for check in index.cite_check(text).checks if check.quote]


def test_quotations_belong_to_the_citation_beside_them(cited: qmd.Index) -> None:
    assert belongs(
        cited, 'ops.md:3 says "one", dup.md:1 says "two". "Three" (ops.md:4) and "four" [x].\n\n[x]: dup.md:3'
    ) == [
        ("one", "ops.md:3"),
        ("two", "dup.md:1"),
        ("Three", "ops.md:4"),
        ("four", "dup.md:3"),
    ]
    assert belongs(cited, 'From ops.md:\n\n- "one"\n- "two" (dup.md)') == [
        ("one", "ops.md"),
        ("two", "dup.md"),
    ]
    assert belongs(cited, 'A "fast" way. See ops.md:3. "It goes on like this."') == [
        ("It goes on like this.", "ops.md:3")
    ]
    assert belongs(cited, "“An outer “inner” quotation” (ops.md)") == [
        ("An outer “inner” quotation", "ops.md")
    ]
    assert cited.cite_check('"Nobody said this."').uncited == 1


def test_fixed_rewrites_only_moved_places(cited: qmd.Index) -> None:
    text = (
        'Ä "rollbacks take 45 minutes" (ops.md:9), "Run make rollback" [[ops#Backups|here]],\r\n'
        "“You must not deploy on Fridays, since rollbacks take 45 minutes” ([x](notes/ops.md#L7-L8));\r\n"
        '"rollbacks take 54 minutes" (ops.md:9) and "led to nothing" `notes/old notes.md:1:2`.\r\n'
    )
    report = cited.cite_check(text)
    assert [check.standing for check in report.checks] == ["moved", "moved", "moved", "changed", "moved"]
    assert report.fixed(text) == (
        text.replace("ops.md:9", "ops.md:4", 1)
        .replace("ops#Backups", "ops#Rollback steps")
        .replace("#L7-L8", "#L3-L4")
        .replace(":1:2", ":6:1")
    )
    assert [check.standing for check in cited.cite_check(report.fixed(text)).checks][:3] == ["holds"] * 3


def test_cite_check_reads_pages_and_transcripts(index: qmd.Index, notes: Notes) -> None:
    folder = notes({"session.jsonl": lines(CLAUDE)})
    (folder / "report.pdf").write_bytes(pdf("The heron stands still.", "The ibis walks away.", "An end."))
    index.add_collection(str(folder), "notes", formats=["pdf", "transcript"])
    text = (
        '"The heron stands still." (report.pdf:p1). "The ibis walks away" (report.pdf:p3), '
        '"An end" (report.pdf:p9).'
    )
    report = index.cite_check(text)
    assert [check.standing for check in report.checks] == ["holds", "moved", "moved"]
    assert report.fixed(text) == text.replace(":p3", ":p2").replace(":p9", ":p3")
    assert checks(index, '"Why does the kestrel fail?" (session.jsonl:m1)')[0][0] == "holds"


def test_cite_check_resolves_links_from_the_folder_of_the_text(cited: qmd.Index) -> None:
    folder = os.path.join(cited.config.collections["notes"].path, "a")
    text = "[up](../ops.md#Backups), [here](readme.md), [there](../b/readme.md)"
    report = cited.cite_check(text, folder=folder)
    assert [check.file for check in report.checks] == [
        "notes/ops.md",
        "notes/a/readme.md",
        "notes/b/readme.md",
    ]


def test_cite_check_does_not_tell_of_hidden_documents(cited: qmd.Index, notes: Notes) -> None:
    cited.add_collection(str(notes({"secret.md": "The heron is here.\n"}, "hidden")), "hidden")
    docid = cited.get("secret.md").document.docid
    limited = cited.limited(["notes"])
    for citation in ("secret.md:1", "hidden/secret.md", docid, "qmd://hidden/secret.md"):
        (check,) = limited.cite_check(f'"The heron is here." ({citation})').checks
        assert (check.standing, check.message, check.file) == ("absent", "no such document", None)


def test_cite_check_refuses_texts_that_are_too_long(cited: qmd.Index) -> None:
    with pytest.raises(qmd.UsageError, match="characters"):
        cited.cite_check("x" * (MAX_DRAFT + 1))
    with pytest.raises(qmd.UsageError, match="citations"):
        cited.cite_check("ops.md:1 " * 6_000)


def test_quote_check_finds_a_quotation_in_a_document(cited: qmd.Index) -> None:
    assert cited.quote_check("ops.md", "must not deploy").address == "notes/ops.md:3"
    assert cited.quote_check("ops.md:1:2", "must not deploy").standing == "moved"
    with pytest.raises(qmd.UsageError, match="no words"):
        cited.quote_check("ops.md", "…")


def test_passage_holds_moves_changes_and_goes() -> None:
    passage = "You must not deploy on Fridays,\nsince rollbacks take 45 minutes."
    assert holds(Rows(OPS), (3, 4), passage).standing == "holds"
    moved = holds(Rows("\n\n" + OPS), (3, 4), passage)
    assert (moved.standing, moved.lines) == ("moved", (5, 6))
    nearest = holds(Rows(OPS * 3), (9, 10), passage)
    assert nearest.lines is not None and abs(nearest.lines[0] - 9) <= OPS.count("\n") / 2
    changed = holds(Rows(OPS.replace("45", "54")), (3, 4), passage)
    assert (changed.standing, changed.difference) == (
        "changed",
        "You must not deploy on Fridays, since rollbacks take [-45-] {+54+} minutes",
    )
    assert holds(Rows("# Nothing\n"), (3, 4), passage).standing == "absent"


@pytest.mark.parametrize(
    ("text", "quote", "left_out"),
    [
        ("Rollbacks take 45 minutes.", "Rollbacks take 45", "minutes"),
        ("Rollbacks take 45 % of a day.", "Rollbacks take 45", "%"),
        ("The dump has 45 kB.", "The dump has 45", "kb"),
        ("Rollbacks take 45 Minuten.", "Rollbacks take 45", "minuten"),
        ("Il faut 45 pour cent.", "Il faut 45", "pour cent"),
        ("回滚耗时45分钟。", "回滚耗时45", "分"),
        ("ロールバックは45分かかる。", "ロールバックは45", "分"),
        ("It costs $45 a day.", "45 a day", "$"),
        ("It costs EUR 45 a day.", "45 a day", "eur"),
        ("Turn it by 45° now.", "Turn it by 45", "°"),
        ("It takes 45-50 days.", "It takes 45", "-50"),
        ("It takes 45–50 days.", "50 days", "45-"),
        ("We begin at 12:30 sharp.", "We begin at 12", ":30"),
        ("It has 45 000 users.", "It has 45", "000"),
        ("It needs ≤45 workers.", "45 workers", "≤"),
        ("It takes 45 minutes in total.", "It takes 45 ... total", "minutes"),
    ],
)
def test_quotation_of_a_number_without_its_unit_is_inexact(
    index: qmd.Index, notes: Notes, text: str, quote: str, left_out: str
) -> None:
    index.add_collection(str(notes({"units.md": text})), "notes")
    check = index.quote_check("units.md", quote)
    assert (check.standing, left_out in check.message) == ("inexact", True)
    assert index.quote_check("units.md", text).standing == "holds"


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("In 2019 in Paris we met.", "In 2019"),
        ("It needs 45 workers.", "It needs 45"),
        ("It takes 45. Minutes pass.", "It takes 45"),
        ("Version 2 - 3 people came.", "Version 2"),
        ("在第45页。", "第45页"),
    ],
)
def test_number_without_a_unit_is_quoted_exactly(
    index: qmd.Index, notes: Notes, text: str, quote: str
) -> None:
    index.add_collection(str(notes({"units.md": text})), "notes")
    assert index.quote_check("units.md", quote).standing == "holds"


def test_citations_of_a_file_that_was_edited_are_compared_with_it(cited: qmd.Index, notes: Notes) -> None:
    text = '"since rollbacks take 45 minutes" (notes/ops.md:4)'
    assert checks(cited, text)[0][0] == "holds"
    notes({"ops.md": OPS.replace("45", "54")})
    assert checks(cited, text)[0][0] == "changed"
    notes({"ops.md": "# New\n\n" + OPS})
    assert checks(cited, text) == [("moved", "notes/ops.md:6")]
    os.utime(notes({"ops.md": OPS}) / "ops.md", (1, 1))
    assert checks(cited, text)[0][0] == "holds"
    (notes({}) / "ops.md").unlink()
    (check,) = cited.cite_check(text).checks
    assert (check.standing, check.message) == ("absent", "the file of notes/ops.md is not there any more")


def test_citation_of_an_edited_page_is_compared_with_the_source_file(index: qmd.Index, notes: Notes) -> None:
    folder = notes({})
    (folder / "report.pdf").write_bytes(pdf("It costs five."))
    index.add_collection(str(folder), "notes", formats=["pdf"])
    text = '"It costs five." (notes/report.pdf:p1)'
    assert checks(index, text)[0][0] == "holds"
    (folder / "report.pdf").write_bytes(pdf("It costs seven and more."))
    assert checks(index, text)[0][0] != "holds"


def test_agents_get_masked_text_of_an_edited_file(cited: qmd.Index, notes: Notes) -> None:
    text = '"The password: hunter2correct" (notes/ops.md:1)'
    notes({"ops.md": "The password: hunter2correcthorse is new here.\n"})
    (check,) = cited.limited(agent=True).cite_check(text).checks
    assert "hunter2correcthorse" not in repr(check)
    notes({"ops.md": "---\nagents: false\n---\nThe password: hunter2correct\n"})
    (check,) = cited.limited(agent=True).cite_check(text).checks
    assert (check.standing, check.text) == ("absent", "")


def test_what_is_not_checked_in_time_is_said_so(cited: qmd.Index) -> None:
    text = 'It says "must not deploy" (notes/ops.md:3).\n\nSee notes/ops.md:4.'
    report = cited.cite_check(text, timeout=0)
    assert [check.standing for check in report.checks] == ["unchecked", "unchecked"]
    assert len(report.failed) == 2


HOSTILE = {
    "equal": lambda number: "notes/big.md:5",
    "lines": lambda number: f"notes/big.md:{number + 3}",
    "headings": lambda number: f"[[notes/big.md#Head {number}]]",
    "blocks": lambda number: f"[[notes/big.md#^{number}]]",
    "repeated": lambda number: f'"the day of the plan" (notes/big.md:{3900 - number})',
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_document_is_read_once_for_all_its_citations(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    text = "\n".join(f"the day of the plan for the house {number}" for number in range(4_000))
    headings = "\n".join(f"## Head {number}\n\ntext ^{number}\n" for number in range(300))
    index.add_collection(str(notes({"big.md": f"{text}\n\n{headings}"})), "notes")
    read: list[int] = []
    texts = type(index._store.documents).texts
    monkeypatch.setattr(
        type(index._store.documents), "texts", lambda self, ids: read.extend(ids) or texts(self, ids)
    )
    report = index.cite_check("\n\n".join(map(HOSTILE[case], range(300))))
    assert [check.standing for check in report.checks] == ["holds"] * 300
    assert len(read) == 1


def test_places_of_a_quotation_are_compared_until_one_is_exact(
    index: qmd.Index, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.add_collection(str(notes({"big.md": "the day of the plan\n" * 5_000})), "notes")
    compared: list[int] = []
    fault = verbatim._fault
    monkeypatch.setattr(
        verbatim, "_fault", lambda words, quote, first: compared.append(first) or fault(words, quote, first)
    )
    assert index.quote_check("big.md:4000", "the day of the plan").standing == "holds"
    assert index.quote_check("big.md:9000", "the day of the plan").standing == "ambiguous"
    assert len(compared) < 50


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[Case, list[CitationCheck]]]]:
    """1,000 citations that hold and 1,000 mutated ones of real text, with what was found of each."""
    root = tmp_path_factory.mktemp("judged")
    documents = {page.name: page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("*.md"))}
    documents["备份.md"] = CHINESE
    (root / "pages").mkdir()
    for name, text in documents.items():
        (root / "pages" / name).write_text(text, encoding="utf-8")
    made = Generator(documents, seed=31)
    with qmd.open_index(root / "index.sqlite", environ={"HOME": str(root)}) as index:
        index.add_collection(str(root / "pages"), "pages")
        return {
            "right": _judged(index, list(made.right(1_000))),
            "wrong": _judged(index, list(made.wrong(1_000))),
        }


def _judged(index: qmd.Index, cases: Sequence[Case]) -> list[tuple[Case, list[CitationCheck]]]:
    found = []
    for text, part in drafts(cases):
        checks = index.cite_check(text).checks
        at = 0
        for case in part:
            start = text.index(case.text, at)
            at = start + len(case.text)
            found.append((case, [check for check in checks if start <= check.start < at]))
    return found


Judged = dict[str, list[tuple[Case, list[CitationCheck]]]]


def test_no_mutated_citation_of_a_thousand_passes(judged: Judged) -> None:
    kinds = Counter(case.kind for case, _ in judged["wrong"])
    assert len(kinds) == 10
    assert set(kinds.values()) == {100}
    passed = [case for case, found in judged["wrong"] if all(check.standing == "holds" for check in found)]
    assert passed == []


def test_at_most_one_right_citation_of_a_hundred_is_a_false_alarm(judged: Judged) -> None:
    alarms = [
        (case.text, [(check.standing, check.message) for check in found])
        for case, found in judged["right"]
        if any(check.standing != "holds" for check in found) or not any(check.quote for check in found)
    ]
    assert len(judged["right"]) == 1_000
    assert len(alarms) <= 10, alarms


def test_lines_that_moved_are_found_again(judged: Judged) -> None:
    shifted = [found for case, found in judged["wrong"] if case.kind == "lines"]
    standings = Counter(check.standing for found in shifted for check in found if check.quote)
    # Sentences that stand at several places are ambiguous.
    assert standings["moved"] + standings["ambiguous"] >= 97
    assert standings["moved"] >= 75
