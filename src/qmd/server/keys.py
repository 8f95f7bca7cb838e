"""API keys of a server: who may call it over HTTP, and which collections they may see."""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from qmd.config.atomic import locked, replace_file
from qmd.config.index_yml import read_bytes
from qmd.config.paths import config_dir
from qmd.errors import ConfigError, ConflictError, NotFoundError, UsageError
from qmd.text.digest import sha256

if TYPE_CHECKING:
    from qmd.engine.index import Index

#: The prefix of every key, by which scanners for leaked secrets can recognize it.
PREFIX = "qmd_"
#: The entry of a request's ASGI scope for its key.
SCOPE_KEY = "qmd.key"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")

#: Size, modification time and inode of the file.
_Stamp = tuple[int, int, int]


class Key(Struct, frozen=True):
    """An API key, without its secret.

    The digest is the SHA-256 of the secret. It needs no salt and no slow hash, because the secret has 256
    random bits. If `collections` is None, the key may see all collections, including future ones. The holder
    of a key for an `agent` gets no secrets, and no documents that are kept from agents.
    """

    name: str
    digest: str
    collections: tuple[str, ...] | None = None
    read_only: bool = False
    agent: bool = False
    created: str = ""  # ISO 8601 in UTC

    def index_of(self, index: Index) -> Index:
        """Return an index as the holder of the key may see it."""
        if self.collections is None and not self.read_only and not self.agent:
            return index
        return index.limited(self.collections, read_only=self.read_only, agent=self.agent, existing=False)


class Keys:
    """The keys of one index. The file at `path` has the keys of all indexes of the user.

    All methods raise `ConfigError` if the file is invalid or cannot be read. Then all keys are refused.
    """

    def __init__(self, path: str, index: str) -> None:
        self._path = path
        self._index = os.path.realpath(index)
        self._stamp: _Stamp | None = None
        self._cached: tuple[Key, ...] = ()

    def all(self) -> tuple[Key, ...]:
        """Return the keys, oldest first. The file is read again if it has changed."""
        stamp = _stamp_of(self._path)
        if stamp != self._stamp or stamp is None:
            self._cached = tuple(self._read(self._content()))
            self._stamp = stamp
        return self._cached

    def any(self) -> bool:
        return bool(self.all())

    def find(self, token: str) -> Key | None:
        digest = _digest(token)
        match = None
        # Compare all keys in constant time, so that the duration reveals nothing about them.
        for key in self.all():
            if hmac.compare_digest(key.digest, digest):
                match = key
        return match

    def add(
        self, name: str, collections: Sequence[str] = (), *, read_only: bool = False, agent: bool = False
    ) -> str:
        """Create a key and return its secret. Only the digest is stored, so the secret cannot be shown again.

        Without `collections` the key may see all.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"not a valid name for a key: {name!r}",
                "use up to 64 letters, digits, '.', '_', '@' and '-', beginning with a letter or digit",
            )
        token = PREFIX + secrets.token_urlsafe(32)
        created = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        key = Key(name, _digest(token), tuple(dict.fromkeys(collections)) or None, read_only, agent, created)

        with self._changing() as keys:
            if any(existing.name == name for existing in keys):
                raise ConflictError(f"a key named '{name}' exists", "remove it first, or choose another name")
            keys.append(key)
        return token

    def remove(self, name: str) -> None:
        with self._changing() as keys:
            names = [key.name for key in keys]
            if name not in names:
                raise NotFoundError(
                    f"no key is named '{name}'", f"keys of this index: {', '.join(names) or 'none'}"
                )
            del keys[names.index(name)]

    @contextmanager
    def _changing(self) -> Iterator[list[Key]]:
        """Yield the keys to change, and write them back."""
        with locked(self._path) as target:
            content = self._content()
            keys = self._read(content)
            yield keys
            indexes = {**content.get("indexes", {}), self._index: {key.name: _entry(key) for key in keys}}
            # Other entries of the file are kept, because a later version may need them.
            data = json.dumps({**content, "indexes": indexes}, indent=2).encode() + b"\n"
            replace_file(target, data, private=True)

    def _content(self) -> dict[str, Any]:
        data = read_bytes(self._path)
        try:
            content = json.loads(data) if data.strip() else {}
        except (ValueError, RecursionError) as error:
            raise self._invalid(f"not readable as JSON: {error}") from error
        if not isinstance(content, dict) or not isinstance(content.get("indexes", {}), dict):
            raise self._invalid("not an object with 'indexes'")
        return content

    def _read(self, content: dict[str, Any]) -> list[Key]:
        entries = content.get("indexes", {}).get(self._index, {})
        if not isinstance(entries, dict):
            raise self._invalid(f"the keys of {self._index} are not an object")
        return [self._key(name, entry) for name, entry in entries.items()]

    def _key(self, name: str, entry: object) -> Key:
        match entry:
            case {
                "sha256": str(digest),
                "collections": None | list() as collections,
                "read_only": bool(read_only),
                "created": str(created),
                **others,
            } if _DIGEST.fullmatch(digest) and all(isinstance(name, str) for name in collections or ()):
                visible = None if collections is None else tuple(collections)
                # Anything but "false" is a restriction.
                agent = others.get("agent", False) is not False
                return Key(name, digest, visible, read_only, agent, created)
        raise self._invalid(f"the entry of the key '{name}' is not valid")

    def _invalid(self, reason: str) -> ConfigError:
        return ConfigError(f"{self._path}: {reason}.", "repair the file; until then all keys are refused")


def key_of(scope: Mapping[str, Any]) -> Key | None:
    """Return the key of a request, which `Access` has put into its ASGI scope."""
    return cast("Key | None", scope.get(SCOPE_KEY))


def keys_path(environ: Mapping[str, str]) -> str:
    return os.path.join(config_dir(environ), "keys.json")


def _entry(key: Key) -> dict[str, Any]:
    return {
        "sha256": key.digest,
        "collections": None if key.collections is None else list(key.collections),
        "read_only": key.read_only,
        **({"agent": True} if key.agent else {}),
        "created": key.created,
    }


def _digest(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass"))


def _stamp_of(path: str) -> _Stamp | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ino
