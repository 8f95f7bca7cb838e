"""Users of the command line, as `tests.edge.cli` has them."""

from __future__ import annotations

from tests.edge.cli.conftest import owner as owner
from tests.edge.cli.conftest import reader as reader
from tests.edge.cli.conftest import seer as seer
from tests.edge.cli.conftest import user as user
