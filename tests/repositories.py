"""Repositories of git with commits of known dates."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Repository:
    """A repository. Its files and the user's configuration of git do not matter to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str, date: str = "2024-01-01T12:00:00Z", given: str = "") -> str:
        environ = os.environ | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
            **{f"GIT_{who}_NAME": "Ann Bee" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "ann@example.org" for who in ("AUTHOR", "COMMITTER")},
        }
        done = subprocess.run(
            ["git", *words],
            cwd=self.folder,
            env=environ,
            input=given,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def commit(self, date: str, subject: str, files: Mapping[str, str | bytes | None]) -> str:
        """Write files, or remove those that are None, and commit them; return the hash."""
        for name, text in files.items():
            path = self.folder / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject, date=date)
        return self.git("rev-parse", "HEAD").strip()

    def sign(self, name: str, text: str) -> None:
        """Commit a file with a signature that is not valid."""
        self.commit("2024-07-02T10:00:00Z", "Signed", {name: text})
        head, _, message = self.git("cat-file", "commit", "HEAD").partition("\n\n")
        signed = (
            f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n\n{message}"
        )
        self.git(
            "update-ref",
            "HEAD",
            self.git("hash-object", "-t", "commit", "-w", "--stdin", given=signed).strip(),
        )
