"""The documentation agrees with the program."""

from __future__ import annotations

import re
import runpy
import shlex
import tomllib
from pathlib import Path

import pytest

from qmd.cli.console import Console, use
from qmd.cli.running import understood
from qmd.cli.session import Session
from qmd.cli.usage import MisuseError
from tests.edge.cli.schemas import PAGE, SCHEMAS
from tests.edge.cli.test_help import ALL

ROOT = Path(__file__).parents[3]
MAKER = ROOT / "tools" / "make_cli_docs.py"
PAGES = sorted((ROOT / "docs").glob("*.md"))
#: The commands in the examples of the help, without the remarks after two spaces.
EXAMPLES = sorted(
    {
        re.split(r" {2,}| > ", line.strip())[0]
        for _, command in ALL
        for line in command.help.split("\n")
        if line.strip().startswith("qmd ")
    }
)

#: Commands of the packages that pages show how to make.
ELSEWHERE = ("qmd greet", "qmd reading-time")
#: The commands that pages name in their text: `qmd get FILE`. Patterns of commands
#: (`|`, `...`, `[OPTIONS]`) are left out.
NAMED = sorted(
    {
        command
        for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES)
        for text in [re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)]
        for command in (" ".join(each.split()) for each in re.findall(r"`(qmd [^`]+)`", text))
        if not re.search(r"\||\.\.\.|…|OPTIONS|--help|--version| (N|DATE)$", command)
        and not command.startswith(ELSEWHERE)
    }
)


@pytest.mark.skipif(not MAKER.exists(), reason="tools/ is not here")
def test_cli_reference_matches_the_help() -> None:
    made = runpy.run_path(str(MAKER))["page"]()
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == made, "run tools/make_cli_docs.py"


@pytest.mark.slow
@pytest.mark.skipif(not MAKER.exists(), reason="tools/ is not here")
def test_python_reference_matches_the_docstrings() -> None:
    made = runpy.run_path(str(MAKER.with_name("make_python_docs.py")))["page"]()
    assert (ROOT / "docs" / "python.md").read_text(encoding="utf-8") == made, "run tools/make_python_docs.py"


@pytest.mark.parametrize("line", EXAMPLES)
def test_examples_of_the_help_can_be_parsed(line: str) -> None:
    use(Console())
    understood(shlex.split(line)[1:], Session())


@pytest.mark.parametrize("line", NAMED)
def test_commands_named_in_the_text_of_pages_can_be_parsed(line: str) -> None:
    use(Console())
    try:
        understood(shlex.split(line)[1:], Session())
    except MisuseError as error:
        # The text may name a command without its arguments.
        assert error.cause == "missing", error


def test_package_and_readme_name_the_system_on_which_it_was_run() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    systems = {each for each in project["classifiers"] if each.startswith("Operating System ::")}
    assert systems == {"Operating System :: POSIX :: Linux"}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "nobody has run it there yet" in readme
    assert "WSL" in readme


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.name))
def test_links_between_docs_pages_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "path",
    [path for path, command in ALL if any(each.to == "as_json" for each in command.parameters)],
    ids=" ".join,
)
def test_json_output_of_every_command_is_documented(path: tuple[str, ...]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"`{' '.join(path)}`" in text


def test_the_page_of_formats_names_every_schema() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in SCHEMAS if f"`{name}`" not in text] == []
