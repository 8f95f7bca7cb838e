"""The results that `report.py` reads, and the states of the code that they were measured with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from common import code_state, measured_parts

RESULTS = Path(__file__).resolve().parent / "results"


def load(name: str) -> dict[str, Any]:
    path = RESULTS / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def state(files: Sequence[Path] | None = None) -> str:
    """Say whether the results about quality were measured with one state of the code."""
    groups = states(files)
    if len(groups) == 1:
        [(code, _)] = groups.items()
        return f"All results about quality are of one state of the code (`{code}`)."
    said = "; ".join(f"`{code}`: {', '.join(names)}" for code, names in groups.items())
    return f"These results are of {len(groups)} states of the code: {said}."


def states(files: Sequence[Path] | None = None) -> dict[str, list[str]]:
    """Return the names of the results about quality by the digest of the code that was measured."""
    if files is None:
        kinds = ("quality-*", "peers-*", "passages", "calibration")
        files = [file for kind in kinds for file in sorted(RESULTS.glob(f"{kind}.json"))]
    groups: dict[str, list[str]] = {}
    for file in files:
        result = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(result, dict):  # not what others publish
            groups.setdefault(result["machine"].get("code", "unknown"), []).append(file.stem)
    return groups


def two_digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def outdated(files: Sequence[Path] | None = None) -> list[str]:
    """Return the names of results that are older than the last change of what they measure."""
    return [name for name, result in _measured(files) if result["machine"].get("code") != _now(name)]


def dates(files: Sequence[Path] | None = None) -> str:
    """Say when, of which version and commit, and beside which load results were measured."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, result in _measured(files):
        machine = result["machine"]
        state = f"version {machine['qmd']}" + (f", commit {machine['commit']}" if "commit" in machine else "")
        shown = f"{name} (load {machine['load']})" if "load" in machine else name
        groups.setdefault((machine["date"], state), []).append(shown)
    said = [f"- {date}, {state}: {', '.join(names)}" for (date, state), names in sorted(groups.items())]
    return "### Dates of the results\n\n" + "\n".join(said)


def _measured(files: Sequence[Path] | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(RESULTS.glob("*.json")) if files is None else files:
        result = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(result, dict):
            yield file.stem, result


def _now(name: str) -> str:
    """Return the digest of what a result measures. Raises `KeyError` if it has no row in `MEASURED`."""
    parts = measured_parts(name)
    if parts is None:
        raise KeyError(name)
    return code_state(parts)
