"""Encryption of index files with age (https://age-encryption.org), by the package `pyrage`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NoReturn

from msgspec import Struct

from qmd.errors import StoreError, UsageError
from qmd.installation import install_command

_HEADER = b"age-encryption.org/v1\n"
#: Files with keys are small.
_MAX_IDENTITIES = 1_000_000


class EncryptionKey(Struct, frozen=True):
    """The key of a file: a passphrase, or a file of age identities or with a private SSH key."""

    passphrase: str | None = None
    identities: str | None = None


def no_key(path: str) -> NoReturn:
    """Refuse to decrypt a file, because there is no key."""
    if needs_passphrase(path):
        raise StoreError(f"{path} is encrypted with a passphrase", "set QMD_PASSPHRASE")
    raise StoreError(f"{path} is encrypted", "set QMD_IDENTITY to a file with your age identity or SSH key")


def is_encrypted(path: str) -> bool:
    """Return whether a file is encrypted with age."""
    with open(path, "rb") as file:
        return file.read(len(_HEADER)) == _HEADER


def needs_passphrase(path: str) -> bool:
    """Return whether an encrypted file was encrypted with a passphrase and not for recipients."""
    with open(path, "rb") as file:
        return file.read(len(_HEADER) + 10).endswith(b"-> scrypt ")


def check(recipients: Sequence[str]) -> None:
    """Raise `UsageError` if a recipient is not valid, or `StoreError` if files cannot be encrypted here."""
    for recipient in recipients:
        _recipient(recipient)
    _pyrage()


def encrypt(path: str, target: str, passphrase: str | None, recipients: Sequence[str]) -> None:
    """Write the encrypted content of `path` to `target`, for a passphrase or else for recipients."""
    pyrage = _pyrage()
    if passphrase is not None:
        with open(path, "rb") as source, open(target, "wb") as file:
            file.write(pyrage.passphrase.encrypt(source.read(), passphrase))
    else:
        pyrage.encrypt_file(path, target, [_recipient(recipient) for recipient in recipients])


def decrypt(path: str, key: EncryptionKey) -> bytes:
    """Return the decrypted content of a file. Raises `StoreError`."""
    pyrage = _pyrage()
    with open(path, "rb") as file:
        data = file.read()
    try:
        if key.identities is not None:
            decrypted = pyrage.decrypt(data, _identities(key.identities))
        else:
            decrypted = pyrage.passphrase.decrypt(data, key.passphrase or "")
    except pyrage.DecryptError as error:
        reason = "the passphrase is wrong" if key.identities is None else f"no key of {key.identities} fits"
        raise StoreError(f"{path} cannot be decrypted: {reason}, or the file is damaged") from error
    return bytes(decrypted)


def _recipient(text: str) -> Any:
    pyrage = _pyrage()
    kind = pyrage.ssh.Recipient if text.startswith("ssh-") else pyrage.x25519.Recipient
    try:
        return kind.from_str(text)
    except pyrage.RecipientError as error:
        raise UsageError(
            f"'{text[:80]}' is not an age recipient", "it begins with age1, or is a public SSH key"
        ) from error


def _identities(path: str) -> list[Any]:
    """Return the identities of a file: lines that begin with AGE-SECRET-KEY-1, or one private SSH key."""
    pyrage = _pyrage()
    path = os.path.expanduser(path)
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_IDENTITIES)
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}", "it is named by QMD_IDENTITY") from error
    try:
        if data.startswith(b"-----BEGIN"):
            return [pyrage.ssh.Identity.from_buffer(data)]
        lines = (line.strip() for line in data.decode("utf-8", "replace").splitlines())
        keys = [pyrage.x25519.Identity.from_str(line) for line in lines if line and not line.startswith("#")]
    except pyrage.IdentityError as error:
        raise StoreError(f"{path} contains no age identity: {error}", "'age-keygen' makes one") from error
    if not keys:
        raise StoreError(f"{path} contains no age identity", "'age-keygen' makes one")
    return keys


def _pyrage() -> Any:
    try:
        import pyrage
    except ImportError as error:
        raise StoreError("encrypted index files need the extra 'crypt'", install_command("crypt")) from error
    return pyrage
