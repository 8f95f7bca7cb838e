"""Users of the command line, as `tests.edge.cli` has them."""

from __future__ import annotations

from tests.edge.cli.conftest import owner as owner, reader as reader, seer as seer, user as user
