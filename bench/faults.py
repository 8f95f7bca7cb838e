"""Faults, caused on purpose: whether documents are lost, and whether the commands report the fault.

    python bench/faults.py [--rounds 100] [--seconds 60] [--only FAULT...] [--seed N] [--json OUT]

Each fault happens to a user of the real command in several rounds. After each round the index is checked, the
work is repeated, and the index is compared with a fresh one of the same files: documents, texts, results.
Some faults mount a disk. If this process may not do that, because it does not run as root, they are left out.
The exit code is 1 if a document was lost or another check failed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field, to_builtins

from common import say, table, write_json
from fault_user import User, missing

FILES = 200
#: Files that never change, unlike the index around them.
STABLE = range(0, FILES, 5)
PAGE = 4096


class Result(Struct):
    """The result of a fault. `wrong` lists failed checks; `notes` are figures."""

    fault: str
    rounds: int = 0
    lost: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)

    def count(self, note: str, number: int = 1) -> None:
        self.notes[note] = self.notes.get(note, 0) + number


class Options(Struct, frozen=True):
    """The number of rounds, the time limit, the seed and the folder."""

    rounds: int
    seconds: float
    seed: int
    work: Path


class NotPermittedError(Exception):
    """The fault needs a permission that this process does not have."""


# -- kill -9 -------------------------------------------------------------------------------------------------


def killed(user: User, result: Result, options: Options) -> None:
    """Kill commands at any moment of their work, each kind in turn."""
    files = _indexed(user)
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
    "update": (_move, lambda user: ("update", "-q")),
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
    said = user.ok("update")
    # A renamed collection must not be read again.
    assert kind != "rename" or " new" not in said, said
    user.ok("embed", "-q")
    user.sound()


# -- disks ---------------------------------------------------------------------------------------------------


def full_disk(user: User, result: Result, options: Options) -> None:
    """Fill up the disk under each command that writes."""
    with _disk(user, "6m") as disk:
        _indexed(user)
        user.ok("embed", "-q")
        user.ok("backup", "-q", str(user.home / "copy.sqlite"))
        for turn in range(max(5, options.rounds // 10)):
            before = user.held()
            for number in range(12):
                user.write(f"big {number}.md", words=60_000)
            user.refused("update")
            result.rounds += 1
            held = user.held()
            result.lost += sum(held.get(path) != digest for path, digest in before.items())
            user.sound()
            ballast = disk / "ballast"
            _fill(ballast)
            for arguments in (
                ("embed", "--force"),
                ("backup", str(disk / "copy.sqlite")),
                ("restore", str(user.home / "copy.sqlite")),
            ):
                user.refused(*arguments)
                user.sound()
                result.rounds += 1
            assert not (disk / "copy.sqlite").exists()
            user.run("cleanup")
            user.sound()
            result.rounds += 1
            result.lost += sum(user.held().get(path) != digest for path, digest in before.items())
            ballast.unlink()
            for path in user.notes.glob("big *.md"):
                path.unlink()
            user.ok("update")
            user.ok("cleanup")
            result.lost += user.lost()
            say(f"full disk: {turn + 1}: {result.lost} lost")


def read_only(user: User, result: Result, options: Options) -> None:
    """Make the folder read-only: reading works, writing is refused, and nothing changes."""
    with _disk(user, "20m") as disk:
        files = _indexed(user)
        user.ok("embed", "-q")
        user.ok("backup", "-q", "copy.sqlite")
        user.write("0.md")
        user.write("one.md", folder=user.home / "other")
        for left_behind in (False, True):
            if left_behind:
                # A killed process leaves a write-ahead log.
                _leave_log(user)
            before = {path.name: path.read_bytes() for path in disk.iterdir()}
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
            for arguments in _READING:
                done = user.run(*arguments)
                assert done.returncode == 0 or left_behind, done.stderr
                result.rounds += 1
            for arguments in _WRITING:
                user.refused(*arguments)
                result.rounds += 1
            assert {path.name: path.read_bytes() for path in disk.iterdir()} == before
            subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
            result.lost += missing(user, files[1:])
        user.ok("update")
        result.lost += user.lost()


_READING = (
    ("search", "heron"), ("vsearch", "heron"), ("query", "heron"), ("ls", "notes"), ("get", "notes/5.md"),
    ("multi-get", "notes/1*.md"), ("status",), ("why", "notes/5.md", "heron"),
)  # fmt: skip
_WRITING = (("update",), ("embed", "--force"), ("collection", "add", "other"), ("restore", "copy.sqlite"))


def _leave_log(user: User) -> None:
    script = (
        "import apsw, os, sys\n"
        "db = apsw.Connection(sys.argv[1])\n"
        "db.execute(\"INSERT OR REPLACE INTO meta VALUES ('left', 'behind')\")\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(user.index)], check=True)
    assert os.path.getsize(f"{user.index}-wal")


# -- the clock -----------------------------------------------------------------------------------------------


def clock_back(user: User, result: Result, options: Options) -> None:
    """Set times of files and scans in the future, after which the clock goes back."""
    import apsw

    files = _indexed(user)
    for turn in range(max(10, options.rounds // 5)):
        result.rounds += 1
        db = apsw.Connection(str(user.index))
        db.execute("UPDATE collections SET updated_at = '2199-01-01T00:00:00.000Z'")
        db.execute("UPDATE llm_cache SET created_at = '2199-01-01T00:00:00.000Z'")
        db.close()
        now = time.time()
        for path in user.chance.sample(files, 40):
            text = path.read_bytes()
            # Another text of the same length in the same file, so that only the time differs, in either
            # direction.
            path.write_bytes(text[:-9] + b"%08d\n" % user.chance.randrange(10**8))
            moment = now + user.chance.choice([-4e9, -3600, 3600, 4e9]) * user.chance.random()
            os.utime(path, (moment, moment))
        user.ok("update")
        result.lost += user.lost()
        user.ok("status")
        say(f"clock: {turn + 1}: {result.lost} lost")


# -- a damaged file ------------------------------------------------------------------------------------------


def damaged(user: User, result: Result, options: Options) -> None:
    """Change bytes of the index on disk: at its beginning, or in any page, some bytes or the whole page."""
    from qmd.errors import StoreError

    _indexed(user)
    user.ok("embed", "-q")
    user.ok("backup", "-q", "copy.sqlite")
    good = user.index.read_bytes()
    held, answers, vectors = user.held(), user.answers(), user.vector_answers()
    for turn in range(options.rounds):
        result.rounds += 1
        data = _with_damage(good, user.chance, at_start=turn % 5 == 0)
        _put(user, data)
        found = user.run("doctor", "--json")
        faults = [each for each in json.loads(found.stdout) if each["level"] == "problem"]
        assert bool(faults) == bool(found.returncode)
        for arguments in (*user.chance.sample(_READING, 4), ("update",), ("embed",), ("cleanup",)):
            user.run(*arguments)
        result.count("told by the doctor" if faults else "not told")
        if faults:
            assert any("qmd " in (each["hint"] or "") for each in faults), faults
        else:
            _put(user, data)
            try:
                if (user.answers(), user.vector_answers()) != (answers, vectors):
                    result.count("not told, and answers differ")
            except StoreError:
                result.count("not told by the doctor, but by a search")
        _put(user, data)
        user.ok("restore", "--force", "copy.sqlite")
        user.sound()
        for path in user.index.parent.glob("*-replaced-*"):
            path.unlink()
        now = user.held()
        result.lost += sum(now.get(path) != digest for path, digest in held.items())
        assert (user.answers(), user.vector_answers()) == (answers, vectors)
        say(f"damage: {turn + 1} of {options.rounds}: {result.notes}")


def _with_damage(good: bytes, chance: random.Random, *, at_start: bool) -> bytes:
    page = 0 if at_start else chance.randrange(len(good) // PAGE)
    at = page * PAGE + chance.choice([0, chance.randrange(PAGE)])
    size = min(chance.choice([1, 16, 64, 512, PAGE]), len(good) - at)
    junk = chance.choice([b"\xff" * size, bytes(size), chance.randbytes(size)])
    return good[:at] + junk + good[at + size :]


def _put(user: User, data: bytes) -> None:
    """Replace the index by these bytes, as after a restart of the machine."""
    for ending in ("-wal", "-shm"):
        Path(f"{user.index}{ending}").unlink(missing_ok=True)
    user.index.write_bytes(data)


# -- many at once --------------------------------------------------------------------------------------------

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


def at_once(user: User, result: Result, options: Options) -> None:
    """Run eight processes that read and four that write on one index."""
    _indexed(user)
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
    user.ok("update", "-q")
    user.ok("embed", "-q")
    result.lost += user.lost(vectors=True)


# -- running them --------------------------------------------------------------------------------------------

FAULTS: dict[str, Callable[[User, Result, Options], None]] = {
    "kill -9": killed,
    "full disk": full_disk,
    "read-only folder": read_only,
    "clock going back": clock_back,
    "damaged page": damaged,
    "8 readers, 4 writers": at_once,
}


def main() -> int:
    given = _arguments()
    results = [_bring_about(name, given) for name in FAULTS if not given.only or name in given.only]
    rows = [[each.fault, each.rounds, each.lost, len(each.wrong), f"{each.seconds:.0f}"] for each in results]
    print(table(["fault", "rounds", "lost documents", "failed checks", "seconds"], rows))
    for result in results:
        print(f"{result.fault}: {result.notes}")
        for wrong in result.wrong:
            print(wrong)
    if given.json is not None:
        kept = json.loads(given.json.read_text(encoding="utf-8"))["faults"] if given.json.exists() else {}
        new = {each.fault: {"seed": given.seed, **to_builtins(each)} for each in results}
        write_json(given.json, {"faults": kept | new})
    return 1 if any(result.lost or result.wrong for result in results) else 0


def _bring_about(name: str, given: argparse.Namespace) -> Result:
    result = Result(name)
    began = time.monotonic()
    say(f"{name}: seed {given.seed}")
    home = Path(tempfile.mkdtemp(prefix="faults-", dir=given.work))
    options = Options(given.rounds, given.seconds, given.seed, home)
    try:
        FAULTS[name](User(home / "user", random.Random(given.seed)), result, options)
    except NotPermittedError as error:
        say(f"{name}: left out: {error}")
    except Exception:  # noqa: BLE001 - that is what is looked for
        result.wrong.append(f"round {result.rounds}: {traceback.format_exc()[-3000:]}")
    result.seconds = round(time.monotonic() - began, 1)
    if not result.wrong:
        shutil.rmtree(home, ignore_errors=True)
    return result


def _indexed(user: User) -> list[Path]:
    """Write the notes and index them."""
    files = [user.write(f"{number}.md") for number in range(FILES)]
    user.ok("collection", "add", "-q", str(user.notes))
    return files


@contextmanager
def _disk(user: User, size: str) -> Iterator[Path]:
    """Mount a disk of a size, and put the user's index on it."""
    disk = user.home / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        raise NotPermittedError("this process may not mount a disk")
    user.index = disk / "index.sqlite"
    user.environ["QMD_INDEX_PATH"] = str(user.index)
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _fill(path: Path) -> None:
    """Fill the disk."""
    try:
        with path.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(PAGE))
    except OSError:
        pass


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Faults, caused on purpose.")
    parser.add_argument(
        "--rounds", type=int, default=100, help="rounds of kill -9 and of damage; fewer of others (100)"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of concurrent processes (60)")
    parser.add_argument("--only", nargs="+", choices=list(FAULTS))
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--work", type=Path, help="folder of the users (temporary)")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
