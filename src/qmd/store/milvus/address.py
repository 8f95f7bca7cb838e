"""Where a Milvus is: `milvus://host:port/database` for a server, `milvus:///file.db` for one of our own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from qmd.errors import ConfigError

SCHEMES = ("milvus", "milvus+tls")
_PORT = 19530
_SHAPES = "milvus://host:19530/database for a server, or milvus:///absolute/file.db for one of your own"
_CREDENTIALS = "set QMD_MILVUS_TOKEN, or QMD_MILVUS_USER and QMD_MILVUS_PASSWORD"


@dataclass(frozen=True, slots=True)
class Address:
    """A server (`uri`, `database`), or the file of a Milvus Lite that runs inside this program (`file`).

    `token` is the server's key, or `user:password`; it is in no message and no representation. `authority` is
    a file with the certificate of who vouches for the server, where the system does not know it.
    """

    url: str
    uri: str = ""
    database: str = ""
    file: str | None = None
    token: str = field(default="", repr=False)
    authority: str = ""


def parse(url: str, environ: Mapping[str, str]) -> Address:
    """Read an address; key and password come from the environment. Raises `ConfigError`."""
    try:
        parts = urlsplit(url)
        host, port, secret = parts.hostname, parts.port, parts.username or parts.password
    except ValueError as error:
        raise ConfigError(f"the store's address cannot be read: {error}", f"write {_SHAPES}") from error
    if secret is not None:
        raise ConfigError("a store's address holds no user and no password", _CREDENTIALS)
    if not parts.scheme:
        raise ConfigError(f"'{url}' is no address of a store", f"write {_SHAPES}")
    if parts.scheme not in SCHEMES:
        raise ConfigError(f"no kind of store is called '{parts.scheme}'", f"write {_SHAPES}")
    if parts.query or parts.fragment:
        raise ConfigError("a store's address ends with the database", f"write {_SHAPES}")
    path = unquote(parts.path)
    if host is None:
        return _embedded(url, path, parts.scheme)
    database = path.strip("/")
    if "/" in database:
        raise ConfigError(f"'{database}' is no name of a database", f"write {_SHAPES}")
    tls = parts.scheme == "milvus+tls" or environ.get("QMD_MILVUS_TLS", "").strip() == "1"
    address = f"[{host}]" if ":" in host else host
    return Address(
        url=f"{'milvus+tls' if tls else 'milvus'}://{address}:{port or _PORT}/{database}",
        uri=f"{'https' if tls else 'http'}://{address}:{port or _PORT}",
        database=database,
        token=_token(environ),
        authority=_authority(environ),
    )


def _embedded(url: str, path: str, scheme: str) -> Address:
    if scheme != "milvus" or not os.path.isabs(path) or not path.strip("/"):
        raise ConfigError(f"'{url}' names neither a server nor an absolute file", f"write {_SHAPES}")
    return Address(url=f"milvus://{path}", file=os.path.normpath(path))


def _authority(environ: Mapping[str, str]) -> str:
    file = environ.get("QMD_MILVUS_CA", "").strip()
    if file and not os.path.isfile(file):
        raise ConfigError(f"QMD_MILVUS_CA: there is no file {file}", "correct or unset QMD_MILVUS_CA")
    return file


def _token(environ: Mapping[str, str]) -> str:
    token = environ.get("QMD_MILVUS_TOKEN", "").strip()
    user, password = environ.get("QMD_MILVUS_USER", "").strip(), environ.get("QMD_MILVUS_PASSWORD", "")
    if token or not user:
        return token
    return f"{user}:{password}"
