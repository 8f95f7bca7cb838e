"""Estimate how long the missing vectors take."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct

from qmd.engine.models import egress
from qmd.engine.requests import collections_of
from qmd.engine.workspace import Workspace
from qmd.models.catalog import DEFAULTS
from qmd.models.registry import stable_name
from qmd.store.values import Scope

#: Processor seconds of the default model for a kilobyte of text; bench/README.md has the measurement.
_SECONDS_PER_KB = 0.16


class MissingVectors(Struct, frozen=True):
    """The number of texts without vectors, and about how many seconds `embed` takes; None if unknown."""

    texts: int
    seconds: float | None


def missing_vectors(workspace: Workspace, names: Sequence[str]) -> MissingVectors:
    """Count the texts of collections, all if none is named, without vectors by the configured model."""
    store, models, config = workspace.store, workspace.models, workspace.config
    collections = collections_of(config, names) if names else tuple(config.collections)
    scope = Scope(egress.allowed(collections, egress.local_only(config, models, "embed")))
    sizes = store.pending.sizes(models.fingerprint, scope)
    seconds = None
    if stable_name(workspace.settings.embed_model, "embed") == DEFAULTS["embed"].name:
        processors = workspace.settings.threads or os.cpu_count() or 1
        seconds = sum(sizes) / 1024 * _SECONDS_PER_KB / processors
    return MissingVectors(len(sizes), seconds)
