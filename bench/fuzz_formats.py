"""Fuzzing of the readers of source formats with mutated real files.

    python bench/fuzz_formats.py FOLDER... [--formats NAME...] [--minutes 10 | --files N] [--seed N]
                                  [--json OUT]

The folders contain real files of any built-in formats, which take turns. A file is mutated by flipped bytes,
a cut, parts that are left out or repeated, or a part of another file. In an archive, members are mutated like
this, left out or swapped. Files are read as a scan reads them. It is a failure if an error is raised, or if a
result breaks a rule of the index. Refused files are counted by reason; "too slow" and "too large" mean that a
limit ended the reading. The exit code is 1 if there was a failure.
"""

from __future__ import annotations

import argparse
import io
import random
import resource
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from common import say, table, write_json
from qmd.sources.formats import registry
from qmd.sources.read import Outcome
from qmd.sources.reading import read_all
from qmd.types import Fingerprint, SourceFile

#: The largest file, in bytes.
_LARGEST = 500_000


class Result(Struct):
    """The results for the files of a format."""

    format: str
    seeds: list[Path] = field(default_factory=list)
    files: int = 0
    read: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0  #: For the slowest group of files
    failures: list[str] = field(default_factory=list)


def main() -> int:
    options = _options()
    results = _seeds(options.folders)
    found = [result.format for result in results]
    lacking = sorted({*(options.formats or ())}.difference(found))
    if lacking or not found:
        raise SystemExit(
            f"no real files of {', '.join(lacking) or 'any format'} in the folders"
            + (f"; there are files of {', '.join(found)}" if found else "")
        )
    if options.formats:
        results = [result for result in results if result.format in options.formats]
    numbers = count(options.seed)
    began = time.monotonic()
    while (
        sum(result.files for result in results) < options.files
        if options.files
        else time.monotonic() - began < 60 * options.minutes
    ):
        for result in results:
            _try(result, [next(numbers) for _ in range(options.group)])
        say(f"{time.monotonic() - began:.0f} s: {sum(result.files for result in results):,} files")
    memory = {
        "parent_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "largest_child_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
    }
    rows = [_row(result) for result in results]
    print(table(["format", "real files", "mutated", "read", "refused", "slowest group, s", "failures"], rows))
    print(f"seeds {options.seed} to {next(numbers) - 1}, {time.monotonic() - began:.0f} s, {memory}")
    for result in results:
        print("".join(f"\n{result.format}: {failure}" for failure in result.failures[:5]), end="")
    if options.json is not None:
        formats = {result.format: _entry(result) for result in results}
        seconds = round(time.monotonic() - began)
        write_json(
            options.json, {"seed": options.seed, "seconds": seconds, "memory": memory, "formats": formats}
        )
    return 1 if any(result.failures for result in results) else 0


def _row(result: Result) -> list[Any]:
    refused = ", ".join(f"{number:,} {reason}" for reason, number in result.refused.most_common())
    numbers = (len(result.seeds), f"{result.files:,}", f"{result.read:,}")
    return [result.format, *numbers, refused, f"{result.seconds:.1f}", len(result.failures)]


def _entry(result: Result) -> dict[str, Any]:
    return {
        "real_files": len(result.seeds),
        "files": result.files,
        "read": result.read,
        "refused": dict(result.refused),
        "slowest_group_seconds": round(result.seconds, 1),
        "failures": result.failures,
    }


def _seeds(folders: Sequence[Path]) -> list[Result]:
    """Return a result with its real files for each format."""
    readers, known = registry.Readers([registry.ALL]), registry.suffixes([registry.ALL])
    results: dict[str, Result] = {}
    for path in sorted(path for folder in folders for path in folder.rglob("*") if path.is_file()):
        if registry.suffix(path.name) in known and path.stat().st_size <= _LARGEST:
            name = readers.of(path.name).format.name
            results.setdefault(name, Result(name)).seeds.append(path)
    return list(results.values())


def _try(result: Result, seeds: Sequence[int]) -> None:
    """Read a mutated file for each seed, all in one call."""
    readers = registry.Readers([registry.ALL])
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for seed in seeds:
            chance = random.Random(seed)
            real, other = chance.choice(result.seeds), chance.choice(result.seeds)
            path = Path(folder, f"{seed}{real.suffix}")
            path.write_bytes(mutated(real.read_bytes(), other.read_bytes(), chance))
            files.append(SourceFile(path.name, str(path), Fingerprint(0, 0, 0)))
        began = time.monotonic()
        try:
            for outcome in read_all(files, readers):
                result.files += 1
                if outcome.error is None:
                    result.read += 1
                else:
                    result.refused[outcome.failure.reason if outcome.failure else "not text"] += 1
                problem = _broken(outcome)
                if problem:
                    result.failures.append(f"{outcome.file.path}: {problem}")
        except Exception:  # noqa: BLE001 - that is what is looked for
            result.failures.append(f"{seeds}: {traceback.format_exc()}")
        result.seconds = max(result.seconds, time.monotonic() - began)


def _broken(outcome: Outcome) -> str:
    """Return the rule that a result breaks, or "" if it is valid."""
    if outcome.error is not None:
        message = outcome.error.message
        return "" if "\n" not in message and len(message) < 500 else f"the message is {message!r}"
    for _, source, _ in outcome.documents:
        lines = source.text.count("\n") + 1
        places = [anchor.line for anchor in source.anchors]
        if "\0" in source.text or "\r" in source.text:
            return "the text has NUL or CR"
        if places != sorted(places) or not all(1 <= place <= lines for place in places):
            return f"the anchors are {places} in {lines} lines"
        source.text.encode()
    return ""


def mutated(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Return mutated bytes. If they are an archive, often its members are mutated."""
    if data[:2] == b"PK" and chance.random() < 0.7:
        with suppress(zipfile.BadZipFile, NotImplementedError, RuntimeError):
            return _archive(data, chance)
    for _ in range(chance.choice((1, 1, 2, 5))):
        data = chance.choice(_CHANGES)(data, other, chance)
    return data


def _archive(data: bytes, chance: random.Random) -> bytes:
    """Mutate some members, leave some out, and swap the contents of some."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    members = {name: archive.read(name) for name in archive.namelist()}
    names = list(members)
    for name in chance.sample(names, min(len(names), chance.choice((1, 1, 3)))):
        change = chance.random()
        if change < 0.7:
            members[name] = chance.choice(_CHANGES)(members[name], members[chance.choice(names)], chance)
        elif change < 0.85:
            members[name] = members[chance.choice(names)]
        else:
            del members[name]
            names.remove(name)
            if not names:
                break
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as copy:
        for name, content in members.items():
            copy.writestr(name, content)
    return changed.getvalue()


def _flip(data: bytes, other: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 4, 30)) if data else 0):
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(data: bytes, other: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _drop(data: bytes, other: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.choice((1, 10, 1_000)) :]


def _repeat(data: bytes, other: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at : at + chance.choice((10, 1_000))] * chance.choice((2, 200)) + data[at:]


def _splice(data: bytes, other: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)] + other[chance.randrange(len(other) + 1) :]


def _number(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Replace a digit by a long number, such as a count, size or offset."""
    digits = [at for at, byte in enumerate(data) if 48 <= byte <= 57]
    if not digits:
        return data
    at = chance.choice(digits)
    return data[:at] + chance.choice((b"0", b"-1", b"999999999", b"4294967296")) + data[at + 1 :]


_CHANGES = (_flip, _cut, _drop, _repeat, _splice, _number)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--formats", nargs="+", help="the names of the formats (default: all)")
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes of all formats together (10)")
    parser.add_argument("--files", type=int, default=0, help="stop after this many files instead")
    parser.add_argument("--group", type=int, default=40, help="number of files that are read together (40)")
    parser.add_argument(
        "--seed", type=int, default=random.randrange(1_000_000), help="seed of the first file (random)"
    )
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
