"""Servers and their owners, as `tests.edge.http` has them."""

from __future__ import annotations

from tests.edge.http.conftest import owner as owner, server as server
