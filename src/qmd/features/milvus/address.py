"""Addresses of Milvus: `milvus://host:port/database` for a server, `milvus:///file.db` for Milvus Lite."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from qmd.errors import ConfigError
from qmd.types import Secret

_PORT = 19530
_SHAPES = "milvus://host:19530/database for a server, or milvus:///absolute/file.db for a local database"
_CREDENTIALS = "set QMD_MILVUS_TOKEN, or QMD_MILVUS_USER and QMD_MILVUS_PASSWORD"


class MilvusAddress(Struct, frozen=True):
    """The address of a server (`uri`, `database`) or of a Milvus Lite in this process (`file`).

    `token` is the API key of the server, or `user:password`. It appears in no message.
    `authority` is a file with the CA certificate of the server, if the system does not trust it already.
    """

    url: str
    uri: str = ""
    database: str = ""
    file: str | None = None
    token: Secret = Secret()
    authority: str = ""


def parse(url: str, environ: Mapping[str, str]) -> MilvusAddress:
    """Parse an address. The key or the password come from the environment.

    Raises:
        ConfigError: If the address is invalid.
    """
    try:
        parts = urlsplit(url)
        host, port, secret = parts.hostname, parts.port, parts.username or parts.password
    except ValueError as error:
        raise ConfigError(f"the store's address cannot be read: {error}", f"write {_SHAPES}") from error
    if secret is not None:
        raise ConfigError("the address of a store may not contain a user or a password", _CREDENTIALS)
    if parts.query or parts.fragment:
        raise ConfigError("the address of a store must end with the database", f"write {_SHAPES}")
    path = unquote(parts.path)
    if host is None:
        return _embedded(url, path, parts.scheme)
    database = path.strip("/")
    if "/" in database:
        raise ConfigError(f"'{database}' is not a valid database name", f"write {_SHAPES}")
    tls = parts.scheme == "milvus+tls" or environ.get("QMD_MILVUS_TLS", "").strip() == "1"
    address = f"[{host}]" if ":" in host else host
    return MilvusAddress(
        url=f"{'milvus+tls' if tls else 'milvus'}://{address}:{port or _PORT}/{database}",
        uri=f"{'https' if tls else 'http'}://{address}:{port or _PORT}",
        database=database,
        token=_token(environ),
        authority=_authority(environ),
    )


def _embedded(url: str, path: str, scheme: str) -> MilvusAddress:
    if scheme != "milvus" or not os.path.isabs(path) or not path.strip("/"):
        raise ConfigError(f"'{url}' is neither a server nor an absolute path", f"write {_SHAPES}")
    return MilvusAddress(url=f"milvus://{path}", file=os.path.normpath(path))


def _authority(environ: Mapping[str, str]) -> str:
    file = environ.get("QMD_MILVUS_CA", "").strip()
    if file and not os.path.isfile(file):
        raise ConfigError(f"QMD_MILVUS_CA: the file {file} does not exist", "correct or unset QMD_MILVUS_CA")
    return file


def _token(environ: Mapping[str, str]) -> Secret:
    token = environ.get("QMD_MILVUS_TOKEN", "").strip()
    user, password = environ.get("QMD_MILVUS_USER", "").strip(), environ.get("QMD_MILVUS_PASSWORD", "")
    if token or not user:
        return Secret(token)
    return Secret(f"{user}:{password}")
