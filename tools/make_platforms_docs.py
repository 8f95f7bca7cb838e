"""Make the tables of docs/platforms.md: whether all dependencies have wheels, by system and Python.

    python tools/make_platforms_docs.py [--measure | --check]

uv (0.9 or newer, `pip install uv`) resolves the dependencies in pyproject.toml as on each system, with their
markers, from wheels alone. `--measure` does so and keeps the result in tools/platforms.json, from which the
tables are made. `--check` also does so, and fails if something kept as installable is not installable any
more, or the reverse. Nothing is downloaded but metadata.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE, KEPT = ROOT / "docs" / "platforms.md", ROOT / "tools" / "platforms.json"
#: The systems, and what uv calls them. Those of Linux have glibc 2.28, of 2018, if they are not musl.
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux ARM64": "aarch64-manylinux_2_28",
    "macOS ARM64": "aarch64-apple-darwin",
    "macOS x86-64": "x86_64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
    "Windows ARM64": "aarch64-pc-windows-msvc",
    "Linux x86-64 with musl (Alpine)": "x86_64-unknown-linux-musl",
}
#: The oldest macOS that Apple maintained in 2026.
MACOS = "14.0"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
#: The Python for which optional dependencies are resolved, and the extras for users.
PYTHON = "3.13"
EXTRAS = ("code", "crypt", "formats", "llm", "milvus", "ocr", "pick", "server", "web")
#: The release that serves where the newest does not, in the output of uv.
_PINNED = re.compile(r"^([\w.-]+)==(\S+)$", re.MULTILINE)
_BEGIN, _END = "<!-- begin: tools/make_platforms_docs.py -->", "<!-- end -->"

Result = dict[str, Any]


def measure() -> Result:
    """Resolve the dependencies for all systems, and return what is missing and which releases are chosen."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core, optional = tables["dependencies"], tables["optional-dependencies"]
    jobs = [(system, python, "", core) for system in PLATFORMS for python in PYTHONS]
    jobs += [(system, PYTHON, extra, optional[extra]) for system in PLATFORMS for extra in EXTRAS]
    result: Result = {"core": {}, "extras": {}, "releases": {}}
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda job: _missing(job[0], job[1], job[3]), jobs)
        for (system, python, extra, _), (missing, releases) in zip(jobs, answers, strict=True):
            kind, name = ("extras", extra) if extra else ("core", python)
            result[kind].setdefault(system, {})[name] = missing
            if not extra and python == PYTHON:
                result["releases"][system] = releases
    return result


def _missing(system: str, python: str, requirements: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the requirements that cannot be installed from wheels, and the releases of those that can."""
    releases = _resolve(system, python, requirements)
    if releases is not None:
        return [], releases
    missing = [one for one in requirements if _resolve(system, python, [one]) is None]
    names = sorted(re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in missing)
    kept = [one for one in requirements if one not in missing]
    releases = _resolve(system, python, kept)
    if releases is None:
        sys.exit(f"{system}, Python {python}: all but {names} can be installed alone, but not together")
    return names, releases


def _resolve(system: str, python: str, requirements: Sequence[str]) -> dict[str, str] | None:
    """Return the releases that uv chooses; None if there are none."""
    options = (
        *("--only-binary", ":all:", "--no-header", "--no-annotate", "--quiet", "--no-config"),
        *(f"--python-version={python}", f"--python-platform={PLATFORMS[system]}"),
    )
    uv = shutil.which("uv") or sys.exit("uv is missing: pip install uv")
    done = subprocess.run(
        [uv, "pip", "compile", *options, "-"],
        input="\n".join(requirements),
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd="/",
        env=os.environ | {"MACOSX_DEPLOYMENT_TARGET": MACOS},
    )
    if done.returncode == 0:
        return dict(_PINNED.findall(done.stdout))
    if "No solution found" not in done.stderr:
        sys.exit(f"{system}, Python {python}: {done.stderr}")
    return None


def tables(result: Result) -> str:
    """Return the tables of the page."""
    lines = ["| system | " + " | ".join(f"Python {python}" for python in PYTHONS) + " |"]
    lines.append("|---" * (len(PYTHONS) + 1) + "|")
    for system, row in result["core"].items():
        lines.append(f"| {system} | " + " | ".join(_cell(row[python]) for python in PYTHONS) + " |")
    lines += ["", f"With Python {PYTHON}, the extras:", ""]
    lines += ["| system | " + " | ".join(f"`{extra}`" for extra in EXTRAS) + " |"]
    lines.append("|---" * (len(EXTRAS) + 1) + "|")
    for system, row in result["extras"].items():
        lines.append(f"| {system} | " + " | ".join(_cell(row[extra]) for extra in EXTRAS) + " |")
    if older := list(_older(result["releases"])):
        lines += ["", "Older releases serve where the newest has no wheel:", "", *older]
    return "\n".join(lines)


def _cell(missing: Sequence[str]) -> str:
    return f"no: {', '.join(missing)}" if missing else "yes"


def _older(releases: dict[str, dict[str, str]]) -> Iterator[str]:
    newest = releases[next(iter(PLATFORMS))]
    for system, found in releases.items():
        others = [
            f"{name} {release} instead of {newest[name]}"
            for name, release in found.items()
            if release != newest.get(name, release)
        ]
        if others:
            yield f"- {system}: {', '.join(others)}"


def page(text: str, result: Result) -> str:
    """Return the page with the tables of a result."""
    head, _, rest = text.partition(_BEGIN)
    return f"{head}{_BEGIN}\n\n{tables(result)}\n\n{_END}{rest.partition(_END)[2]}"


def kept() -> Result:
    result: Result = json.loads(KEPT.read_text(encoding="utf-8"))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--measure", action="store_true", help="resolve again, and keep the result")
    group.add_argument("--check", action="store_true", help="resolve again, and compare with what is kept")
    options = parser.parse_args()
    if options.check:
        now, before = measure(), kept()
        if any(now[kind] != before[kind] for kind in ("core", "extras")):
            sys.exit(f"changed:\n{tables(now)}")
        return
    if options.measure:
        text = json.dumps(measure(), indent=1, ensure_ascii=False)
        KEPT.write_text(text + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), kept()), encoding="utf-8")


if __name__ == "__main__":
    main()
