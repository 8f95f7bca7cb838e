"""Fuzzing of all readers of untrusted input with generated inputs, for any time.

    python bench/fuzz.py [--minutes 10] [--targets NAME...] [--seed N] [--json OUT]

Each target of `fuzz_targets` is tried for `--minutes`, in rounds of hypothesis with a seed each, which is
printed. An input fails if it raises an error other than a `QmdError`, if a check of the result fails, or if
it takes longer than the `patience` of its target. Each failure is printed with the smallest input found, once
for each place in the program. The exit code is 1 if there was a failure. `fuzz_formats.py` tries the readers
of source formats.
"""

from __future__ import annotations

import argparse
import json
import random
import time
import traceback
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisException
from msgspec import Struct, field, to_builtins

from common import say, table, write_json
from fuzz_targets import TARGETS, Target

#: Inputs of a round. After each round the clock is checked, and its seed reproduces a failure.
ROUND = 500
_SHOWN = 1_000


class Failure(Struct):
    """A place in the program at which an input failed."""

    place: str
    error: str
    seed: int
    input: str


class Result(Struct):
    """The result of a target."""

    target: str
    seed: int
    inputs: int = 0
    rounds: int = 0
    seconds: float = 0.0
    slowest_ms: float = 0.0
    failures: list[Failure] = field(default_factory=list)


def main() -> int:
    options = _options()
    chosen = [target for target in TARGETS if not options.targets or target.name in options.targets]
    results = [fuzz(target, options.minutes * 60, options.seed) for target in chosen]
    heads = ["target", "inputs", "seconds", "slowest ms", "failures"]
    rows = [
        [each.target, f"{each.inputs:,}", f"{each.seconds:.0f}", f"{each.slowest_ms:.0f}", len(each.failures)]
        for each in results
    ]
    print(table(heads, rows))
    for result in results:
        for failure in result.failures:
            print(
                f"\n{result.target}, seed {failure.seed}: {failure.place}: {failure.error}\n{failure.input}"
            )
    if options.json is not None:
        write_json(options.json, {"targets": _beside(options.json, results)})
    return 1 if any(result.failures for result in results) else 0


def fuzz(target: Target, seconds: float, first_seed: int) -> Result:
    """Try a target for some seconds, in rounds with the seeds `first_seed`, `first_seed` + 1, ..."""
    result = Result(target.name, first_seed)
    last: list[Any] = [None]
    began = time.monotonic()

    with target.prepared() as check:

        def attempt(value: Any) -> None:
            last[0] = value
            result.inputs += 1
            started = time.perf_counter()
            check(value)
            spent = time.perf_counter() - started
            result.slowest_ms = round(max(result.slowest_ms, 1000 * spent), 1)
            assert spent < target.patience, f"{spent:.0f} s"

        while (spent := time.monotonic() - began) < seconds:
            number = first_seed + result.rounds
            result.rounds += 1
            if result.rounds % 20 == 1:
                say(f"{target.name}: seed {number}, {result.inputs:,} inputs, {spent:.0f} of {seconds:.0f} s")
            try:
                _round(target, attempt, number)
            except HypothesisException:
                raise
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                _note(result, error, number, last[0])
        result.seconds = round(time.monotonic() - began, 1)
    return result


def _beside(path: Path, results: list[Result]) -> dict[str, Any]:
    """Return the results by target, together with those of other targets in the file."""
    kept = json.loads(path.read_text(encoding="utf-8"))["targets"] if path.exists() else {}
    new = {each.target: to_builtins(each) for each in results}
    return {each.name: (kept | new)[each.name] for each in TARGETS if each.name in kept | new}


def _round(target: Target, attempt: Any, number: int) -> None:
    limits = settings(
        max_examples=ROUND,
        deadline=None,
        database=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.target, Phase.shrink),
    )
    seed(number)(limits(given(target.inputs)(attempt)))()


def _note(result: Result, error: Exception, number: int, value: Any) -> None:
    place = _place(error)
    if place not in [failure.place for failure in result.failures]:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        shown = repr(value)
        result.failures.append(Failure(place, said[:_SHOWN], number, shown[:_SHOWN]))
        say(f"FAILED {result.target}, seed {number}: {place}: {said[:200]}\n  {shown[:_SHOWN]}")


def _place(error: Exception) -> str:
    """Return the last line of qmd that raised the error."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/qmd/" in frame.filename or frame.filename.endswith("fuzz_targets.py")
    ]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "elsewhere"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Fuzzing of all readers of untrusted input.")
    parser.add_argument("--minutes", type=float, default=10.0, help="minutes of each target (10)")
    parser.add_argument("--targets", nargs="+", choices=[target.name for target in TARGETS])
    parser.add_argument(
        "--seed", type=int, default=random.randrange(1_000_000), help="seed of the first round (random)"
    )
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
