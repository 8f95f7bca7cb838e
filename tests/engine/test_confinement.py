"""The operations that the process which reads files is denied, tried by a forged library."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import qmd
from tests.conftest import Notes

#: Python's audit hooks would refuse some of these, but do not see calls through `libc`.
ATTEMPTS = {
    "truncate": "os.truncate(victim, 0)",
    "mkfifo": "os.mkfifo(victim + '.pipe')",
    "chown": "os.chown(victim, 1, 1)",
    "chmod": "libc('chmod', victim.encode(), 0)",
    "times": "os.utime(victim, (1, 1))",
    "attributes": "os.setxattr(victim, 'user.a', b'b')",
    "open": "libc('open', victim.encode(), os.O_WRONLY | os.O_TRUNC)",
    "unlink": "libc('unlink', victim.encode())",
    "rename": "libc('rename', victim.encode(), victim.encode() + b'.new')",
    "hard link": "libc('link', victim.encode(), victim.encode() + b'.link')",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "fork": "libc('fork')",
    "program": "libc('execv', b'/bin/true', (ctypes.c_char_p * 2)(b'/bin/true', None))",
    "signal": "libc('kill', os.getppid(), 0)",
    "owner of a descriptor": "libc('fcntl', 0, 8, os.getppid())",
    "signal of a descriptor": "libc('fcntl', 0, 10, 9)",
    "owner by a structure": "libc('fcntl', 0, 15, (ctypes.c_int * 2)(1, os.getppid()))",
    "lease": "libc('fcntl', 0, 1024, 0)",
    "seal": "libc('fcntl', 0, 1033, 0)",
    "trace": "libc('ptrace', 0, 0, 0, 0)",
    "memory": "libc('process_vm_readv', os.getppid(), None, 0, None, 0, 0)",
    "rings": "libc('syscall', 425, 1, None)",
    "limits": "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE)",
    "root": "os.chroot('/')",
    "namespace": "libc('unshare', 0x10000000)",
}
#: A library in place of the one that reads RTF. It runs the code in a file and returns the result as its
#: text.
LIBRARY = """
import ctypes, os, resource, socket, threading
def libc(function, *arguments):
    if getattr(ctypes.CDLL(None, use_errno=True), function)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), "by the system")
def thread():
    thread = threading.Thread(target=len, args=("",))
    thread.start()
    thread.join()
def rtf_to_text(source, errors):
    _, victim, code = source.split("\\n", 2)
    try:
        text = str(eval(code, globals() | {"victim": victim}))
    except OSError as error:
        text = f"refused: {error}"
    return text
"""


@pytest.fixture
def attempt(
    index: qmd.Index, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, str]], dict[str, str]]:
    """Run code by name in the process that reads files; return the results."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "striprtf").mkdir()
    (site / "striprtf" / "__init__.py").write_text("", encoding="utf-8")
    (site / "striprtf" / "striprtf.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)

    def run(codes: dict[str, str]) -> dict[str, str]:
        victim = tmp_path / "victim"
        folder = notes({f"{name}.rtf": f"{{\\rtf\n{victim}\n{code}" for name, code in codes.items()})
        assert index.add_collection(str(folder), "n", formats=["rtf"]).added == len(codes)
        return {name: index.get(f"n/{name}.rtf").text for name in codes}

    return run


@pytest.mark.skipif(sys.platform != "linux", reason="the system refuses calls on Linux")
def test_format_readers_cannot_write_or_connect(
    attempt: Callable[[dict[str, str]], dict[str, str]], tmp_path: Path
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    before = victim.stat()
    given = attempt(ATTEMPTS)
    assert {name: text for name, text in given.items() if "refused" not in text} == {}
    assert victim.stat() == before
    assert [path.name for path in tmp_path.glob("victim*")] == ["victim"]


def test_format_readers_get_no_secrets_and_may_use_threads(
    attempt: Callable[[dict[str, str]], dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QMD_OPENAI_API_KEY", "secret")
    given = attempt({"environment": "' '.join(os.environ)", "thread": "thread()", "folder": "os.getcwd()"})
    names = {"HOME", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE", "LC_CTYPE"}
    assert set(given["environment"].split()) <= names
    assert (given["thread"].strip(), given["folder"].strip()) == ("None", "/")


@pytest.mark.skipif(sys.platform != "linux", reason="the system refuses calls on Linux")
def test_doctor_reports_the_confinement_of_format_readers(index: qmd.Index) -> None:
    (finding,) = [each for each in index.doctor() if each.check == "readers"]
    assert (finding.level, finding.hint) == ("ok", None)
    assert "the system lets" in finding.message
