"""`qmd archive`: the answers of the tools in a shell, and as JSON."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path

import pytest

import qmd
from tests.agents import Agent
from tests.edge.cli.schemas import faults, schema
from tests.edge.cli.test_read_only import run_without_privilege
from tests.features.archive.posts import CAFE, FILES, GROWTH, PLAN, TEA, Reader
from tests.users import MakeUser


@pytest.mark.parametrize(
    ("command", "tool", "arguments"),
    [
        (["authors"], "list_authors", {}),
        (["posts", "q9adg"], "list_posts", {"author": "q9adg"}),
        (["read", TEA], "read_post", {"path": TEA}),
        (["read", "--author", "q9adg", "--title", "打算"], "read_post", {"author": "q9adg", "title": "打算"}),
        (["search", "PYTHON"], "search", {"query": "PYTHON"}),
        (["search", "雨声", "--author", "林中"], "search", {"query": "雨声", "author": "林中"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_archive_command_prints_the_answer_of_its_tool(
    archivist: Reader, agent: Agent, command: list[str], tool: str, arguments: dict[str, str]
) -> None:
    assert archivist.ok(*command).rstrip("\n") == agent.text(tool, **arguments).rstrip("\n")


def test_archive_authors_prints_names_as_json(archivist: Reader) -> None:
    names = [each["author"] for each in json.loads(archivist.ok("authors", "--json"))]
    assert names == ["q9adg", "林中", "没有文章的人"]


def test_archive_posts_prints_all_fields_as_json(archivist: Reader) -> None:
    posts = json.loads(archivist.ok("posts", "q9adg", "--json"))
    assert len(posts) == 8
    assert posts[0] == {
        "path": PLAN,
        "author": "q9adg",
        "album": None,
        "title": "一个小打算",
        "published": "2020-12-15T20:10:39",
    }
    assert {post["title"]: post["published"] for post in posts}["前言"] is None


def test_archive_read_prints_a_post_as_json(archivist: Reader) -> None:
    assert json.loads(archivist.ok("read", TEA, "--json")) == {"path": TEA, "text": FILES[TEA]}


def test_archive_read_lists_posts_that_share_a_title_as_json(archivist: Reader) -> None:
    found = json.loads(archivist.ok("read", "--author", "q9adg", "--title", "打算", "--json"))
    assert [each["title"] for each in found] == ["一个小打算", "打算落空以后"]


def test_archive_search_prints_positions_of_matches_as_json(archivist: Reader) -> None:
    found = json.loads(archivist.ok("search", "python", "--json"))
    assert (found["query"], found["total"]) == ("python", 2)
    assert found["matches"][1] == {
        "path": GROWTH,
        "line": 2,
        "first_line": 1,
        "lines": ["慢慢来，比较快。", "PYTHON 也是这样学会的。"],
    }


@pytest.mark.parametrize(
    ("heading", "args"),
    [
        ("archive authors", ["authors"]),
        ("archive posts", ["posts", "q9adg"]),
        ("archive posts", ["read", "--author", "q9adg", "--title", "打算"]),
        ("archive read", ["read", TEA]),
        ("archive search", ["search", "打算"]),
    ],
)
def test_archive_json_matches_the_documented_schema(archivist: Reader, heading: str, args: list[str]) -> None:
    assert not faults(json.loads(archivist.ok(*args, "--json")), schema(heading))


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        (["posts", "谁"], 1, "作者不存在：谁"),
        (["read", "../outside/外面.md"], 1, "文件不存在：../outside/外面.md"),
        (["read", "--author", "q9adg", "--title", "没有"], 1, "未找到标题包含 '没有' 的文章"),
        (["read"], 2, "请提供 path 或 author+title 参数"),
        (["search", ""], 2, "请提供搜索关键词"),
    ],
    ids=str,
)
def test_archive_error_is_one_line_with_its_exit_code(
    archivist: Reader, command: list[str], code: int, message: str
) -> None:
    found = archivist.user.call("archive", *command, "--data", str(archivist.data))
    assert (found.returncode, found.stdout, found.stderr) == (code, "", f"Error: {message}\n")


def test_archive_command_without_results_succeeds(archivist: Reader) -> None:
    assert archivist.ok("search", "没有这样的话") == "未找到包含 '没有这样的话' 的内容。\n"
    assert archivist.ok("posts", "没有文章的人") == "作者 没有文章的人 下没有任何文章。\n"


def test_archive_folder_comes_from_option_variable_or_file(make_user: MakeUser, tmp_path: Path) -> None:
    user = make_user("chooser")
    for name in ("option", "variable", "file"):
        (tmp_path / name / name).mkdir(parents=True)
    nothing = user.call("archive", "authors")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "--data DIR" in nothing.stderr
    config = user.home / "config" / "qmd" / "index.yml"
    config.parent.mkdir(parents=True)
    config.write_text(f"archive: {tmp_path}/file\n", encoding="utf-8")
    assert user.call("archive", "authors").stdout.endswith("- file\n")
    variable = {"QMD_ARCHIVE_DIR": str(tmp_path / "variable")}
    assert user.call("archive", "authors", **variable).stdout.endswith("- variable\n")
    told = user.call("archive", "authors", "--data", str(tmp_path / "option"), **variable).stdout
    assert told.endswith("- option\n")


def test_project_config_may_name_only_an_archive_inside_the_project(make_user: MakeUser) -> None:
    user = make_user("careful")
    project = user.home / "project"
    (project / ".qmd").mkdir(parents=True)
    (project / "data" / "作者").mkdir(parents=True)
    file = project / ".qmd" / "index.yml"
    file.write_text("archive: data\n", encoding="utf-8")
    assert user.call("archive", "authors", cwd=project).stdout.endswith("- 作者\n")
    file.write_text(f"archive: {user.notes}\n", encoding="utf-8")
    refused = user.call("archive", "authors", cwd=project)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "outside its project" in refused.stderr


def test_archive_mcp_refuses_port_without_http(archivist: Reader) -> None:
    found = archivist.user.call("archive", "mcp", "--port", "9000", "--data", str(archivist.data))
    assert found.returncode == 2
    assert "--port needs --http" in found.stderr


def test_open_archive_returns_values(archivist: Reader) -> None:
    archive = qmd.open_archive(archivist.data)
    assert archive.authors() == ["q9adg", "林中", "没有文章的人"]
    assert [section.album for section in archive.posts("q9adg").sections] == [
        None,
        "shop/读书笔记",
        "个人成长",
        "亲密关系",
    ]
    assert archive.read(unicodedata.normalize("NFD", CAFE)).text == FILES[CAFE]
    with pytest.raises(qmd.NotFoundError):
        archive.read("../outside/外面.md")


def test_archive_search_survives_invalid_bytes_and_very_long_lines(tmp_path: Path) -> None:
    motions = tmp_path / "a" / "motions"
    motions.mkdir(parents=True)
    (motions / "1.md").write_bytes(b"\xff\xfe\x80 needle\n" + b"x" * 2_000_000 + b" needle\nlater needle\n")
    (motions / "2.md").write_bytes(b"\xef\xbb\xbfneedle first\r\nsecond\rthird needle")
    found = qmd.open_archive(tmp_path).search("Needle")
    assert [(match.path, match.window.line) for match in found.shown] == [
        ("a/motions/1.md", 1),
        ("a/motions/1.md", 2),
        ("a/motions/1.md", 3),
        ("a/motions/2.md", 1),
        ("a/motions/2.md", 3),
    ]
    long = found.shown[1].window
    ((start, end),) = long.spans
    assert long.lines[1][start:end] == "needle"
    assert len(long.lines[1]) < 11_000


def test_archive_search_rereads_only_changed_files(tmp_path: Path) -> None:
    motions = tmp_path / "a" / "motions"
    motions.mkdir(parents=True)
    files = [motions / "1.md", motions / "2.md"]
    for file in files:
        file.write_text("old", encoding="utf-8")
    archive = qmd.open_archive(tmp_path)
    assert archive.search("old").total == 2
    for file in files:
        before = file.stat()
        file.write_text("new", encoding="utf-8")
        # The old time of the file hides the change. If the search finds it, the file was read again.
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert archive.search("old").total == 2
    os.utime(files[1], ns=(0, 0))
    found = archive.search("new")
    assert [match.path for match in found.shown] == ["a/motions/2.md"]


def test_archive_search_reports_unprintable_names_and_finds_other_posts(tmp_path: Path) -> None:
    motions = tmp_path / "a" / "motions"
    motions.mkdir(parents=True)
    (motions / "good.md").write_text("needle", encoding="utf-8")
    try:
        (Path(os.fsdecode(os.fsencode(motions) + b"/b\xff.md"))).write_text("needle", encoding="utf-8")
    except OSError:
        pytest.skip("this disk takes names in UTF-8 only")
    problems: list[tuple[str, str]] = []
    archive = qmd.open_archive(tmp_path, on_problem=lambda path, reason: problems.append((path, reason)))
    assert archive.search("needle").total == 1
    assert problems == [("a/motions/b\\xff.md", "its name is not valid UTF-8")]


def test_archive_search_reports_unreadable_posts_and_finds_others(make_user: MakeUser) -> None:
    user = make_user("unprivileged")
    data = user.home / "data"
    for name in ("closed", "open"):
        (data / "a" / name).mkdir(parents=True)
        (data / "a" / name / "1.md").write_text("needle", encoding="utf-8")
    (data / "a" / "open" / "2.md").write_text("needle", encoding="utf-8")
    (data / "a" / "open" / "2.md").chmod(0)
    (data / "a" / "closed").chmod(0)
    found = run_without_privilege(user, "archive", "search", "needle", "--data", str(data))
    assert (found.returncode, "（显示 1/1 条）" in found.stdout) == (0, True)
    assert found.stderr.splitlines() == [
        "note: left out: a/closed/: permission denied",
        "note: left out: a/open/2.md: permission denied",
    ]
    data.chmod(0)
    found = run_without_privilege(user, "archive", "authors", "--data", str(data))
    assert found.returncode == 1
    assert found.stderr == "Error: the archive's folder cannot be listed: permission denied\n"


def test_archive_search_marks_a_letter_that_folds_to_two_once(tmp_path: Path) -> None:
    (tmp_path / "a" / "motions").mkdir(parents=True)
    (tmp_path / "a" / "motions" / "1.md").write_text("İ Straße\n", encoding="utf-8")
    for query, marked in (("STRASSE", ["Straße"]), ("s", ["S", "ß"])):
        window = qmd.open_archive(tmp_path).search(query).shown[0].window
        assert [window.lines[0][start:end] for start, end in window.spans] == marked
