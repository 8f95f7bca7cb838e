"""Keys for a server: who may ask over HTTP, and what they may see (H7)."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from qmd.config.atomic import locked, replace_file
from qmd.config.index_yml import read_bytes
from qmd.config.paths import config_dir
from qmd.errors import ConfigError, ConflictError, NotFoundError, UsageError

#: What a key begins with, so that it is known for what it is wherever it turns up.
PREFIX = "qmd_"

#: Where the key that a request came with is in its ASGI scope.
IN_SCOPE = "qmd.key"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")

#: Size, time of change, inode.
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key: all but the key itself.

    `collections` are those it may see, None for all, whatever they will be called; `digest` is its SHA-256.
    That needs no salt and no slowness: there are 2^256 keys, so none can be found by trying, nor in a table.
    """

    name: str
    digest: str
    collections: tuple[str, ...] | None = None
    read_only: bool = False
    created: str = ""


class Keys:
    """The keys of one index, in the file at `path`, which holds those of all indexes of the user.

    All methods raise `ConfigError` for a file that is broken or cannot be used: then nobody is let in.
    """

    def __init__(self, path: str, index: str) -> None:
        self._path = path
        self._index = os.path.realpath(index)
        self._stamp: _Stamp | None = None
        self._known: tuple[Key, ...] = ()

    def all(self) -> tuple[Key, ...]:
        """The keys, oldest first. The file is read again where it has changed."""
        stamp = _stamp_of(self._path)
        if stamp != self._stamp or stamp is None:
            self._known = tuple(self._read(self._content()))
            self._stamp = stamp
        return self._known

    def any(self) -> bool:
        """Whether there are keys: then one is needed."""
        return bool(self.all())

    def find(self, token: str) -> Key | None:
        """The key that a client shows."""
        digest = _digest(token)
        found = None
        # All are compared, in constant time each: how long it takes tells nothing about any.
        for key in self.all():
            if hmac.compare_digest(key.digest, digest):
                found = key
        return found

    def add(self, name: str, collections: Sequence[str] = (), *, read_only: bool = False) -> str:
        """Make a key; returns it. Only its digest is kept, so it can never be shown again.

        Raises `UsageError` for what is no name, `ConflictError` for a name that is taken.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"not a name for a key: {name!r}",
                "use up to 64 letters, digits, '.', '_', '@' and '-', beginning with a letter or digit",
            )
        token = PREFIX + secrets.token_urlsafe(32)
        created = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        key = Key(name, _digest(token), tuple(dict.fromkeys(collections)) or None, read_only, created)

        def change(known: list[Key]) -> list[Key]:
            if any(each.name == name for each in known):
                raise ConflictError(f"there is a key called '{name}'", "remove that first, or choose another")
            return [*known, key]

        self._change(change)
        return token

    def remove(self, name: str) -> None:
        """Forget a key: from now on it lets nobody in. Raises `NotFoundError` where there is none."""

        def change(known: list[Key]) -> list[Key]:
            kept = [each for each in known if each.name != name]
            if len(kept) == len(known):
                names = ", ".join(each.name for each in known) or "none"
                raise NotFoundError(f"no key is called '{name}'", f"keys of this index: {names}")
            return kept

        self._change(change)

    def _change(self, change: Callable[[list[Key]], list[Key]]) -> None:
        import json

        with locked(self._path) as target:
            content = self._content()
            entries = {each.name: _entry(each) for each in change(list(self._read(content)))}
            indexes = {**content.get("indexes", {}), self._index: entries}
            # What else the file holds is another program's.
            data = json.dumps({**content, "indexes": indexes}, indent=2).encode() + b"\n"
            replace_file(target, data, private=True)

    def _content(self) -> dict[str, Any]:
        import json

        data = read_bytes(self._path)
        try:
            content = json.loads(data) if data.strip() else {}
        except (ValueError, RecursionError) as error:
            raise self._broken(f"not readable as JSON: {error}") from error
        if not isinstance(content, dict) or not isinstance(content.get("indexes", {}), dict):
            raise self._broken("not an object with 'indexes'")
        return content

    def _read(self, content: dict[str, Any]) -> list[Key]:
        entries = content.get("indexes", {}).get(self._index, {})
        if not isinstance(entries, dict):
            raise self._broken(f"the keys of {self._index} are not an object")
        return [self._key(name, entry) for name, entry in entries.items()]

    def _key(self, name: str, entry: object) -> Key:
        match entry:
            case {
                "sha256": str(digest),
                "collections": None | list() as collections,
                "read_only": bool(read_only),
                "created": str(created),
            } if _DIGEST.fullmatch(digest) and all(isinstance(each, str) for each in collections or ()):
                chosen = None if collections is None else tuple(collections)
                return Key(name, digest, chosen, read_only, created)
        raise self._broken(f"the key '{name}' is not as it was written")

    def _broken(self, reason: str) -> ConfigError:
        return ConfigError(f"{self._path}: {reason}.", "Mend the file; until then no key is accepted.")


def key_of(scope: Mapping[str, Any]) -> Key | None:
    """The key that a request came with, as `Access` left it in its ASGI scope."""
    key: Key | None = scope.get(IN_SCOPE)
    return key


def keys_path(environ: Mapping[str, str]) -> str:
    """The file of the user's keys; raises `ConfigError` where no home folder is known."""
    return os.path.join(config_dir(environ), "keys.json")


def _entry(key: Key) -> dict[str, Any]:
    return {
        "sha256": key.digest,
        "collections": None if key.collections is None else list(key.collections),
        "read_only": key.read_only,
        "created": key.created,
    }


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _stamp_of(path: str) -> _Stamp | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_size, state.st_mtime_ns, state.st_ino
