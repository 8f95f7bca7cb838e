"""Guessed commands, words and options lead to the right ones, by what they mean."""

from __future__ import annotations

import re
import shlex

import pytest

from qmd.cli.app import app
from qmd.cli.command import Group
from qmd.cli.console import Console, use
from qmd.cli.guesses import _COMMANDS, _OPTIONS, _WORDS
from qmd.cli.running import understood
from qmd.cli.session import Session
from qmd.cli.usage import Exit, MisuseError
from tests.users import User

#: What the user typed after a guessed command.
ENDS = ("", "notes", "'x y' z", "x --limit 3 --json", "-k 3 x", "-rn x .", "--help", "-c notes -- -x")
GUESSES = {
    f"{group} {name}".strip()
    for group, table in _COMMANDS.items()
    for guessed, line in table.items()
    for name in guessed.split()
    if name != "*" and not line.startswith("=")
}
MEANT = {
    "models pull": "qmd pull",
    "models pull embed": "qmd pull embed",
    "find 'x y'": "qmd search 'x y', or qmd query 'x y'",
    "find x --top 3": "qmd search x, or qmd query x",
    "chat how do I": "qmd query how do I, or qmd pack how do I",
    "how do I deploy": "qmd query how do I deploy",
    "数据库": "qmd query '数据库'",
    "list": "qmd ls",
    "list notes": "qmd ls notes",
    "show a.md": "qmd get a.md",
    "cat a.md -n 5": "qmd get a.md",
    "read": "qmd get DOC",
    "rm notes": "qmd collection remove notes",
    "rename notes": "qmd collection rename notes NEW",
    "tag work": "qmd tags, or qmd search tag:work",
    "collections": "qmd collection list",
    "collection ls": "qmd collection list",
    "collection notes": "qmd collection show notes",
    "sync": "qmd update, or qmd watch",
    "stats --bogus": "qmd status",
    "config": "qmd status, or qmd doctor",
    "export notes.qmd": "qmd store backup --portable notes.qmd",
    "version": "qmd --version",
    "man search": "qmd help search",
    "help find": "qmd search QUERY, or qmd query QUERY",
    "cite draft.md": "qmd cite check draft.md",
    "mcp codex": "qmd mcp install --client codex",
    "--index work find x": "qmd --index work search x, or qmd --index work query x",
    "status notes": "qmd collection show notes",
    "completions zsh": "qmd completion zsh",
    "edit a.md": "qmd open a.md, or qmd collection set a.md",
    "uninstall": "qmd agent uninstall claude, or qmd watch --uninstall",
    "logs": "qmd server status, or qmd server --log-queries",
    "tables": "qmd fields",
    "service": "qmd watch --install, or qmd watch",
    "reset": "qmd update, or qmd embed --force",
    "'restore backup'": "qmd query 'restore backup'",
    "'update the index of my notes'": "qmd query 'update the index of my notes'",
    "related a.md": "qmd similar a.md",
    "orphans": "qmd links --orphans",
    "unresolved": "qmd links --unresolved",
    "frontmatter": "qmd fields",
    "properties tag": "qmd fields tag",
    "log a.md": "qmd history a.md",
    "blame a.md": "qmd history a.md",
    "repair": "qmd doctor",
    "outdated": "qmd doctor --stale",
    "rg x": "qmd grep x",
    "clone notes": "qmd add notes",
    "vaults": "qmd collection list",
    "fzf x": "qmd pick x",
    "tags notes": "qmd tags -c notes",
}


def suggested(user: User, line: str) -> list[str]:
    """Return the commands in the hint of a usage error."""
    result = user.invoke(*shlex.split(line))
    assert result.exit_code == 2, line
    error, hint = result.stderr.splitlines()
    assert error.startswith("Error: ")
    commands = re.fullmatch(r"Hint: use (.+); see 'qmd.* --help'", hint)
    assert commands, hint
    return commands[1].split(", or ")


def parse(line: str) -> None:
    """Read a command line, as if it were run. The test fails if a word is wrong.

    A word of the user may be none of the few that an argument takes, which the next error lists.
    """
    use(Console())
    try:
        understood(shlex.split(line)[1:], Session())
    except Exit as done:  # of --version
        assert done.exit_code == 0
    except MisuseError as error:
        assert error.cause == "value" and " must be one of " in str(error)


@pytest.mark.parametrize("guess", sorted(GUESSES))
def test_guessed_command_leads_to_commands_that_parse(user: User, guess: str) -> None:
    for end in ENDS:
        for line in suggested(user, f"{guess} {end}"):
            parse(line)


@pytest.mark.parametrize("command", sorted(_WORDS))
def test_word_too_many_leads_to_a_command_that_parses(user: User, command: str) -> None:
    for line in suggested(user, f"{command} notes"):
        parse(line)


@pytest.mark.parametrize("line", MEANT)
def test_guess_leads_to_the_right_command_with_the_words_of_the_user(user: User, line: str) -> None:
    assert ", or ".join(suggested(user, line)) == MEANT[line]


def test_no_command_is_in_the_table_of_guesses() -> None:
    for group, table in _COMMANDS.items():
        found = app.find(group) if group else app
        assert isinstance(found, Group)
        taken = {*found.names(), *found.aliases} - {"*"}
        assert not taken & {name for guessed in table for name in guessed.split()}


def test_table_of_guesses_names_no_word_twice() -> None:
    for table in _COMMANDS.values():
        names = [name for guessed in table for name in guessed.split()]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("line", "right"),
    [
        ("search x --top 3", "--limit"),
        ("search x -k 3", "--limit"),
        ("query x --max-results 3", "--limit"),
        ("search x --output json", "--format"),
        ("search x -o json", "--format"),
        ("search x --in notes", "--collection"),
        ("query x --threshold 0.5", "--min-score"),
        ("pack x --max-tokens 100", "--tokens"),
        ("get x --lines 3", "--max-lines"),
        ("search x --since 2026", "--after"),
        ("search x --verbose", "--debug"),
        ("-V", "--version"),
        ("collection add . --exclude x", "--ignore"),
        ("mcp install --target claude", "--client"),
    ],
)
def test_guessed_option_leads_to_the_right_one(user: User, line: str, right: str) -> None:
    result = user.invoke(*line.split())
    assert result.exit_code == 2
    error, hint = result.stderr.splitlines()
    assert error.endswith(f". Did you mean '{right}'?")
    assert re.fullmatch(r"Hint: see 'qmd.* --help'", hint)


@pytest.mark.parametrize("command", ["search", "vsearch", "query"])
@pytest.mark.parametrize(
    "option",
    [
        *(
            "--regex",
            "--skip",
            "--locale",
            "--type",
            "--glob",
            "--fuzzy",
            "--page",
            "--ignore-case",
            "--color",
            "--no-color",
            "--count",
            "--open",
            "--web",
            "--model",
        ),
        *("-i", "-A", "-l", "-t", "-w", "-v", "-r", "-m", "-E", "-e"),
    ],
)
def test_option_of_other_programs_leads_to_what_does_it_here(user: User, command: str, option: str) -> None:
    result = user.invoke(command, "x", option)
    assert result.exit_code == 2
    error, hint = result.stderr.splitlines()
    # What is near by its letters is not near by its meaning.
    assert error == f"Error: no such option '{option}'"
    assert re.fullmatch(rf"Hint: .+; see 'qmd {command} --help'", hint)


def test_options_that_are_named_instead_exist() -> None:
    for commands, table in _OPTIONS.items():
        for command in commands.replace("*", "").split():
            found = app.find(command)
            real = {name for each in found.parameters for name in (*each.names, *each.off)}
            for names, text in table.items():
                assert set(names.split()) - real, (command, names)
                told = re.sub(r"'qmd [^']*'", "", text)
                assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", told)) <= real, (command, text)


def test_text_that_looks_like_an_option_of_other_programs_stays_text(user: User) -> None:
    for word in ("-testing", "-ignored", "-list"):
        assert f"qmd search x -- {word}" in user.invoke("search", "x", word).stderr


def test_collection_is_named_by_a_word_or_its_folder(reader: User) -> None:
    for command in (["update", "--no-embed"], ["index"]):
        for words in (["notes"], ["-c", "notes"], [str(reader.notes)]):
            assert reader.ok(*command, *words).startswith("notes: "), words


def test_folder_that_is_no_collection_leads_to_add(reader: User) -> None:
    for command in ("update", "index", "embed"):
        result = reader.invoke(command, str(reader.home))
        assert result.exit_code == 1
        assert f"Hint: to index this folder: qmd add {reader.home}" in result.stderr


def test_field_that_is_a_collection_leads_to_the_fields_of_it(reader: User) -> None:
    assert reader.invoke("fields", "notes").stderr.endswith("Hint: it is a collection: qmd fields -c notes\n")


def test_limit_has_a_long_name(reader: User) -> None:
    paths = [reader.ok("search", "performance", option, "2", "--files") for option in ("-n", "--limit")]
    assert paths[0] == paths[1]
    assert len(paths[0].splitlines()) == 2
