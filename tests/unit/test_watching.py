"""The pure functions of the watcher: debouncing, and detection of remote file systems."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, strategies as st

from qmd.engine.watching.notify import mount_type, network_type
from qmd.engine.watching.tree import Debounce

MOUNTS = r"""
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /home/ann/remote\040notes rw - nfs4 server:/notes rw
31 22 0:27 / /mnt rw - tmpfs none rw
32 31 0:28 / /mnt/s rw shared:2 master:1 - fuse.sshfs ann@host: rw
33 32 254:0 / /mnt/s/local rw - ext4 /dev/vdb rw
"""


def test_mount_type_returns_the_file_system_of_the_nearest_mount() -> None:
    assert mount_type("/home/ann/notes", MOUNTS) == "ext4"
    assert mount_type("/home/ann/remote notes/a/b", MOUNTS) == "nfs4"
    assert mount_type("/mnt/share", MOUNTS) == "tmpfs"
    assert mount_type("/mnt/s/x", MOUNTS) == "fuse.sshfs"
    assert mount_type("/mnt/s/local/x", MOUNTS) == "ext4"


def test_network_type_returns_network_file_systems(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / {tmp_path.resolve()}/n rw - nfs b rw\n")
    (tmp_path / "n").mkdir()
    assert network_type(str(tmp_path / "n"), str(mounts)) == "nfs"
    assert network_type(str(tmp_path), str(mounts)) is None
    assert network_type(str(tmp_path), str(tmp_path / "missing")) is None


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30))
def test_debounce_is_due_after_quiet_or_the_longest_time(pauses: list[float]) -> None:
    debounce = Debounce(2.0, 30.0)
    assert debounce.due is None
    now = first = 100.0
    debounce.touch(now)
    for pause in pauses:
        due = debounce.due
        assert due is not None and due <= first + 30.0
        now += pause
        if now >= due:
            debounce.clear()
            assert debounce.due is None
            first = now
        debounce.touch(now)
        assert debounce.due == min(now + 2.0, first + 30.0)


def test_debounce_delays_failed_work() -> None:
    debounce = Debounce(2.0, 30.0)
    debounce.delay(50.0)
    assert debounce.due == 50.0
    debounce.touch(10.0)
    debounce.clear()
    debounce.touch(10.0)
    debounce.delay(50.0)
    assert debounce.due == 50.0
