"""The console script `qmd`, and `python -m qmd`."""

from __future__ import annotations

import sys

from qmd._version import __version__


def main() -> int:
    """Run the command line; returns the exit code."""
    if sys.argv[1:] in (["--version"], ["-v"]):
        # Asked by every installer and script: answered without importing anything.
        sys.stdout.write(f"qmd {__version__}\n")
        return 0
    from qmd.cli.app import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
