"""`qmd grep`: lines of all formats that match a pattern, in time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

import qmd
from qmd.features.grep.matching import lines
from tests.clients import server_of
from tests.files import pdf
from tests.users import MakeUser, User

HOSTILE = "(a+)+$"


@pytest.fixture(scope="module")
def owner(make_user: MakeUser) -> User:
    user = make_user("grep")
    (user.notes / "log.md").write_text(
        "---\ntags: [work]\n---\n# Log\n\nTODO: write it\n\nnot todo\n\nTODO twice TODO\n", encoding="utf-8"
    )
    (user.notes / "slow.md").write_text("a" * 5_000 + "b\n", encoding="utf-8")
    (user.notes / "secret.md").write_text("token: ghp_" + "a1B2" * 9 + "\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    return user


def test_grep_prints_each_line_once_in_the_order_of_paths(owner: User) -> None:
    assert owner.ok("grep", "TODO") == "notes/log.md:6: TODO: write it\nnotes/log.md:10: TODO twice TODO\n"
    assert owner.ok("grep", "-i", "^not TODO$") == "notes/log.md:8: not todo\n"
    assert owner.ok("grep", "make [a-z]+`", "--names") == "qmd://notes/deploy.md\n"
    files = [line.partition(":")[0] for line in owner.ok("grep", "[Pp]erformance").splitlines()]
    assert files == sorted(files)
    assert len(files) == 9


def test_grep_takes_special_characters_as_text(owner: User) -> None:
    assert owner.ok("grep", "-F", '" & <b>') == 'notes/say "quoted" & <tagged>.md:1: # Quoted "title" & <b>\n'
    assert owner.ok("grep", "-F", "迁移工具", "--json", "-n", "1").count('"line": 3') == 1
    refused = owner.call("grep", "(")
    assert refused.returncode == 2
    assert "wrong pattern '('" in refused.stderr


def test_grep_has_the_filters_and_formats_of_searches(owner: User) -> None:
    assert owner.ok("grep", "e", "--tag", "work", "--names") == "qmd://notes/log.md\n"
    assert owner.ok("grep", "TODO", "--vimgrep", "-n", "1") == f"{owner.notes}/log.md:6:1:TODO: write it\n"
    (found,) = json.loads(owner.ok("grep", "^not", "--json"))
    assert (found["file"], found["line"], found["snippet"]) == ("qmd://notes/log.md", 8, "not todo")
    nothing = owner.call("grep", "nowhere at all")
    assert (nothing.returncode, nothing.stdout) == (0, "No lines match.\n")
    assert "Collection not found: nowhere" in owner.call("grep", "x", "-c", "nowhere").stderr


def test_grep_says_that_there_are_more_lines(owner: User) -> None:
    found = owner.call("grep", "TODO", "-n", "1")
    assert found.stdout == "notes/log.md:6: TODO: write it\n"
    assert "more lines match: -n N prints N" in found.stderr
    assert owner.call("grep", "TODO", "-n", "2").stderr == ""


def test_pattern_that_takes_too_long_is_stopped(owner: User) -> None:
    assert re.compile(HOSTILE)
    stopped = owner.call("grep", HOSTILE, "--timeout", "0.5")
    assert stopped.returncode == 1
    assert f"the pattern '{HOSTILE}' takes too long" in stopped.stderr


def test_grep_shows_the_part_of_a_long_line_that_matches(owner: User) -> None:
    (line,) = owner.ok("grep", "ab$").splitlines()
    assert line.startswith("notes/slow.md:1: …aaa")
    assert line.endswith("aaab")
    assert len(line) < 500


def test_grep_masks_secrets_for_agents(owner: User) -> None:
    assert "ghp_" in owner.ok("grep", "token")
    assert "ghp_" not in owner.ok("--agent", "grep", "token")
    assert owner.ok("--agent", "grep", "ghp_[a-z0-9A-Z]") == "No lines match.\n"


def test_grep_finds_the_page_of_a_pdf(user: User) -> None:
    pytest.importorskip("pypdfium2")
    (user.notes / "report.pdf").write_bytes(pdf("The heron waits."))
    user.ok("collection", "add", str(user.notes), "--name", "notes", "--formats", "all")
    assert user.ok("grep", "heron w.its") == "notes/report.pdf:p1: The heron waits.\n"


def test_grep_reads_an_index_file(owner: User, tmp_path: Path) -> None:
    file = str(tmp_path / "notes.qmd")
    owner.ok("backup", "--portable", file)
    assert owner.ok("--index-file", file, "grep", "^not") == "notes/log.md:8: not todo\n"


@pytest.mark.slow
def test_key_of_some_collections_greps_these_alone(make_user: MakeUser) -> None:
    user = make_user("grep-keys")
    for name in ("open", "closed"):
        (user.home / name).mkdir()
        (user.home / name / "a.md").write_text("A heron.\n", encoding="utf-8")
        user.ok("collection", "add", str(user.home / name), "--name", name)
    key = user.ok("keys", "add", "ann", "-c", "open").strip()
    with server_of(user, "--transport", "http") as server:
        found = server.ask("POST", "/grep", {"query": "h.ron"}, key=key).json
        assert [each["file"] for each in found["results"]] == ["open/a.md"]
        assert server.ask("POST", "/grep", {"query": "x", "collection": "closed"}, key=key).status == 404


def test_grep_in_python(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in owner.environ.items():
        monkeypatch.setenv(name, value)
    with qmd.open_index() as index:
        found = index.grep("todo", fixed=True, ignore_case=True, limit=2)
        assert [(hit.file, hit.line) for hit in found.hits] == [("notes/log.md", 6), ("notes/log.md", 8)]
        assert found.more
        with pytest.raises(qmd.UsageError):
            index.grep("")


@pytest.mark.slow
def test_grep_over_http(owner: User) -> None:
    with server_of(owner, "--transport", "http") as server:
        found = server.ok("POST", "/grep", {"query": "^todo", "ignore_case": True, "tag": ["work"]})
        assert [each["line"] for each in found["results"]] == [6, 10]
        late = server.ask("POST", "/grep", {"query": HOSTILE, "timeout": 0.5})
        assert "takes too long" in late.detail(503)
        assert "wrong pattern" in server.ask("POST", "/grep", {"query": "("}).detail(400)


_TEXTS = st.text(st.sampled_from("ab\n \r"), max_size=30)


_PATTERNS = (
    r"a", r"^a", r"b$", r"a*", r"a\s*b", r"^$", r"\s", r"(a|b)+$", r"\Aa|b", r"a\Z", r"(?<!\n)a", r"b(?!\s)",
    r"(?<=\n)a", r"a(?>\s*)$", r"a\s*+$", r"(?P<x>a)\b",
)  # fmt: skip


@given(_TEXTS, st.sampled_from(_PATTERNS))
@example("\na", r"\Aa|b")
@example("a\n\nb", r"a\s*+$")
def test_lines_are_those_in_which_the_pattern_matches(text: str, pattern: str) -> None:
    compiled = re.compile(pattern, re.MULTILINE)
    found = [(line.number, line.text) for line in lines(compiled, text, 1_000)]
    numbered = enumerate(text.split("\n"), 1)
    assert found == [(number, line) for number, line in numbered if compiled.search(line)]
