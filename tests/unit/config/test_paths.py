from __future__ import annotations

import os
from pathlib import Path

import pytest

from qmd.config.paths import (
    Locations,
    cache_dir,
    config_dir,
    locate,
    project_folder,
    resolve_folder,
    trust_path,
)
from qmd.errors import UsageError

HOME = {"HOME": "/home/ada"}


def make_project(folder: Path, name: str = "index.yml") -> str:
    (folder / ".qmd").mkdir(parents=True, exist_ok=True)
    (folder / ".qmd" / name).write_text("collections:\n", encoding="utf-8")
    return str(folder)


def test_without_variables_the_home_folder_is_used() -> None:
    assert config_dir(HOME) == "/home/ada/.config/qmd"
    assert cache_dir(HOME) == "/home/ada/.cache/qmd"


def test_the_xdg_variables_move_both_folders() -> None:
    environ = HOME | {"XDG_CONFIG_HOME": "/etc/ada", "XDG_CACHE_HOME": "/var/ada"}
    assert (config_dir(environ), cache_dir(environ)) == ("/etc/ada/qmd", "/var/ada/qmd")


def test_the_own_variable_wins_over_xdg_and_is_the_folder_itself() -> None:
    environ = HOME | {"XDG_CONFIG_HOME": "/etc/ada", "QMD_CONFIG_DIR": "/srv/conf/"}
    assert config_dir(environ) == "/srv/conf"
    assert config_dir(HOME | {"QMD_CONFIG_DIR": "~/conf"}) == "/home/ada/conf"


@pytest.mark.parametrize("value", ["", "relative/path", "./x"])
def test_an_empty_or_relative_xdg_variable_counts_as_not_set(value: str) -> None:
    assert cache_dir(HOME | {"XDG_CACHE_HOME": value}) == "/home/ada/.cache/qmd"
    assert config_dir(HOME | {"XDG_CONFIG_HOME": value}) == "/home/ada/.config/qmd"


def test_an_empty_own_variable_counts_as_not_set() -> None:
    environ = HOME | {"QMD_CONFIG_DIR": "", "QMD_INDEX_PATH": "", "INDEX_PATH": ""}
    assert locate(None, environ, "/") == locate(None, HOME, "/")


def test_without_a_home_variable_the_user_database_is_asked() -> None:
    assert config_dir({}) == os.path.join(os.path.expanduser("~"), ".config", "qmd")


def test_the_index_without_a_name_is_the_default_one() -> None:
    assert locate(None, HOME, "/") == Locations(
        index="/home/ada/.cache/qmd/index.sqlite",
        config="/home/ada/.config/qmd/index.yml",
        is_default_index=True,
    )


def test_a_name_gives_the_index_files_of_its_own() -> None:
    assert locate("work", HOME, "/") == Locations(
        index="/home/ada/.cache/qmd/work.sqlite",
        config="/home/ada/.config/qmd/work.yml",
        is_default_index=False,
    )


def test_the_default_can_be_asked_for_by_its_name() -> None:
    assert locate("index", HOME, "/") == locate(None, HOME, "/")


def test_a_bad_name_is_refused_before_any_path_is_made_of_it() -> None:
    with pytest.raises(UsageError):
        locate("../../etc/passwd", HOME, "/")
    with pytest.raises(UsageError):
        locate("", HOME, "/")


@pytest.mark.parametrize("name", ["INDEX_PATH", "QMD_INDEX_PATH"])
def test_a_variable_names_the_index_file_and_leaves_the_configuration(name: str) -> None:
    found = locate("work", HOME | {name: "/data/my.sqlite"}, "/")
    assert found == Locations("/data/my.sqlite", "/home/ada/.config/qmd/work.yml", is_default_index=False)


def test_the_own_index_variable_wins_over_the_older_one() -> None:
    assert locate(None, HOME | {"INDEX_PATH": "/a", "QMD_INDEX_PATH": "/b"}, "/").index == "/b"


def test_a_relative_index_variable_begins_at_the_working_folder() -> None:
    assert locate(None, HOME | {"INDEX_PATH": "x/../i.sqlite"}, "/work").index == "/work/i.sqlite"
    assert locate(None, HOME | {"INDEX_PATH": "~/i.sqlite"}, "/work").index == "/home/ada/i.sqlite"


def test_a_project_is_found_from_its_own_folder_and_from_below(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    deep = tmp_path / "project" / "a" / "b"
    deep.mkdir(parents=True)
    expected = Locations(
        index=f"{project}/.qmd/index.sqlite",
        config=f"{project}/.qmd/index.yml",
        is_default_index=True,
        project=project,
    )
    assert locate(None, HOME, project) == expected
    assert locate(None, HOME, str(deep)) == expected


def test_the_nearest_project_wins(tmp_path: Path) -> None:
    make_project(tmp_path)
    inner = make_project(tmp_path / "inner")
    assert project_folder(HOME, inner) == inner


def test_the_longer_ending_makes_a_project_too_and_is_preferred(tmp_path: Path) -> None:
    project = make_project(tmp_path, "index.yaml")
    assert locate(None, HOME, project).config == f"{project}/.qmd/index.yaml"
    make_project(tmp_path, "index.yml")
    assert locate(None, HOME, project) == Locations(
        index=f"{project}/.qmd/index.sqlite",
        config=f"{project}/.qmd/index.yaml",
        is_default_index=True,
        project=project,
    )


def test_approvals_lie_in_the_users_configuration_and_not_in_the_project() -> None:
    assert trust_path(HOME) == "/home/ada/.config/qmd/trusted.json"
    assert trust_path(HOME | {"QMD_CONFIG_DIR": "/srv/conf"}) == "/srv/conf/trusted.json"


def test_a_folder_without_the_file_is_no_project(tmp_path: Path) -> None:
    (tmp_path / ".qmd").mkdir()
    assert project_folder(HOME, str(tmp_path)) is None


def test_a_given_name_leaves_the_project_aside(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    assert locate("work", HOME, project).project is None
    assert locate("index", HOME, project).config == "/home/ada/.config/qmd/index.yml"


def test_the_search_ends_below_the_home_folder(tmp_path: Path) -> None:
    make_project(tmp_path)
    home = make_project(tmp_path / "home")
    below = tmp_path / "home" / "notes"
    below.mkdir()
    for folder in (home, str(below)):
        assert project_folder({"HOME": home}, folder) is None


def test_a_home_folder_reached_by_a_link_ends_the_search_too(tmp_path: Path) -> None:
    make_project(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    below = tmp_path / "real" / "notes"
    below.mkdir()
    assert project_folder({"HOME": str(tmp_path / "link")}, str(below)) is None


def test_a_project_inside_the_home_folder_is_found(tmp_path: Path) -> None:
    project = make_project(tmp_path / "code" / "tool")
    assert project_folder({"HOME": str(tmp_path)}, project) == project


def test_an_index_variable_keeps_the_projects_configuration(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    found = locate(None, HOME | {"INDEX_PATH": "/data/i.sqlite"}, project)
    assert found == Locations("/data/i.sqlite", f"{project}/.qmd/index.yml", False, project)


def test_a_folder_of_the_configuration_is_resolved_from_where_the_file_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert resolve_folder("docs", "/conf/index.yml") == "/conf/docs"
    assert resolve_folder("docs", "/project/.qmd/index.yml") == "/project/docs"
    assert resolve_folder("~/docs", "/conf/index.yml") == "/home/ada/docs"
    assert resolve_folder("/docs/", "/conf/index.yml") == "/docs"
