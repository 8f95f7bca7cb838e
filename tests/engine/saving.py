"""The file operations of editors and other programs when they save, and two of these programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def in_place(file: Path, text: str) -> None:
    """Save like VS Code and Obsidian: truncate and write the file."""
    with file.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def vim(file: Path, text: str) -> None:
    """Save like vim with `backupcopy=no`: a probe, a renamed backup, a new file."""
    probe = file.with_name("4913")
    probe.touch()
    probe.unlink()
    swap = file.with_name(f".{file.name}.swp")
    swap.write_text("swap", encoding="utf-8")
    backup = file.with_name(f"{file.name}~")
    file.rename(backup)
    in_place(file, text)
    backup.unlink()
    swap.unlink()


def emacs(file: Path, text: str) -> None:
    """Save like emacs: a lock that is a broken link, an auto-save file, a backup, a new file."""
    lock = file.with_name(f".#{file.name}")
    lock.symlink_to("user@host.1234:5678")
    draft = file.with_name(f"#{file.name}#")
    draft.write_text(text, encoding="utf-8")
    file.rename(file.with_name(f"{file.name}~"))
    in_place(file, text)
    draft.unlink()
    lock.unlink()


def atomic(file: Path, text: str) -> None:
    """Save like gedit, Typora and sync programs: rename a temporary file."""
    temporary = file.with_name(f".goutputstream-{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)


def jetbrains(file: Path, text: str) -> None:
    """Save like JetBrains' editors: swap the new and the old file."""
    new, old = file.with_name(f"{file.name}___jb_tmp___"), file.with_name(f"{file.name}___jb_old___")
    new.write_text(text, encoding="utf-8")
    file.rename(old)
    new.rename(file)
    old.unlink()


def hard_link(file: Path, text: str) -> None:
    """Save like some mail and sync programs: link to a temporary file and delete that."""
    temporary = file.with_name("tmp")
    temporary.write_text(text, encoding="utf-8")
    file.unlink()
    file.hardlink_to(temporary)
    temporary.unlink()


def real_vim(file: Path, text: str) -> None:
    """Save with vim itself."""
    if shutil.which("vim") is None:
        pytest.skip("vim is not installed")
    script = ["-c", "%d", "-c", f"call setline(1, {text.split()!r})", "-c", "wq"]
    subprocess.run(["vim", "-u", "NONE", "-es", *script, str(file)], check=True, stdin=subprocess.DEVNULL)


def rsync(source: dict[str, str], root: Path) -> None:
    """Copy like `rsync -r --delete`: delete first, then rename a temporary file for each file."""
    for file in sorted(root.rglob("*"), reverse=True):
        inside = file.relative_to(root).as_posix()
        if file.is_file() and inside not in source:
            file.unlink()
        elif file.is_dir() and not any(name.startswith(f"{inside}/") for name in source):
            file.rmdir()
    for name, text in source.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.with_name(f".{file.name}.Xq3Zu9")
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(0o644)
        os.utime(temporary, (1_700_000_000, 1_700_000_000))
        temporary.replace(file)


def real_rsync(source: dict[str, str], root: Path) -> None:
    """Copy with rsync itself."""
    if shutil.which("rsync") is None:
        pytest.skip("rsync is not installed: see scripts/packages.sh")
    origin = root.with_name("origin")
    for name, text in source.items():
        file = origin / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    subprocess.run(["rsync", "-a", "--delete", f"{origin}/", f"{root}/"], check=True)
