"""Serve the index of qmd over MCP from an MCP bundle, and index the folders that the user has chosen."""

from __future__ import annotations

import subprocess
import sys

from qmd.__main__ import main


def index(folders: list[str]) -> None:
    """Add folders in the background, because the client waits for the server.

    A folder that is a collection already stays as it is.
    """
    for folder in folders:
        if folder and not folder.startswith("${"):  # a client that knows no such setting passes its name
            subprocess.Popen(
                [sys.executable, "-m", "qmd", "add", folder, "--quiet"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )


if __name__ == "__main__":
    index(sys.argv[1:])
    sys.argv[1:] = ["mcp"]
    sys.exit(main())
