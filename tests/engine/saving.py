"""How editors and other programs save files, call by call, and two of them themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def in_place(file: Path, text: str) -> None:
    """As VS Code and Obsidian save: the file is cut and written."""
    with file.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def vim(file: Path, text: str) -> None:
    """As vim saves with `backupcopy=no`: a probe, a renamed backup, a new file."""
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
    """As emacs saves: a lock that is a broken link, an auto-save file, a backup, a new file."""
    lock = file.with_name(f".#{file.name}")
    lock.symlink_to("user@host.1234:5678")
    draft = file.with_name(f"#{file.name}#")
    draft.write_text(text, encoding="utf-8")
    file.rename(file.with_name(f"{file.name}~"))
    in_place(file, text)
    draft.unlink()
    lock.unlink()


def atomic(file: Path, text: str) -> None:
    """As gedit, Typora and sync programs save: a temporary file gets the name."""
    temporary = file.with_name(f".goutputstream-{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)


def jetbrains(file: Path, text: str) -> None:
    """As JetBrains' editors save: new and old file change places."""
    new, old = file.with_name(f"{file.name}___jb_tmp___"), file.with_name(f"{file.name}___jb_old___")
    new.write_text(text, encoding="utf-8")
    file.rename(old)
    new.rename(file)
    old.unlink()


def hard_link(file: Path, text: str) -> None:
    """As some mail and sync programs save: a link to a temporary file, which then goes."""
    temporary = file.with_name("tmp")
    temporary.write_text(text, encoding="utf-8")
    file.unlink()
    file.hardlink_to(temporary)
    temporary.unlink()


def real_vim(file: Path, text: str) -> None:
    """The program itself."""
    if shutil.which("vim") is None:
        pytest.skip("vim is not installed")
    script = ["-c", "%d", "-c", f"call setline(1, {text.split()!r})", "-c", "wq"]
    subprocess.run(["vim", "-u", "NONE", "-es", *script, str(file)], check=True, stdin=subprocess.DEVNULL)


def rsync(source: dict[str, str], root: Path) -> None:
    """What `rsync -r --delete` calls: deletions first, each file under a temporary name, then renamed."""
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
    """The program itself."""
    if shutil.which("rsync") is None:
        pytest.skip("rsync is not installed: see scripts/packages.sh")
    origin = root.with_name("origin")
    for name, text in source.items():
        file = origin / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    subprocess.run(["rsync", "-a", "--delete", f"{origin}/", f"{root}/"], check=True)
