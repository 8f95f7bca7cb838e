"""Faults of processes: commands that are killed, and many processes on one index."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from common import say
from fault_result import Options, Result
from fault_user import FILES, STABLE, User, index_notes, missing


def kill_commands(user: User, result: Result, options: Options) -> None:
    """Kill commands at any moment of their work, each kind in turn."""
    files = index_notes(user)
    other = user.home / "other"
    for number in range(40):
        user.write(f"{number}.md", folder=other)
    user.ok("collection", "add", str(other), "-q")
    user.ok("embed", "-q")
    lasting: dict[str, float] = {}
    for turn in range(options.rounds):
        kind = list(_WORKS)[turn % len(_WORKS)]
        prepare, work = _WORKS[kind]
        prepare(user)
        arguments = work(user)
        if kind not in lasting:
            # The duration is measured once, on the same work.
            lasting[kind] = user.seconds(*arguments)
            prepare(user)
            arguments = work(user)
        process = user.start(*arguments)
        try:
            process.wait(user.chance.uniform(0.0, 1.1 * lasting[kind]))
            result.count(f"{kind}: ended before")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            result.count(f"{kind}: killed")
        result.rounds += 1
        user.sound()
        result.lost += missing(user, [files[number] for number in STABLE])
        _finish(user, kind, arguments)
        # Vectors of a fresh index take long, so they are compared in some rounds only.
        result.lost += user.lost(vectors=turn % 20 == 2)
        say(f"kill -9: {kind}, {turn + 1} of {options.rounds}: {result.lost} lost")


def _change(user: User) -> None:
    for number in range(FILES):
        if number not in STABLE and user.chance.random() < 0.4:
            path = user.notes / f"{number}.md"
            if user.chance.random() < 0.1:
                path.unlink(missing_ok=True)
            else:
                user.write(path.name)


def _move(user: User) -> None:
    for number in user.chance.sample([n for n in range(FILES) if n not in STABLE], 60):
        path = user.notes / f"{number}.md"
        if path.exists():
            path.rename(user.notes / f"{number} moved {user.chance.randrange(10**6)}.md")
    _change(user)


def _change_and_index(user: User) -> None:
    _change(user)
    user.ok("index", "-q")


def _waste(user: User) -> None:
    _change(user)
    user.ok("index", "-q", "-c", "notes")


def _with_other(user: User) -> None:
    if f"{user.home}/other" not in user.config.read_text(encoding="utf-8"):
        user.ok("collection", "add", "-q", str(user.home / "other"))


def _renaming(user: User) -> tuple[str, ...]:
    here = "renamed" if "renamed:" in user.config.read_text(encoding="utf-8") else "other"
    return "collection", "rename", here, "other" if here == "renamed" else "renamed"


def _removing(user: User) -> tuple[str, ...]:
    return "collection", "remove", _renaming(user)[2]


def _copied(user: User) -> None:
    user.ok("backup", "-q", "--force", "copy.sqlite")
    _change_and_index(user)


_WORKS: dict[str, tuple[Callable[[User], None], Callable[[User], tuple[str, ...]]]] = {
    "index": (_change, lambda user: ("index", "-q")),
    "update": (_move, lambda user: ("update", "-q", "--no-embed")),
    "embed": (_change_and_index, lambda user: ("embed", "-q")),
    "rename": (_with_other, _renaming),
    "remove": (_with_other, _removing),
    "cleanup": (_waste, lambda user: ("cleanup", "-q")),
    "backup": (_change_and_index, lambda user: ("backup", "-q", "--force", "copy.sqlite")),
    "restore": (_copied, lambda user: ("restore", "-q", "copy.sqlite")),
}


def _finish(user: User, kind: str, arguments: tuple[str, ...]) -> None:
    """Repeat the killed work, as a user would."""
    if kind not in ("rename", "remove") or f"  {arguments[2]}:" in user.config.read_text(encoding="utf-8"):
        user.ok(*arguments)
    for path in user.index.parent.glob("*-replaced-*"):
        path.unlink()
    said = user.ok("update", "--no-embed")
    # A renamed collection must not be read again.
    assert kind != "rename" or " new" not in said, said
    user.ok("embed", "-q")
    user.sound()


_READER = """
import os, random, sys, time, qmd
chance = random.Random(sys.argv[2])
done, due = 0, time.monotonic() + float(sys.argv[3])
with qmd.open_index(sys.argv[1], config=sys.argv[4], environ=os.environ) as index:
    while time.monotonic() < due:
        query = f"word{chance.randrange(600)} heron"
        hits = chance.choice([index.search, index.search, index.search, index.query])(query).hits
        for hit in hits[:2]:
            try:
                index.get(hit.file)
            except qmd.DocumentNotFoundError:
                pass  # removed since
        done += 1
print(done)
"""
_WRITER = """
import os, random, sys, time
from pathlib import Path
import qmd
number, folder = int(sys.argv[2]), Path(sys.argv[5])
chance = random.Random(number)
done, due = 0, time.monotonic() + float(sys.argv[3])
with qmd.open_index(sys.argv[1], config=sys.argv[4], environ=os.environ) as index:
    name = folder.name
    while time.monotonic() < due:
        for n in chance.sample(range(60), 20):
            words = " ".join(f"word{chance.randrange(600)}" for _ in range(60))
            (folder / f"{n}.md").write_text(f"# {n}\\n\\nheron {words}\\n", encoding="utf-8")
        index.update([name])
        done += 1
        if done % 4 == number % 4:
            if number == 0:
                index.cleanup()
            elif number == 1:
                try:
                    index.embed()
                except qmd.BusyError:
                    pass
            elif number == 2:
                new = "two" if name == "w2" else "w2"
                index.rename_collection(name, new)
                name = new
            else:
                index.remove_collection(name)
                index.add_collection(str(folder), name)
print(done)
"""


def run_concurrently(user: User, result: Result, options: Options) -> None:
    """Run eight processes that read and four that write on one index."""
    index_notes(user)
    folders = [user.home / f"w{number}" for number in range(4)]
    for folder in folders:
        for number in range(60):
            user.write(f"{number}.md", folder=folder)
        user.ok("collection", "add", "-q", str(folder))
    user.ok("embed", "-q")
    common = [str(options.seconds), str(user.config)]
    commands = [[_READER, str(user.index), f"r{number}", *common] for number in range(8)]
    commands += [[_WRITER, str(user.index), str(n), *common, str(folder)] for n, folder in enumerate(folders)]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", *command],
            env=user.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    for number, process in enumerate(running):
        out, errors = process.communicate()
        if process.returncode:
            result.wrong.append(errors[-1000:])
        else:
            result.count("searches" if number < 8 else "updates", int(out))
    result.rounds = 1
    user.sound()
    user.ok("update", "-q", "--no-embed")
    user.ok("embed", "-q")
    result.lost += user.lost(vectors=True)
