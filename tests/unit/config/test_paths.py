from __future__ import annotations

import os
from pathlib import Path

import pytest

from qmd.config.locations import Locations, locate
from qmd.config.paths import (
    cache_dir,
    config_dir,
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


def test_config_dir_and_cache_dir_default_to_the_home_folder() -> None:
    assert config_dir(HOME) == "/home/ada/.config/qmd"
    assert cache_dir(HOME) == "/home/ada/.cache/qmd"


def test_xdg_variables_move_config_dir_and_cache_dir() -> None:
    environ = HOME | {"XDG_CONFIG_HOME": "/etc/ada", "XDG_CACHE_HOME": "/var/ada"}
    assert (config_dir(environ), cache_dir(environ)) == ("/etc/ada/qmd", "/var/ada/qmd")


def test_qmd_config_dir_takes_precedence_over_xdg() -> None:
    environ = HOME | {"XDG_CONFIG_HOME": "/etc/ada", "QMD_CONFIG_DIR": "/srv/conf/"}
    assert config_dir(environ) == "/srv/conf"
    assert config_dir(HOME | {"QMD_CONFIG_DIR": "~/conf"}) == "/home/ada/conf"


@pytest.mark.parametrize("value", ["", "relative/path", "./x"])
def test_empty_or_relative_xdg_variables_are_ignored(value: str) -> None:
    assert cache_dir(HOME | {"XDG_CACHE_HOME": value}) == "/home/ada/.cache/qmd"
    assert config_dir(HOME | {"XDG_CONFIG_HOME": value}) == "/home/ada/.config/qmd"


def test_empty_qmd_variables_are_ignored() -> None:
    environ = HOME | {"QMD_CONFIG_DIR": "", "QMD_INDEX_PATH": "", "INDEX_PATH": ""}
    assert locate(None, environ, "/") == locate(None, HOME, "/")


def test_config_dir_without_home_asks_the_user_database() -> None:
    assert config_dir({}) == os.path.join(os.path.expanduser("~"), ".config", "qmd")


def test_locate_without_a_name_returns_the_default_index() -> None:
    assert locate(None, HOME, "/") == Locations(
        index="/home/ada/.cache/qmd/index.sqlite",
        config="/home/ada/.config/qmd/index.yml",
        is_default_index=True,
    )


def test_locate_with_a_name_returns_files_of_that_name() -> None:
    assert locate("work", HOME, "/") == Locations(
        index="/home/ada/.cache/qmd/work.sqlite",
        config="/home/ada/.config/qmd/work.yml",
        is_default_index=False,
    )


def test_locate_accepts_the_name_of_the_default_index() -> None:
    assert locate("index", HOME, "/") == locate(None, HOME, "/")


def test_locate_refuses_an_invalid_name() -> None:
    with pytest.raises(UsageError):
        locate("../../etc/passwd", HOME, "/")
    with pytest.raises(UsageError):
        locate("", HOME, "/")


@pytest.mark.parametrize("name", ["INDEX_PATH", "QMD_INDEX_PATH"])
def test_index_path_variable_keeps_the_configuration(name: str) -> None:
    found = locate("work", HOME | {name: "/data/my.sqlite"}, "/")
    assert found == Locations("/data/my.sqlite", "/home/ada/.config/qmd/work.yml", is_default_index=False)


def test_qmd_index_path_takes_precedence_over_index_path() -> None:
    assert locate(None, HOME | {"INDEX_PATH": "/a", "QMD_INDEX_PATH": "/b"}, "/").index == "/b"


def test_relative_index_path_starts_at_the_working_folder() -> None:
    assert locate(None, HOME | {"INDEX_PATH": "x/../i.sqlite"}, "/work").index == "/work/i.sqlite"
    assert locate(None, HOME | {"INDEX_PATH": "~/i.sqlite"}, "/work").index == "/home/ada/i.sqlite"


def test_locate_finds_a_project_from_its_folder_and_below(tmp_path: Path) -> None:
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


def test_project_folder_returns_the_nearest_project(tmp_path: Path) -> None:
    make_project(tmp_path)
    inner = make_project(tmp_path / "inner")
    assert project_folder(HOME, inner) == inner


def test_locate_prefers_index_yaml_in_a_project(tmp_path: Path) -> None:
    project = make_project(tmp_path, "index.yaml")
    assert locate(None, HOME, project).config == f"{project}/.qmd/index.yaml"
    make_project(tmp_path, "index.yml")
    assert locate(None, HOME, project) == Locations(
        index=f"{project}/.qmd/index.sqlite",
        config=f"{project}/.qmd/index.yaml",
        is_default_index=True,
        project=project,
    )


def test_trust_path_is_in_the_users_configuration() -> None:
    assert trust_path(HOME) == "/home/ada/.config/qmd/trusted.json"
    assert trust_path(HOME | {"QMD_CONFIG_DIR": "/srv/conf"}) == "/srv/conf/trusted.json"


def test_folder_without_index_yml_is_no_project(tmp_path: Path) -> None:
    (tmp_path / ".qmd").mkdir()
    assert project_folder(HOME, str(tmp_path)) is None


def test_locate_with_a_name_ignores_the_project(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    assert locate("work", HOME, project).project is None
    assert locate("index", HOME, project).config == "/home/ada/.config/qmd/index.yml"


def test_project_folder_stops_below_the_home_folder(tmp_path: Path) -> None:
    make_project(tmp_path)
    home = make_project(tmp_path / "home")
    below = tmp_path / "home" / "notes"
    below.mkdir()
    for folder in (home, str(below)):
        assert project_folder({"HOME": home}, folder) is None


def test_project_folder_stops_below_a_linked_home_folder(tmp_path: Path) -> None:
    make_project(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    below = tmp_path / "real" / "notes"
    below.mkdir()
    assert project_folder({"HOME": str(tmp_path / "link")}, str(below)) is None


def test_project_folder_finds_a_project_inside_the_home_folder(tmp_path: Path) -> None:
    project = make_project(tmp_path / "code" / "tool")
    assert project_folder({"HOME": str(tmp_path)}, project) == project


def test_index_path_variable_keeps_the_project_configuration(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    found = locate(None, HOME | {"INDEX_PATH": "/data/i.sqlite"}, project)
    assert found == Locations("/data/i.sqlite", f"{project}/.qmd/index.yml", False, project)


def test_resolve_folder_starts_at_the_folder_of_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert resolve_folder("docs", "/conf/index.yml") == "/conf/docs"
    assert resolve_folder("docs", "/project/.qmd/index.yml") == "/project/docs"
    assert resolve_folder("~/docs", "/conf/index.yml") == "/home/ada/docs"
    assert resolve_folder("/docs/", "/conf/index.yml") == "/docs"
