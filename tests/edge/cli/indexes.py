"""Functions that change an index in ways no command does, and run the doctor."""

from __future__ import annotations

import json
from pathlib import Path

import apsw

from tests.users import User


def index_of(user: User) -> Path:
    return user.home / "cache" / "qmd" / "index.sqlite"


def config_of(user: User) -> Path:
    return user.home / "config" / "qmd" / "index.yml"


def change(user: User, *statements: str) -> None:
    """Execute SQL statements in the index."""
    connection = apsw.Connection(str(index_of(user)))
    for statement in statements:
        connection.execute(statement)
    connection.close()


def findings(user: User, *, code: int = 0, **environ: str) -> list[dict[str, str]]:
    result = user.invoke("doctor", "--json", **environ)
    assert result.exit_code == code, result.output
    found: list[dict[str, str]] = json.loads(result.stdout)
    return found
