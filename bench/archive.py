"""Time and memory of a search of a whole archive: 20,000 posts of 5 kB, in one process.

    python bench/archive.py [--posts N] [--bytes N] [--json OUT]

The posts are generated: Chinese characters by a fixed rule, with some Latin words, a tenth of them names with
accents. `first` is the first search of a process, which reads every file; `warm` is the median of later
searches, by kind of query; `changed` is a search after one file has changed. `peak` is the peak memory of the
process.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from common import median, table, write_json

SEED = 20
AUTHORS = 10
ROUNDS = 9
#: Queries by kind: for words in few or no posts, in Latin letters, and in nearly every line.
QUERIES = {
    "rare": "稀有的话",
    "absent": "没有这样的话",
    "ascii": "Deployment",
    "accents": "éCOLE",
    "character": "文",
    "letter": "e",
}


def generate(data: Path, posts: int, size: int) -> None:
    """Write an archive of `posts` posts, each of about `size` bytes in lines of about 120."""
    chance = random.Random(SEED)
    common = [chr(0x4E00 + chance.randrange(6000)) for _ in range(1500)] + ["文"] * 40
    for number in range(posts):
        folder = data / f"author{number % AUTHORS}" / ("motions" if number % 3 else f"album{number % 7}")
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for _ in range(size // 124):
            words = "".join(chance.choices(common, k=36))
            lines.append(f"{words} {chance.choice(('Python', 'deployment', 'Note'))}。")
        if number % 10 == 0:
            lines.append("École")
        if number % 1000 == 0:
            lines.append("稀有的话")
        name = f"2024-{number % 12 + 1:02}-{number % 28 + 1:02}_10_00_00_{number:05}.md"
        (folder / name).write_text("\n".join(lines), encoding="utf-8")


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds that a call takes."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def peak() -> float:
    """Return the peak memory of this process, in MB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1024


def measure(data: Path) -> dict[str, float]:
    """Return the figures in milliseconds and MB."""
    # Import everything that the server of an archive imports, because it counts into the memory.
    import qmd.features.archive.tools
    import qmd.mcp.http
    import qmd.mcp.stdio  # noqa: F401
    from qmd.features.archive.archive import Archive

    archive = Archive(str(data))
    figures = {"first_ms": timed(lambda: archive.search(QUERIES["rare"]))}
    for kind, query in QUERIES.items():
        search = partial(archive.search, query)
        figures[f"warm_{kind}_ms"] = median([timed(search) for _ in range(ROUNDS)])
    changed = next(data.glob("author0/motions/*.md"))
    changed.write_text("稀有的话", encoding="utf-8")
    figures["changed_ms"] = timed(lambda: archive.search(QUERIES["rare"]))
    figures["peak_mb"] = peak()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--posts", type=int, default=20_000)
    parser.add_argument("--bytes", type=int, default=5_000, help="bytes of a post (5000)")
    parser.add_argument("--json", type=Path, help="write the result to this file")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), args.posts, args.bytes)
        figures = measure(Path(folder))
    print(table(("figure", "value"), [(name, round(value)) for name, value in figures.items()]))
    write_json(args.json, {"posts": args.posts, "bytes": args.bytes, **figures})


if __name__ == "__main__":
    main()
