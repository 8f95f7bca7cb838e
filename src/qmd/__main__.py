"""The console script `qmd`, and `python -m qmd`."""

from __future__ import annotations

import gc
import os
import sys

from qmd._version import __version__


def main() -> int:
    """Run the command line; returns the exit code."""
    if sys.argv[1:] in (["--version"], ["-v"]):
        # Asked by every installer and script: answered without importing anything.
        try:
            os.write(1, f"qmd {__version__}\n".encode())
        except OSError:
            return 1
        return 0
    # Modules and documents are many objects and no garbage. With the default, looking for garbage among them
    # takes 5% of a search.
    gc.set_threshold(50_000)
    try:
        from qmd.cli.start import main as run

        run()
    except KeyboardInterrupt:  # before the program was loaded, or while it ended
        os.write(2, b"Interrupted.\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
