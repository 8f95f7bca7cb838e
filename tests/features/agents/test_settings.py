"""`qmd skill`, `qmd mcp install` and the files for agents."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from qmd.agents import having
from qmd.cli.console import Console, use
from qmd.cli.running import understood
from qmd.cli.session import Session
from qmd.features.agents import skill
from qmd.features.agents.agents import AGENTS
from qmd.features.agents.commands import CLIENTS, SKILLED
from tests.users import MakeUser, User

ROOT = Path(__file__).parents[3]
SKILL = skill.text()
COMMANDS = re.findall(r"^qmd .*", "\n".join(re.findall(r"```sh\n(.*?)```", SKILL, re.DOTALL)), re.MULTILINE)
#: Commands inside sentences and the table, such as `qmd search --json -- backup -mailing`.
INLINE = re.findall(r"`(qmd [^`]+)`", SKILL)


def words(line: str) -> list[str]:
    """Return the arguments of a command as bash splits them. Of its quotes, shlex lacks only $'...'."""
    plain = re.sub(r"\$'([^']*)'", lambda match: shlex.quote(match[1].replace("\\n", "\n")), line)
    return shlex.split(plain)[1:]


def parse(line: str) -> None:
    """Parse a command with the real parser, without running it."""
    read = words(line)
    assert read[0] == "--agent"
    use(Console())
    understood(read, Session())


@pytest.fixture
def user(user: User) -> User:
    """A user whose agents keep their settings in the usual places."""
    user.environ |= {"CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
    return user


@pytest.fixture(scope="module")
def operator(make_user: MakeUser) -> User:
    """A user who has indexed the example notes, which the commands of the skill search."""
    user = make_user("operator")
    shutil.copytree(ROOT / "examples" / "notes", user.home / "examples")
    user.ok("collection", "add", str(user.home / "examples"), "--name", "notes")
    return user


@pytest.mark.parametrize("line", [*COMMANDS, *INLINE])
def test_commands_in_the_skill_can_be_parsed(line: str) -> None:
    parse(line)


@pytest.mark.parametrize("line", [line for line in COMMANDS if "vsearch" not in line and "query" not in line])
def test_commands_of_the_skill_work_on_the_example_notes(operator: User, line: str) -> None:
    result = operator.invoke(*words(line))
    assert result.exit_code == 0, result.output
    assert result.stdout.strip()


def test_skill_names_every_command_of_searching_and_reading() -> None:
    assert len(COMMANDS) >= 15
    assert {line.split()[1] for line in [*COMMANDS, *INLINE]} == {"--agent"}
    assert {line.split()[2] for line in COMMANDS} >= {
        "search",
        "vsearch",
        "query",
        "get",
        "multi-get",
        "outline",
    }
    assert not {line.split()[2] for line in COMMANDS} & {
        "update",
        "embed",
        "add",
        "cleanup",
        "restore",
        "pull",
    }


def test_skill_front_matter_follows_the_standard() -> None:
    front = yaml.safe_load(SKILL.split("---\n")[1])
    assert set(front) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert front["name"] == skill.NAME == "qmd"
    assert len(front["description"]) <= 1024
    assert len(front["compatibility"]) <= 500


def test_skill_is_short() -> None:
    # tests/judges counts the tokens; this limit can be checked without other programs.
    assert len(SKILL.encode()) < 1_500 * 3


def test_install_options_offer_all_agents_of_the_table() -> None:
    assert set(SKILLED) == {name for name, agent in AGENTS.items() if agent.skills}
    assert set(CLIENTS) == {name for name, agent in AGENTS.items() if agent.settings}
    assert set(having("hooks")) == {name for name, agent in AGENTS.items() if agent.hooks}
    assert set(having("sessions")) == {name for name, agent in AGENTS.items() if agent.sessions}


PLACES = {
    "claude": ".claude/skills",
    "codex": ".agents/skills",
    "cursor": ".cursor/skills",
    "opencode": "config/opencode/skills",
    "gemini": ".gemini/skills",
    "vscode": ".copilot/skills",
    "windsurf": ".codeium/windsurf/skills",
    "zed": ".agents/skills",
}


@pytest.mark.parametrize("target", SKILLED)
def test_skill_install_is_idempotent_and_uninstall_removes_it(user: User, target: str) -> None:
    file = user.home / PLACES[target] / "qmd" / "SKILL.md"
    assert user.ok("skill", "install", "--target", target, "--dry-run") == f"Would install {file}\n"
    assert not file.exists()
    assert user.ok("skill", "install", "--target", target) == f"Installed {file}\n"
    assert file.read_text(encoding="utf-8").startswith(SKILL)
    before = file.stat()
    assert user.ok("skill", "install", "--target", target) == f"Up to date: {file}\n"
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert user.ok("skill", "uninstall", "--target", target, "--dry-run") == f"Would remove {file}\n"
    assert file.exists()
    assert user.ok("skill", "uninstall", "--target", target) == f"Removed {file}\n"
    assert not file.parent.exists()
    assert user.ok("skill", "uninstall", "--target", target) == f"Not installed: {file}\n"


def test_skill_install_replaces_an_older_version(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    file = user.home / PLACES["claude"] / "qmd" / "SKILL.md"
    with monkeypatch.context() as older:
        older.setattr(skill, "text", lambda: "---\nname: qmd\n---\nOlder.\n")
        user.ok("skill", "install", "--target", "claude")
    assert "Older." in file.read_text(encoding="utf-8")
    assert user.ok("skill", "install", "--target", "claude") == f"Updated {file}\n"
    assert file.read_text(encoding="utf-8").startswith(SKILL)


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize("kind", ["written", "edited", "folder", "link"])
def test_skill_install_keeps_a_skill_that_qmd_did_not_write(user: User, command: str, kind: str) -> None:
    file = user.home / PLACES["claude"] / "qmd" / "SKILL.md"
    file.parent.mkdir(parents=True)
    if kind == "written":
        file.write_text("mine\n", encoding="utf-8")
    elif kind == "edited":
        user.ok("skill", "install", "--target", "claude")
        file.write_text(file.read_text(encoding="utf-8").replace("data", "DATA"), encoding="utf-8")
    elif kind == "folder":
        file.mkdir()
    else:
        (user.home / "elsewhere.md").write_text("mine\n", encoding="utf-8")
        file.symlink_to(user.home / "elsewhere.md")
    before = None if kind == "folder" else file.read_bytes()
    result = user.invoke("skill", command, "--target", "claude")
    assert result.exit_code == 1
    assert "was not written by qmd" in result.stderr
    assert "Hint: move it away" in result.stderr
    assert before == (None if kind == "folder" else file.read_bytes())
    assert file.is_symlink() == (kind == "link")


def test_skill_uninstall_keeps_other_files_of_the_folder(user: User) -> None:
    user.ok("skill", "install", "--target", "claude")
    other = user.home / PLACES["claude"] / "qmd" / "notes.md"
    other.write_text("mine\n", encoding="utf-8")
    user.ok("skill", "uninstall", "--target", "claude")
    assert [path.name for path in other.parent.iterdir()] == ["notes.md"]


def test_project_install_refuses_links_that_leave_the_project(user: User) -> None:
    project = user.home / "project"
    project.mkdir()
    done = user.call("skill", "install", "--target", "opencode", "--project", cwd=project)
    assert done.returncode == 0, done.stderr
    assert (project / ".opencode" / "skills" / "qmd" / "SKILL.md").exists()
    done = user.call("mcp", "install", "--client", "claude", "--project", cwd=project)
    assert done.returncode == 0, done.stderr
    servers = json.loads((project / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]
    assert servers == {"qmd": {"type": "stdio", "command": "qmd", "args": ["mcp"]}}
    (project / ".cursor").symlink_to(user.home)
    for command in (["skill", "install", "--target"], ["mcp", "install", "--client"]):
        done = user.call(*command, "cursor", "--project", cwd=project)
        assert done.returncode == 1
        assert "leads out of the project" in done.stderr
    assert not (user.home / "mcp.json").exists()


def settings(user: User, client: str) -> Path:
    """Return the settings file that `qmd mcp install` would change."""
    first = user.ok("mcp", "install", "--client", client, "--dry-run").splitlines()[0]
    return Path(first.removeprefix("Would install the server 'qmd' in "))


def read(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    return found


#: Settings of a client that must not change.
OTHERS = {
    ".json": '{\n\t"theme": "dark", "big": 12345678901234567890, "half": "\\ud83d", "名": [1.5, null]\n}\n',
    ".toml": '# mine\nmodel = "x"  # this one\n\n[mcp_servers.other]\ncommand = "o"\n\n'
    "# about history\n[history]\nn = 1\n",
}


@pytest.mark.parametrize("client", CLIENTS)
def test_mcp_install_adds_one_server_and_uninstall_removes_it(user: User, client: str) -> None:
    path = settings(user, client)
    assert path.is_relative_to(user.home)
    assert not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OTHERS[path.suffix], encoding="utf-8")
    path.chmod(0o600)
    before = read(path)
    user.ok("mcp", "install", "--client", client)
    backup = path.with_name(f"{path.name}.bak")
    assert backup.read_text(encoding="utf-8") == OTHERS[path.suffix]
    assert stat.S_IMODE(backup.stat().st_mode) == stat.S_IMODE(path.stat().st_mode) == 0o600
    section = AGENTS[client].section
    after = read(path)
    entry = after[section]["qmd"]
    command = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
    assert command[-1] == "mcp"
    assert Path(command[0]).is_absolute()
    # Programs that are not started in a terminal have none of its variables.
    given = entry.get("env", dict.fromkeys(entry.get("env_vars", [])))
    assert ("XDG_CONFIG_HOME" in given) == (client not in ("claude", "gemini", "opencode"))
    assert after == before | {section: before.get(section, {}) | {"qmd": entry}}
    text = path.read_bytes()
    assert "already" in user.ok("mcp", "install", "--client", client)
    assert path.read_bytes() == text
    user.ok("mcp", "uninstall", "--client", client)
    assert path.read_text(encoding="utf-8") == OTHERS[path.suffix]
    assert [each.name for each in path.parent.glob("*.bak*")] == []
    assert "Not installed: the server 'qmd' in" in user.ok("mcp", "uninstall", "--client", client)


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode"])
def test_agent_uninstall_leaves_no_file_that_install_has_made(user: User, agent: str) -> None:
    before = {path for path in user.home.rglob("*") if path.is_file()}
    user.ok("agent", "install", agent, "--yes")
    assert {path for path in user.home.rglob("*") if path.is_file()} > before
    user.ok("agent", "uninstall", agent, "--yes")
    assert {path for path in user.home.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_mcp_install_names_the_index_and_keeps_other_servers(user: User, client: str) -> None:
    path = settings(user, client)
    user.ok("mcp", "install", "--client", client)
    user.ok("mcp", "install", "--client", client, "--index", "work")
    servers = read(path)[AGENTS[client].section]
    assert set(servers) == {"qmd", "qmd-work"}
    assert servers["qmd-work"]["args"][-3:] == ["mcp", "--index", "work"]
    user.ok("mcp", "uninstall", "--client", client)
    assert set(read(path)[AGENTS[client].section]) == {"qmd-work"}


@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_mcp_install_replaces_a_foreign_server_only_with_force(user: User, client: str) -> None:
    path, section = settings(user, client), AGENTS[client].section
    path.parent.mkdir(parents=True, exist_ok=True)
    toml = f'[{section}.qmd]\ncommand = "other"\n[{section}.qmd.env]\nA = "b"\n'
    path.write_text(toml if client == "codex" else json.dumps({section: {"qmd": {"command": "other"}}}))
    before = path.read_bytes()
    for command in ("install", "uninstall"):
        result = user.invoke("mcp", command, "--client", client)
        assert result.exit_code == 1
        assert "'qmd'" in result.stderr
        assert path.read_bytes() == before
    user.ok("mcp", "install", "--client", client, "--replace")
    assert read(path)[section]["qmd"]["args"][-1] == "mcp"
    assert path.with_name(f"{path.name}.bak").read_bytes() == before


@pytest.mark.parametrize(
    ("client", "text", "said"),
    [
        ("cursor", '{\n  // mine\n  "mcpServers": {}\n}', "comments"),
        ("cursor", "{", "cannot be read"),
        ("cursor", "[]", "does not hold a table"),
        ("cursor", '{"mcpServers": []}', "is not a table"),
        ("codex", "a = ", "cannot be read"),
        ("codex", 'mcp_servers = { other = { command = "o" } }', "in a way that qmd cannot change"),
    ],
)
def test_mcp_install_keeps_settings_that_it_cannot_change_safely(
    user: User, client: str, text: str, said: str
) -> None:
    path = settings(user, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    result = user.invoke("mcp", "install", "--client", client)
    assert result.exit_code == 1
    assert said in result.stderr
    assert "Hint:" in result.stderr
    assert [each.name for each in path.parent.iterdir() if each.is_file()] == [path.name]
    assert path.read_text(encoding="utf-8") == text


def test_mcp_install_keeps_a_settings_file_that_is_a_link(user: User) -> None:
    path, real = settings(user, "cursor"), user.home / "dotfiles.json"
    real.write_text("{}", encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(real)
    user.ok("mcp", "install", "--client", "cursor")
    assert path.is_symlink()
    assert "qmd" in read(real)["mcpServers"]


@pytest.mark.parametrize("client", CLIENTS)
def test_doctor_checks_the_program_that_a_server_runs(user: User, client: str, tmp_path: Path) -> None:
    path, old = settings(user, client), tmp_path / "old" / "qmd"
    user.ok("mcp", "install", "--client", client, "--index", "work")
    checked = json.loads(user.invoke("doctor", "--json").stdout)
    (found,) = (each for each in checked if each["check"] == "mcp")
    assert found["level"] == "ok"
    assert str(path) in found["message"]
    text = path.read_text(encoding="utf-8")
    program = next(word for word in re.findall(r'"([^"]+)"', text) if word.startswith("/"))
    old.parent.mkdir()
    old.write_text(f"#!{tmp_path}/gone/bin/python\n", encoding="utf-8")
    old.chmod(0o755)
    for moved, gone in ((str(tmp_path / "gone" / "qmd"), "gone/qmd"), (str(old), "gone/bin/python")):
        path.write_text(text.replace(program, moved), encoding="utf-8")
        if "-m" in text:  # a Python that runs the module
            path.write_text(path.read_text(encoding="utf-8").replace('"-m", "qmd", ', ""), encoding="utf-8")
        checked = json.loads(user.invoke("doctor", "--json").stdout)
        (found,) = (each for each in checked if each["check"] == "mcp")
        assert found["level"] == "problem"
        assert f"{gone} is not there any more" in found["message"]
        command = re.fullmatch(r'run "(.+)"', found["hint"])
        assert command
        assert user.invoke(*shlex.split(command[1])[1:]).exit_code == 0
        assert path.read_text(encoding="utf-8") == text


def test_doctor_leaves_settings_alone_that_are_not_of_qmd(user: User) -> None:
    path = settings(user, "vscode")
    path.parent.mkdir(parents=True)
    path.write_text(
        '// mine\n{"servers": {"other": {"command": "/gone/other", "args": ["mcp"]}}}', encoding="utf-8"
    )
    result = user.invoke("doctor", "--json")
    assert result.exit_code == 0
    (found,) = (each for each in json.loads(result.stdout) if each["check"] == "mcp")
    assert found["level"] == "ok"


def test_agent_install_asks_for_each_part_and_uninstall_removes_them(user: User) -> None:
    refused = user.invoke("agent", "install", "claude")
    assert (refused.exit_code, "add --yes" in refused.stderr) == (2, True)
    planned = user.ok("agent", "install", "claude", "--dry-run")
    asked = user.on_terminal("y\nn\nn\n", "agent", "install", "claude")
    questions = re.findall(r"Write the (\w+) to (\S+)\?", asked)
    assert [part for part, _ in questions] == ["skill", "tools", "hooks"]
    assert all(path in planned for _, path in questions)
    assert [Path(path).exists() for _, path in questions] == [True, False, False]
    user.ok("agent", "install", "claude", "--yes")
    assert all(Path(path).exists() for _, path in questions)
    removing = user.on_terminal("n\nn\nn\n", "agent", "uninstall", "claude")
    assert re.findall(r"Remove the (\w+) from (\S+)\?", removing) == questions
    assert all(Path(path).exists() for _, path in questions)
    user.ok("agent", "uninstall", "claude", "--yes")
    assert not Path(questions[0][1]).exists()
    assert not any(Path(path).exists() for _, path in questions[1:])


def test_agent_uninstall_asks_only_for_installed_parts(user: User) -> None:
    user.ok("skill", "install", "--target", "claude")
    removing = user.on_terminal("y\n", "agent", "uninstall", "claude")
    assert re.findall(r"Remove the (\w+) from", removing) == ["skill"]


def test_agent_uninstall_dry_run_says_for_each_part_that_nothing_was_done(user: User) -> None:
    for state, word in (("absent", "Not installed: "), ("present", "Would remove ")):
        if state == "present":
            user.ok("agent", "install", "claude", "--yes")
        said = user.ok("agent", "uninstall", "claude", "--dry-run").splitlines()
        assert [line.startswith(word) for line in said] == [True] * 3, said
    assert all(row["state"] == "current" for row in _parts(user, "claude").values())


def _parts(user: User, agent: str) -> dict[tuple[str, str], dict[str, str]]:
    rows = json.loads(user.ok("agent", "status", "--json"))
    return {(row["place"], row["part"]): row for row in rows if row["agent"] == agent}


def test_agent_status_shows_all_parts_of_each_agent(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(user.notes)  # a project, apart from the user's own folders
    rows = json.loads(user.ok("agent", "status", "--json"))
    assert {row["agent"] for row in rows} == set(AGENTS)
    assert {row["part"] for row in rows if row["agent"] == "codex"} == {"skill", "tools", "hooks"}
    assert {row["state"] for row in rows} == {"not installed"}
    assert "qmd agent install claude" in user.ok("agent", "status")
    user.ok("agent", "install", "claude", "--yes")
    user.ok("skill", "install", "--target", "codex", "--project")
    assert {part: row["state"] for part, row in _parts(user, "claude").items()} == {
        ("user", "skill"): "current",
        ("user", "tools"): "current",
        ("user", "hooks"): "current",
    }
    assert _parts(user, "codex")["project", "skill"]["state"] == "current"
    assert ("project", "hooks") not in _parts(user, "codex")


def test_agent_status_tells_outdated_broken_and_changed_parts(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = user.home / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    user.ok("agent", "install", "claude", "--yes")
    claude = _parts(user, "claude")
    settings = Path(claude["user", "hooks"]["path"])
    hooks = json.loads(settings.read_text(encoding="utf-8"))
    del hooks["hooks"]["PreCompact"]
    settings.write_text(json.dumps(hooks), encoding="utf-8")
    servers = Path(claude["user", "tools"]["path"])
    servers.write_text(
        json.dumps({"mcpServers": {"qmd": {"command": "/gone/qmd", "args": ["mcp"]}}}), encoding="utf-8"
    )
    skill = Path(claude["user", "skill"]["path"])
    skill.write_text("mine\n" + skill.read_text(encoding="utf-8"), encoding="utf-8")
    after = _parts(user, "claude")
    assert {part: row["state"] for (_, part), row in after.items()} == {
        "skill": "unknown",
        "tools": "broken",
        "hooks": "outdated",
    }
    assert "qmd hook install --target claude" in after["user", "hooks"]["hint"]
    assert "was not written by qmd" in user.ok("agent", "status")


def test_agent_install_dry_run_shows_what_each_part_would_write(user: User) -> None:
    for agent, part in (
        ("claude", '"UserPromptSubmit"'),
        ("gemini", '"BeforeAgent"'),
        ("opencode", "export "),
    ):
        said = user.ok("agent", "install", agent, "--dry-run")
        assert [line.split()[:2] for line in said.splitlines() if line.startswith("Would")] == [
            ["Would", "install"]
        ] * 3, said
        assert part in said
        assert '"mcp"' in said
        assert {row["state"] for row in _parts(user, agent).values()} == {"not installed"}
    user.ok("agent", "install", "claude", "--yes")
    said = user.ok("agent", "install", "claude", "--dry-run")
    assert "Would" not in said.replace("Would install the server", "")
    assert "UserPromptSubmit" not in said


def _index_of_server(entry: dict[str, Any], user: User, **environ: str) -> str:
    """Return the index that a server uses if its program gives it HOME and what its entry says."""
    named = {
        name: value for name, value in (user.environ | environ).items() if name in entry.get("env_vars", ())
    }
    bare = {name: user.environ[name] for name in ("HOME", "PATH", "PYTHONPATH") if name in user.environ}
    command = [*([entry["command"]] if isinstance(entry["command"], str) else entry["command"])]
    command = [*command, *entry.get("args", [])]
    command[command.index("mcp")] = "status"
    done = subprocess.run(
        [*command, "--json"], env=bare | named | entry.get("env", {}), capture_output=True, check=True
    )
    index: str = json.loads(done.stdout)["index"]
    return index


@pytest.mark.parametrize("client", ["codex", "cursor", "vscode", "windsurf", "zed", "claude-desktop"])
def test_server_of_a_program_without_variables_uses_the_index_of_the_command(
    user: User, client: str, tmp_path: Path
) -> None:
    user.environ |= {"XDG_CACHE_HOME": str(tmp_path / "elsewhere")}
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    path = settings(user, client)
    user.ok("mcp", "install", "--client", client)
    entry = read(path)[AGENTS[client].section]["qmd"]
    assert _index_of_server(entry, user) == json.loads(user.ok("status", "--json"))["index"]
    assert _parts(user, client)["user", "tools"]["state"] == "current"


@pytest.mark.parametrize(("agent", "section"), [("codex", "mcp_servers"), ("cursor", "mcpServers")])
def test_agent_status_tells_that_tools_use_another_index(
    user: User, agent: str, section: str, tmp_path: Path
) -> None:
    path = settings(user, agent)
    user.ok("agent", "install", agent, "--yes")
    before = user.ok("mcp", "install", "--client", agent)
    assert "already" in before
    older = read(path)[section]["qmd"]
    older = {"command": older["command"], "args": older["args"]}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in older.items())
    mine = "startup_timeout_sec = 20"
    path.write_text(
        f"[{section}.qmd]\n{lines}\n{mine}\n" if agent == "codex" else json.dumps({section: {"qmd": older}})
    )
    user.environ |= {"XDG_CACHE_HOME": str(tmp_path / "elsewhere")}
    found = _parts(user, agent)["user", "tools"]
    assert found["state"] == "outdated"
    assert str(tmp_path / "elsewhere") in found["message"]
    assert ("the hooks use" in found["message"]) == (agent == "codex")
    # An entry of qmd itself is brought up to date, and keeps what was added.
    user.ok("agent", "install", agent, "--yes")
    assert _parts(user, agent)["user", "tools"]["state"] == "current"
    assert ("startup_timeout_sec" in read(path)[section]["qmd"]) == (agent == "codex")


def test_agent_status_compares_the_indexes_of_hooks_and_tools(user: User) -> None:
    user.ok("agent", "install", "claude", "--yes")
    user.ok("--index", "work", "hook", "install", "--target", "claude")
    found = _parts(user, "claude")["user", "tools"]
    assert found["state"] == "outdated"
    assert "work.sqlite" in found["message"]
    command = re.fullmatch(r'run "qmd (.+)"', found["hint"])
    assert command
    user.ok(*shlex.split(command[1]))
    assert _parts(user, "claude")["user", "tools"]["state"] == "current"
