from __future__ import annotations

from collections.abc import Callable
from difflib import ndiff
from pathlib import Path

import pytest

from qmd.config import editing
from qmd.config.index_yml import digest, load
from qmd.errors import (
    CollectionNotFoundError,
    ConfigError,
    ConflictError,
    NotFoundError,
    QmdError,
    UsageError,
)
from qmd.types import Collection, Config

EXAMPLE = Path(__file__).with_name("example-index.yml").read_text(encoding="utf-8")


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "index.yml"
    file.write_text(EXAMPLE, encoding="utf-8")
    return str(file)


def text_of(path: str) -> str:
    return Path(path).read_bytes().decode()


def changes(path: str) -> list[str]:
    """Return the lines that differ from the example."""
    lines = ndiff(EXAMPLE.splitlines(), text_of(path).splitlines())
    return [line for line in lines if line.startswith(("+ ", "- "))]


def test_add_collection_creates_folder_and_file(tmp_path: Path) -> None:
    file = tmp_path / "conf" / "qmd" / "index.yml"
    config = editing.add_collection(str(file), Collection("notes", "/data/notes"))
    assert text_of(str(file)) == 'collections:\n  notes:\n    path: /data/notes\n    pattern: "**/*.md"\n'
    assert config == load(str(file))
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_add_collection_appends_and_changes_nothing_else(path: str) -> None:
    added = Collection(
        "笔记",
        "/data/笔记",
        pattern="**/*.txt",
        ignore=("drafts/**", "a: b"),
        context={"/": 'All "notes"\nand more', "work/": "Work # not a comment"},
        update="git pull",
        include_by_default=False,
        encoding="gb18030",
    )
    config = editing.add_collection(path, added)
    assert list(config.collections)[-1] == "笔记"
    assert config.collections["笔记"] == Collection(
        "笔记",
        "/data/笔记",
        "**/*.txt",
        ("drafts/**", "a: b"),
        {"": 'All "notes"\nand more', "work": "Work # not a comment"},
        "git pull",
        False,
        "gb18030",
    )
    assert changes(path) == [
        "+ ",
        "+   笔记:",
        '+     path: "/data/笔记"',
        '+     pattern: "**/*.txt"',
        "+     ignore:",
        '+       - "drafts/**"',
        '+       - "a: b"',
        "+     context:",
        '+       "/": "All \\"notes\\"\\nand more"',
        '+       "/work": "Work # not a comment"',
        '+     update: "git pull"',
        "+     includeByDefault: false",
        '+     encoding: "gb18030"',
    ]


def test_add_collection_refuses_a_taken_name(path: str) -> None:
    with pytest.raises(ConflictError, match="'diary' already exists"):
        editing.add_collection(path, Collection("diary", "/elsewhere"))
    assert text_of(path) == EXAMPLE


def test_add_collection_refuses_the_same_folder_and_pattern(path: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    editing.add_collection(path, Collection("first", str(tmp_path / "real")))
    for same in ("real", "real/", "link", "x/../real"):
        with pytest.raises(ConflictError, match="'first'"):
            editing.add_collection(path, Collection("second", f"{tmp_path}/{same}"))
    editing.add_collection(path, Collection("second", str(tmp_path / "real"), pattern="**/*.txt"))


@pytest.mark.parametrize(
    "collection",
    [
        Collection("a/b", "/x"),
        Collection("a", ""),
        Collection("a", "/x\0"),
        Collection("a", "/x\udcff"),
        Collection("a", "/x", pattern=" "),
        Collection("a", "/x", encoding="klingon"),
        Collection("a", "/x", context={"": "\udcff"}),
    ],
)
def test_add_collection_refuses_values_that_cannot_be_read_back(path: str, collection: Collection) -> None:
    with pytest.raises(UsageError):
        editing.add_collection(path, collection)
    assert text_of(path) == EXAMPLE


def test_add_collection_writes_folders_absolute_or_as_given(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    folder = Path(path).parent
    monkeypatch.chdir(folder)
    editing.add_collection(path, Collection("a", "/home/ada/a"))
    editing.add_collection(path, Collection("b", "~/b"))
    config = editing.add_collection(path, Collection("c", "c"))
    written = [line.split(": ")[1] for line in changes(path) if "path:" in line]
    assert written == ["/home/ada/a", "~/b", f"{folder}/c"]
    assert config.collections["b"].path == "/home/ada/b"


def test_add_collection_writes_project_folders_as_relative_paths(tmp_path: Path) -> None:
    file = str(tmp_path / "project" / ".qmd" / "index.yml")
    editing.add_collection(file, Collection("all", f"{tmp_path}/project"))
    editing.add_collection(file, Collection("docs", f"{tmp_path}/project/docs"))
    config = editing.add_collection(file, Collection("beside", f"{tmp_path}/project-2"))
    assert [line.split()[1] for line in text_of(file).splitlines() if "path:" in line] == [
        '"."',
        '"docs"',
        f"{tmp_path}/project-2",
    ]
    assert config.collections["docs"].path == f"{tmp_path}/project/docs"


def test_create_project_writes_a_collection_and_lasting_comments(tmp_path: Path) -> None:
    file = str(tmp_path / "project" / ".qmd" / "index.yml")
    config = editing.create_project(file, Collection("网站: on", f"{tmp_path}/project"))
    assert list(config.collections.values()) == [Collection("网站: on", f"{tmp_path}/project")]
    before = text_of(file)
    assert before.startswith("# What qmd indexes")
    editing.add_collection(file, Collection("docs", f"{tmp_path}/project/docs"))
    editing.remove_collection(file, "docs")
    assert text_of(file) == before


def test_create_project_refuses_an_existing_file(tmp_path: Path) -> None:
    file = tmp_path / ".qmd" / "index.yml"
    file.parent.mkdir()
    file.write_text("# nothing yet\n", encoding="utf-8")
    with pytest.raises(ConflictError):
        editing.create_project(str(file), Collection("project", str(tmp_path)))
    assert file.read_text(encoding="utf-8") == "# nothing yet\n"


def test_remove_collection_removes_its_lines_and_keeps_comments(path: str) -> None:
    config = editing.remove_collection(path, "handbook")
    assert "handbook" not in config.collections
    assert changes(path) == [
        "-   handbook:",
        "-     path: ~/reference/handbook",
        '-     pattern: "**/*.md"',
        '-     update: "git pull --ff-only"',
        "-     context:",
        '-       "/": "The handbook — pulled on every update"',
    ]


def test_last_collection_can_be_removed_and_one_added_again(path: str) -> None:
    for name in load(path).collections:
        editing.remove_collection(path, name)
    assert load(path).collections == {}
    config = editing.add_collection(path, Collection("notes", "/data/notes"))
    assert list(config.collections) == ["notes"]
    assert [line for line in changes(path) if line.startswith(("+ #", "- #"))] == []


def test_rename_collection_keeps_place_and_comments(path: str) -> None:
    before = load(path)
    config = editing.rename_collection(path, "engine-docs", "机器")
    assert list(config.collections) == [
        "机器" if name == "engine-docs" else name for name in before.collections
    ]
    assert config.collections["机器"].ignore == before.collections["engine-docs"].ignore
    assert changes(path) == ["-   engine-docs:", "+   机器:"]


def test_rename_collection_refuses_taken_and_invalid_names(path: str) -> None:
    for taken in ("diary", "minutes"):
        with pytest.raises(ConflictError):
            editing.rename_collection(path, "minutes", taken)
    with pytest.raises(UsageError):
        editing.rename_collection(path, "minutes", "a/b")
    assert text_of(path) == EXAMPLE


def test_collection_name_is_found_in_either_unicode_form(tmp_path: Path) -> None:
    file = str(tmp_path / "index.yml")
    Path(file).write_text("collections:\n  e\u0301te\u0301: {path: /x}\n", encoding="utf-8")
    config = editing.configure(file, "été", include_by_default=False)
    assert config.collections["été"].include_by_default is False
    assert editing.rename_collection(file, "e\u0301te\u0301", "hiver").collections.keys() == {"hiver"}


def test_global_context_is_set_and_removed(path: str) -> None:
    assert editing.set_context(path, None, "", "New.").global_context == "New."
    assert [line for line in changes(path) if line.startswith("+ ")] == ['+ global_context: "New."']
    assert editing.remove_context(path, None, "").global_context is None
    assert "global_context" not in text_of(path)
    assert editing.set_context(path, None, "", "Again.").global_context == "Again."


def test_set_context_replaces_the_text_under_the_existing_key(path: str) -> None:
    for prefix in ("days/2024", "/days/2024/"):
        config = editing.set_context(path, "diary", prefix, f"New {prefix}")
        assert config.collections["diary"].context["days/2024"] == f"New {prefix}"
    assert changes(path) == [
        '-       "/days/2024": "Days of 2024"',
        '+       "/days/2024": "New /days/2024/"',
    ]


def test_set_context_adds_to_existing_contexts(path: str) -> None:
    editing.set_context(path, "diary", "garden", "Plants")
    assert changes(path) == ['+       "/garden": "Plants"']


def test_set_context_turns_a_single_context_into_a_mapping(tmp_path: Path) -> None:
    file = str(tmp_path / "index.yml")
    Path(file).write_text("collections:\n  a:\n    path: /a\n    context: All  # why\n", encoding="utf-8")
    config = editing.set_context(file, "a", "work", "Work")
    assert config.collections["a"].context == {"": "All", "work": "Work"}
    assert text_of(file).endswith('    context:  # why\n      "/": "All"\n      "/work": "Work"\n')


def test_remove_context_removes_the_key_with_the_last_context(path: str) -> None:
    editing.remove_context(path, "minutes", "/")
    assert changes(path) == ["-     context:", '-       "/": "Minutes of the board"']
    editing.remove_context(path, "diary", "days/2024")
    assert load(path).collections["diary"].context.keys() == {"", "days/2025", "kitchen"}


def test_remove_context_of_a_missing_context_is_an_error(path: str) -> None:
    with pytest.raises(NotFoundError, match="qmd://diary/nowhere"):
        editing.remove_context(path, "diary", "nowhere")
    editing.remove_context(path, None, "")
    with pytest.raises(NotFoundError, match="qmd://"):
        editing.remove_context(path, None, "")


def test_set_context_refuses_a_blank_text(path: str) -> None:
    with pytest.raises(UsageError):
        editing.set_context(path, "diary", "", " \n")


def test_set_include_excludes_and_includes_a_collection(path: str) -> None:
    assert (
        editing.configure(path, "library", include_by_default=False).collections["library"].include_by_default
        is False
    )
    comment = "    # true is the default; shown for clarity"
    assert changes(path) == [
        f"-     includeByDefault: true{comment}",
        f"+     includeByDefault: false{comment}",
    ]
    editing.configure(path, "library", include_by_default=True)
    assert text_of(path) == EXAMPLE
    editing.configure(path, "diary", include_by_default=False)
    assert changes(path) == ["+     includeByDefault: false"]


@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_set_update_command_sets_and_removes_the_command(path: str, nothing: str | None) -> None:
    command = "git pull && echo 'done: #1'"
    assert editing.configure(path, "diary", update=command).collections["diary"].update == command
    assert editing.configure(path, "diary", update=nothing).collections["diary"].update is None
    assert text_of(path) == EXAMPLE


CHANGES: list[Callable[[str, str], Config]] = [
    lambda path, name: editing.remove_collection(path, name),
    lambda path, name: editing.rename_collection(path, name, "new"),
    lambda path, name: editing.set_context(path, name, "", "text"),
    lambda path, name: editing.remove_context(path, name, ""),
    lambda path, name: editing.configure(path, name, include_by_default=True),
    lambda path, name: editing.configure(path, name, update=None),
]


@pytest.mark.parametrize("change", CHANGES)
def test_edit_of_an_unknown_collection_names_the_known_ones(
    path: str, change: Callable[[str, str], Config]
) -> None:
    with pytest.raises(CollectionNotFoundError, match="nowhere") as caught:
        change(path, "nowhere")
    assert caught.value.hint == (
        "known collections: minutes, diary, handbook, engine-docs, suppliers, library"
    )
    assert text_of(path) == EXAMPLE


@pytest.mark.parametrize("change", CHANGES)
def test_edit_of_a_broken_file_is_an_error_and_writes_nothing(
    path: str, change: Callable[[str, str], Config]
) -> None:
    Path(path).write_bytes(b"collections:\n  a: [\n")
    with pytest.raises(ConfigError, match=r"index\.yml:\d+: "):
        change(path, "a")
    assert text_of(path) == "collections:\n  a: [\n"


def test_edit_without_an_effect_does_not_touch_the_file(path: str) -> None:
    before = Path(path).stat()
    editing.configure(path, "library", include_by_default=True)
    editing.configure(path, "diary", update=None)
    assert Path(path).stat() == before


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (
            "collections:\n  a: &a {path: /a, ignore: &i [x]}\n  b: {path: /b, ignore: *i}\n",
            lambda path: editing.remove_collection(path, "a"),
        ),
        (
            "shared: &s {/: all}\ncollections:\n  a:\n    path: /a\n    context: *s\n",
            lambda path: editing.set_context(path, "a", "", "mine"),
        ),
        (
            "shared: &s mine\ncollections:\n  ? a\n  : path: /a\n    context: *s\n",
            lambda path: editing.remove_collection(path, "a"),
        ),
    ],
)
def test_edit_of_an_unusual_layout_is_an_error_and_keeps_the_file(
    path: str, text: str, change: Callable[[str], Config]
) -> None:
    Path(path).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        change(path)
    assert caught.value.hint is not None
    assert "by hand" in caught.value.hint
    assert text_of(path) == text


def test_edit_refuses_to_change_another_collection_by_an_anchor(path: str) -> None:
    text = "collections:\n  a: {path: /a, context: &c {/: x}}\n  b: {path: /b, context: *c}\n"
    Path(path).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="because of the layout"):
        editing.set_context(path, "a", "", "y")
    assert text_of(path) == text


def test_edit_keeps_a_configuration_that_is_a_link(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "qmd.yml"
    real.parent.mkdir()
    real.write_text("collections:\n", encoding="utf-8")
    real.chmod(0o640)
    link = tmp_path / "conf" / "index.yml"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/qmd.yml")
    editing.add_collection(str(link), Collection("a", "/a"))
    assert link.is_symlink()
    assert list(load(str(real)).collections) == ["a"]
    assert real.stat().st_mode & 0o777 == 0o640


def test_edit_returns_the_configuration_of_the_file(path: str) -> None:
    config = editing.set_context(path, "diary", "", "New")
    assert config == load(path)
    assert config.digest == digest(Path(path).read_bytes())


def test_edit_errors_are_one_line_with_a_hint(path: str) -> None:
    for change in CHANGES:
        with pytest.raises(QmdError) as caught:
            change(path, "nowhere")
        assert "\n" not in caught.value.message
        assert caught.value.hint
