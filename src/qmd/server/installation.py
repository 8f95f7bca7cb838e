"""The files of the package that a server runs from: another version may replace them meanwhile."""

from __future__ import annotations

import os

import anyio

from qmd.server.logs import client_logger
from qmd.types import Fingerprint

#: Seconds between two looks.
_SECONDS = 2.0

logger = client_logger(__name__)


async def replaced() -> None:
    """Return as soon as the package has been replaced or removed.

    Modules are imported on use, so from then on a server would mix two versions, or fail at each request.
    """
    first = _state()
    while _state() == first:
        await anyio.sleep(_SECONDS)
    logger.error("qmd has been replaced or removed while this server ran, so it ends: start it again")


def _state() -> Fingerprint | None:
    try:
        return Fingerprint.of(os.stat(__file__))
    except OSError:
        return None
