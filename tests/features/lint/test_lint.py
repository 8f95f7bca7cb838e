"""`qmd lint`: the faults of a wiki, as the method and the command report them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import qmd
from qmd.errors import UsageError
from qmd.features.lint.operations import Faults, LintArguments, lint as operation
from qmd.features.lint.twins import sample, twins, words
from tests.conftest import Notes
from tests.users import User

_PROSE = (
    "The migration of the billing database begins with a copy of all tables, then replays the log of changes "
    "until both are equal, and ends when the gateway is told to read from the new one."
)
_SHIPS = "Something of its own, about ships and their sails, in words that no other page here uses at all."
_LONG = "It stands here so that this page has enough words to be no stub for anybody who reads it, once more."
_LOST = (
    "---\nsupersedes: never-written.md\n---\n"
    "# Lost\n\n[[circle-2]] [[2026-03-07]] [[b/plan]] Points at a page.\n"
)
WIKI = {
    "index.md": "# Wiki\n\n"
    "[[billing]] [[plan]] [[nowhere]] [[billing#Steps]] [[billing#Gone]] [[billing#^b1]]\n",
    "billing.md": f"---\ntitle: Billing\n---\n## Steps\n\n"
    f"{_PROSE} ^b1\n\n[gone](missing.md) ![](picture.png)\n",
    "payments.md": f"# Payments\n\n{_PROSE.replace('gateway', 'proxy')}\n\n[[billing]] [[todo]] [[a/plan]]\n",
    "a/plan.md": "# Plan of A\n\n[[b/plan|b]] [[payments]] [x](../index.md#wiki) [y](#nothing)\n",
    "b/plan.md": f"# Plan of B\n\n{_SHIPS}\n",
    "todo.md": f"# To do\n\n<!-- {_LONG} -->\nLater.\n",
    "2026-03-07.md": f"# A day\n\n{_LONG}\n",
    "lonely.md": "# Lonely\n\n[[todo]] [[payments]] [[billing]]\n",
    "old.md": "---\nstatus: accepted\nsuperseded_by: new.md\n---\n# Old\n\n"
    "[[todo]] [[payments]] [[billing]]\n",
    "new.md": "---\nsupersedes: old.md\nexpires: 2020-01-01\n---\n# New\n\n[[old]] [[rival]] [[circle-1]]\n",
    "rival.md": "---\nsupersedes: old.md\nvalid_from: 2026-02-01\nvalid_until: 2026-01-01\n---\n# Rival\n\n"
    "[[old]] [[lost]] [[todo]]\n",
    "circle-1.md": "---\nsuperseded_by: circle-2.md\n---\n# One\n\n[[todo]] [[payments]] [[billing]]\n",
    "circle-2.md": "---\nsuperseded_by: circle-1.md\nexpires: soon\n---\n# Two\n\n"
    "[[todo]] [[payments]] [[new]]\n",
    "lost.md": _LOST,
    "copy/lost.md": _LOST,
    "more.py": "# [[nowhere]]\n",
}
#: Kind, file and line of each fault, with a part of its message.
EXPECTED = [
    ("contradiction", "circle-1.md", 0, "-> w/circle-2.md -> w/circle-1.md"),
    ("unclear", "circle-2.md", 0, "expires: soon"),
    ("broken", "copy/lost.md", 0, "never-written.md"),
    ("orphan", "copy/lost.md", 0, "no other document"),
    ("twin", "copy/lost.md", 0, "has the text of w/lost.md"),
    ("broken", "billing.md", 8, "(missing.md) leads to no document"),
    ("broken", "index.md", 3, "[[nowhere]] leads to no document"),
    ("broken", "index.md", 3, "[[billing#Gone]] leads to no section of w/billing.md"),
    ("ambiguous", "index.md", 3, "[[plan]] may lead to w/a/plan.md, w/b/plan.md"),
    ("broken", "a/plan.md", 3, "(#nothing) leads to no section"),
    ("orphan", "lonely.md", 0, "no other document"),
    ("broken", "lost.md", 0, "never-written.md"),
    ("stale", "new.md", 0, "expired on 2020-01-01"),
    ("contradiction", "old.md", 0, "is replaced by w/new.md and w/rival.md"),
    ("contradiction", "old.md", 0, "says status: accepted, but superseded by w/new.md"),
    ("twin", "payments.md", 0, "of its words in common with w/billing.md"),
    ("stale", "rival.md", 0, "expired on 2026-01-01"),
    ("stale", "rival.md", 8, "-> w/old.md, superseded by w/new.md"),
    ("contradiction", "rival.md", 0, "is valid until 2026-01-01, but only from 2026-02-01 on"),
    ("stub", "todo.md", 0, "has only 1 word"),
]


def faults_of(index: qmd.Index, **options: Any) -> list[tuple[str, str, int]]:
    return [(fault.kind, fault.file, fault.line) for fault in index.lint(**options)]


def test_lint_reports_each_kind_of_fault(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(WIKI)), "w", pattern="**/*.{md,py}")
    found = index.lint()
    left = [f"{fault.kind} {fault.file}:{fault.line} {fault.message}" for fault in found]
    for kind, file, line, part in EXPECTED:
        said = [text for text in left if text.startswith(f"{kind} w/{file}:{line} ") and part in text]
        assert len(said) == 1, (kind, file, line, part, left)
        left.remove(said[0])
    assert not left
    assert all(fault.hint for fault in found)
    assert {fault.kind for fault in index.lint(only=["broken", "stub"])} == {"broken", "stub"}
    answer = operation(index, LintArguments(limit=3, only="broken"), lambda: False)
    assert isinstance(answer, Faults)
    assert (len(answer.faults), answer.left_out, answer.counts) == (3, 3, {"broken": 6})
    with pytest.raises(UsageError, match="no kind of faults 'spelling'"):
        index.lint(only=["spelling"])


def test_lint_keeps_to_the_collections_that_the_caller_may_see(index: qmd.Index, notes: Notes) -> None:
    page = f"# Page\n\n[[nowhere]] {_PROSE}\n"
    for name in ("open", "hidden", "apart"):
        index.add_collection(str(notes({"one.md": page}, folder=name)), name)
    index.include_collection("apart", False)
    assert {file for _, file, _ in faults_of(index)} == {"open/one.md", "hidden/one.md"}
    assert {file for _, file, _ in faults_of(index, collections=["apart"])} == {"apart/one.md"}
    limited = index.limited(["open"])
    assert {file for _, file, _ in faults_of(limited)} == {"open/one.md"}
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    index.add_collection(str(notes({"s.md": f"# S\n\n[[{secret}]]\n"}, folder="with-secret")), "s")
    assert secret in "".join(fault.message for fault in index.lint(["s"]))
    told = "".join(fault.message for fault in index.limited(agent=True).lint(["s"]))
    assert secret not in told


def test_links_to_headings_may_have_their_marks(index: qmd.Index, notes: Notes) -> None:
    links = ["[[#`move`|move]]", "[[#**Bold** head]]", "[[b#PIN of `z`]]", "![[b#`x` y]]", "[[b#B/`x` y]]"]
    page = f"# A\n\n## `move`\n\n## **Bold** head\n\n{' '.join(links)} {_PROSE}\n"
    other = f"# B\n\n## `x` y\n\n## PIN of `z`\n\n[[a]] [[a#`none`]] {_LONG}\n"
    index.add_collection(str(notes({"a.md": page, "b.md": other})), "w")
    assert [fault.message for fault in index.lint(only=["broken"])] == [
        "[[a#`none`]] leads to no section of w/a.md"
    ]
    assert index.get("a.md#`move`").first_line == index.get("a.md#move").first_line == 3


def test_lint_command_exits_with_1_if_anything_is_wrong(user: User, tmp_path: Path) -> None:
    folder = tmp_path / "wiki"
    folder.mkdir()
    (folder / "index.md").write_text(f"# Wiki\n\n[[page]] [[lost]] {_LONG}\n")
    (folder / "page.md").write_text(f"# Page\n\n{_PROSE}\n")
    user.ok("collection", "add", str(folder), "--name", "wiki")
    broken = user.call("lint", "--json")
    assert broken.returncode == 1
    (fault,) = json.loads(broken.stdout)
    assert (fault["kind"], fault["file"], fault["line"]) == ("broken", "wiki/index.md", 3)
    shown = user.call("lint", "-c", "wiki")
    assert user.call("lint", "wiki").stdout == shown.stdout
    assert user.call("lint", "wikki").returncode == 1
    assert shown.stdout.splitlines()[0] == "wiki/index.md"
    assert shown.stdout.splitlines()[-1] == "1 fault: 1 broken."
    (folder / "index.md").write_text(f"# Wiki\n\n[[page]] {_LONG}{' [[lost]]' * 5}\n")
    user.ok("update", "--no-embed")
    shown = user.call("lint")
    assert shown.stdout.count("[[lost]] leads to no document") == 4
    assert "     2 more  broken: [[lost]] leads to no document" in shown.stdout
    (folder / "lost.md").write_text(f"# Lost\n\n{_SHIPS}\n")
    user.ok("update", "--no-embed")
    assert user.ok("lint", "--json") == "[]\n"
    assert user.call("lint", "--only", "spelling").returncode == 2


def test_twins_share_most_of_their_words() -> None:
    chinese = "计费数据库的迁移从复制所有表开始,然后重放更改日志。" * 2
    texts = [
        _PROSE,
        _PROSE.replace("gateway", "proxy"),
        _LONG * 2,
        chinese,
        chinese.replace("日志", "记录"),
        "",
    ]
    hashes: dict[str, int] = {}
    samples = {at: sample(words(text), hashes) for at, text in enumerate(texts)}
    assert [(one, other) for one, other, _ in twins(samples)] == [(0, 1), (3, 4)]
    # Pages made from a form are no twins by the form alone.
    made = {
        at: sample(words(f"{_LONG} {_SHIPS} Number {at} is about {at * 7} birds of kind {at * 3}."), hashes)
        for at in range(30)
    }
    assert not [*twins(made)]


@pytest.mark.parametrize(
    ("heading", "link"),
    [
        ("2.0.5 以上的写法", "2 0 5 以上的写法"),
        (
            "What? Why: a/b & c (d)",
            "What Why a b c d",
        ),
        ("`move` [x](y.md): #1", "move x 1"),
        ('Über | alles, "so"', "Über alles so"),
        ("Part 1#2", "Part 1 2"),
    ],
)
def test_links_of_obsidian_to_headings_with_signs_lead_there(
    index: qmd.Index, notes: Notes, heading: str, link: str
) -> None:
    index.add_collection(
        str(
            notes(
                {
                    "a.md": f"# A\n\n## Other\n\n## {heading}\n\nturnip\n",
                    "b.md": f"[[a#{link}]]\n",
                    "y.md": "",
                }
            )
        )
    )
    assert "turnip" in index.get(f"a.md#{link}").text
    assert [fault for fault in index.lint(only=["broken"]) if fault.file == "notes/b.md"] == []


def test_heading_itself_comes_before_others_with_signs(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "# A\n\n## C++\n\ntemplates\n\n## C\n\npointers\n"})))
    assert "pointers" in index.get("a.md#C").text
    assert "templates" in index.get("a.md#C++").text


def test_tabs_and_calls_are_no_links(index: qmd.Index, notes: Notes) -> None:
    code = "#### [Windows](#tab/windows)\n\nIt has [[nodiscard]] and [[Call]] in it.\n\n[b](b.md)\n"
    index.add_collection(str(notes({"a.md": f"# A\n\n{code}", "b.md": "# B\n\nx [gone](gone.md)\n"})))
    assert [fault.message for fault in index.lint(only=["broken"])] == ["(gone.md) leads to no document"]
    assert [link.target for link in index.unresolved_links()] == ["gone.md"]


def test_numbered_series_is_linked_by_its_roles_and_numbers(index: qmd.Index, notes: Notes) -> None:
    pep = "PEP: {}\nTitle: {}\nStatus: Final\nContent-Type: text/x-rst\n{}\n{}\n\n" + _LONG + "\n"
    files = {
        "pep-0001.rst": pep.format(
            1, "Purpose", "", "See :pep:`8`, :pep:`the third <3#multi>` and :rfc:`822`."
        ),
        "pep-0008.rst": pep.format(8, "Style", "Superseded-By: 3, 0001\n", "See :doc:`python:library/re`."),
        "pep-0003.rst": pep.format(3, "Guide", "", ".. toctree::\n\n   self\n   genindex\n   pep-0001\n"),
    }
    index.add_collection(str(notes(files)), "p", formats=["rst"])
    faults = index.lint(only=["broken", "orphan"])
    assert [(each.kind, each.message) for each in faults] == []
    assert [link.to for link in index.links("p/pep-0001.rst")] == ["p/pep-0008.rst", "p/pep-0003.rst", None]
    assert [each.message for each in index.lint(only=["stale"])] == [
        "-> p/pep-0008.rst, superseded by p/pep-0003.rst"
    ]


def test_places_of_other_markups_are_found(index: qmd.Index, notes: Notes) -> None:
    files = {
        "index.adoc": f"= Index\n\nxref:b.adoc#years[Years] xref:b.adoc#gone[Gone]\n\n{_LONG}\n",
        "b.adoc": f"= B\n\n{_SHIPS}\n\n[[years]]\n\nIf the year is before 0000, other rules hold.\n",
        "c.org": f"* C\n:PROPERTIES:\n:ID: x1\n:END:\n{_LONG} [[id:x2][Spiking\nnetworks]]\n",
        "d.org": f"* D\n:PROPERTIES:\n:ID: x2\n:END:\n{_SHIPS} [[id:x1][C]]\n",
        "site-nav.adoc": "* xref:b.adoc[]\n",
    }
    index.add_collection(str(notes(files)), "p", formats=["asciidoc", "org"])
    faults = index.lint(only=["broken", "orphan"])
    assert [each.message for each in faults] == ["(b.adoc#gone) leads to no section of p/b.adoc"]


def test_navigation_of_antora_leads_to_the_pages_of_its_module(index: qmd.Index, notes: Notes) -> None:
    page = "= Page {0}\n\nOf module {0}.\n" + _LONG + "\n"
    files = {
        f"docs/modules/{module}/{name}": text
        for module in ("cli", "api")
        for name, text in {
            "nav-top.adoc": "* xref:options.adoc[Options]\n",
            "pages/options.adoc": page.format(module),
        }.items()
    }
    index.add_collection(str(notes(files)), "p", formats=["asciidoc"])
    assert index.lint(only=["broken", "ambiguous", "orphan"]) == []
    (link,) = index.links("p/docs/modules/api/nav-top.adoc")
    assert link.to == "p/docs/modules/api/pages/options.adoc"
