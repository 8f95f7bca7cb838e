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
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from msgspec import to_builtins

from common import say, table, write_json
from fault_disks import fill_disk, make_read_only
from fault_processes import kill_commands, run_concurrently
from fault_result import NotPermittedError, Options, Result
from fault_user import READING, User, index_notes

PAGE = 4096

# -- the clock -----------------------------------------------------------------------------------------------


def set_clock_back(user: User, result: Result, options: Options) -> None:
    """Set times of files and scans in the future, after which the clock goes back."""
    import apsw

    files = index_notes(user)
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
        user.ok("update", "--no-embed")
        result.lost += user.lost()
        user.ok("status")
        say(f"clock: {turn + 1}: {result.lost} lost")


# -- a damaged file ------------------------------------------------------------------------------------------


def damage_index(user: User, result: Result, options: Options) -> None:
    """Change bytes of the index on disk: at its beginning, or in any page, some bytes or the whole page."""
    from qmd.errors import StoreError

    index_notes(user)
    user.ok("embed", "-q")
    user.ok("backup", "-q", "copy.sqlite")
    good = user.index.read_bytes()
    held, answers, vectors = user.held(), user.answers(), user.vector_answers()
    for turn in range(options.rounds):
        result.rounds += 1
        data = _damage(good, user.chance, at_start=turn % 5 == 0)
        _replace_index(user, data)
        found = user.run("doctor", "--json")
        faults = [each for each in json.loads(found.stdout) if each["level"] == "problem"]
        assert bool(faults) == bool(found.returncode)
        for arguments in (*user.chance.sample(READING, 4), ("update",), ("embed",), ("cleanup",)):
            user.run(*arguments)
        result.count("told by the doctor" if faults else "not told")
        if faults:
            assert any("qmd " in (each["hint"] or "") for each in faults), faults
        else:
            _replace_index(user, data)
            try:
                if (user.answers(), user.vector_answers()) != (answers, vectors):
                    result.count("not told, and answers differ")
            except StoreError:
                result.count("not told by the doctor, but by a search")
        _replace_index(user, data)
        user.ok("restore", "--force", "copy.sqlite")
        user.sound()
        for path in user.index.parent.glob("*-replaced-*"):
            path.unlink()
        now = user.held()
        result.lost += sum(now.get(path) != digest for path, digest in held.items())
        assert (user.answers(), user.vector_answers()) == (answers, vectors)
        say(f"damage: {turn + 1} of {options.rounds}: {result.notes}")


def _damage(good: bytes, chance: random.Random, *, at_start: bool) -> bytes:
    page = 0 if at_start else chance.randrange(len(good) // PAGE)
    at = page * PAGE + chance.choice([0, chance.randrange(PAGE)])
    size = min(chance.choice([1, 16, 64, 512, PAGE]), len(good) - at)
    junk = chance.choice([b"\xff" * size, bytes(size), chance.randbytes(size)])
    return good[:at] + junk + good[at + size :]


def _replace_index(user: User, data: bytes) -> None:
    """Replace the index by these bytes, as after a restart of the machine."""
    for ending in ("-wal", "-shm"):
        Path(f"{user.index}{ending}").unlink(missing_ok=True)
    user.index.write_bytes(data)


# -- running them --------------------------------------------------------------------------------------------

FAULTS: dict[str, Callable[[User, Result, Options], None]] = {
    "kill -9": kill_commands,
    "full disk": fill_disk,
    "read-only folder": make_read_only,
    "clock going back": set_clock_back,
    "damaged page": damage_index,
    "8 readers, 4 writers": run_concurrently,
}


def main() -> int:
    given = _arguments()
    results = [_cause(name, given) for name in FAULTS if not given.only or name in given.only]
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


def _cause(name: str, given: argparse.Namespace) -> Result:
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
