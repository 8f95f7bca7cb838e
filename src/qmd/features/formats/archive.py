"""Zip files that hold documents (DOCX, PPTX, XLSX, EPUB): checked before a library opens them."""

from __future__ import annotations

import io
import zipfile
import zlib

from qmd.sources.formats.base import DAMAGED, ENCRYPTED, TOO_LARGE, Unreadable

#: The most members, and the most bytes of all members together and of one of them.
_MAX_MEMBERS, _MAX_BYTES, _MAX_MEMBER = 20_000, 500_000_000, 200_000_000
#: How the older files of Microsoft Office begin, and encrypted ones.
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")


def open_zip(data: bytes) -> zipfile.ZipFile:
    """Return an archive whose size is within limits.

    Raises:
        Unreadable: If it is damaged, encrypted or too large.
    """
    if data.startswith(OLE):
        if _ENCRYPTED_PACKAGE in data:
            raise Unreadable(ENCRYPTED)
        raise Unreadable(DAMAGED, "a file of an older program")
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise Unreadable(DAMAGED, "not a zip archive") from error
    members = archive.infolist()
    if any(member.flag_bits & 1 for member in members):
        raise Unreadable(ENCRYPTED)
    sizes = [member.file_size for member in members]
    if len(members) > _MAX_MEMBERS or sum(sizes) > _MAX_BYTES or max(sizes, default=0) > _MAX_MEMBER:
        raise Unreadable(TOO_LARGE, f"{sum(sizes) / 1e6:,.0f} MB unpacked")
    return archive


def read_member(archive: zipfile.ZipFile, path: str, limit: int = _MAX_MEMBER) -> bytes:
    """Return a member of an archive, whatever size its header states.

    Raises:
        KeyError: If it does not exist.
        Unreadable: If it is damaged or too large.
    """
    try:
        with archive.open(path) as member:
            data = member.read(limit + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError) as error:
        raise Unreadable(DAMAGED, f"{path}: {error}") from error
    if len(data) > limit:
        raise Unreadable(TOO_LARGE, f"{path}: more than {limit / 1e6:,.0f} MB unpacked")
    return data
