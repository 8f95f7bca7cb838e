"""File systems whose changes the operating system does not report, because other machines make them."""

from __future__ import annotations

import os
import re

_MOUNTS = "/proc/self/mountinfo"
_NETWORK = frozenset(
    """
    9p afs beegfs ceph cifs coda davfs drvfs fuse.ceph-fuse fuse.cifs fuse.davfs2 fuse.gcsfuse fuse.glusterfs
    fuse.grpcfuse fuse.gvfsd-fuse fuse.juicefs fuse.mergerfs fuse.osxfs fuse.portal fuse.rclone fuse.s3fs
    fuse.smbnetfs fuse.sshfs fuse.vmhgfs-fuse glusterfs gpfs lustre ncpfs nfs nfs4 orangefs prl_fs smb3 smbfs
    vboxsf virtiofs vmhgfs
    """.split()
)


def network_type(folder: str, mounts: str = _MOUNTS) -> str | None:
    """Return the type of the network file system that a folder is on; None if it is local or unknown.

    `mounts` is a file in the format of Linux's `/proc/self/mountinfo`.
    """
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            found = mount_type(os.path.realpath(folder), file.read())
    except OSError:
        return None
    return found if found in _NETWORK else None


def mount_type(path: str, mountinfo: str) -> str:
    """Return the type of the file system at an absolute path, from the text of a `mountinfo`."""
    best, found = -1, ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        # Of mounts at one point, the last one is visible.
        if inside and len(point) >= best:
            best, found = len(point), right.split()[0]
    return found
