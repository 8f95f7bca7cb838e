"""The doctor: looks at everything that a search depends on, and says how to mend what is wrong.

It changes nothing. A check that fails keeps only those from running that need what it looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from qmd.config.paths import Locations, cache_dir, locate
from qmd.engine.doctor import configuration, index_file, models, program
from qmd.engine.doctor.finding import Finding, Level, failed
from qmd.engine.index import beside_foreign
from qmd.engine.models.provider import ModelProvider
from qmd.engine.opening import address, at
from qmd.errors import QmdError
from qmd.store.base import OnStep

__all__ = ["Finding", "Level", "diagnose", "examine"]


def diagnose(
    name: str | None = None,
    *,
    store: str | None = None,
    environ: Mapping[str, str] | None = None,
    on_step: OnStep = lambda _: None,
) -> Iterator[Finding]:
    """Examine what a command with `--index name` and `--store store` would use, found as it finds it.

    Raises `UsageError` for a name that cannot be one, `ConfigError` where no home folder is known.
    """
    variables = os.environ if environ is None else environ
    return examine(at(locate(name, variables, os.getcwd()), store), variables, on_step)


def examine(
    locations: Locations, environ: Mapping[str, str], on_step: OnStep = lambda _: None
) -> Iterator[Finding]:
    """Look at everything, one finding after the other; `on_step` is told before what takes long."""
    yield from program.versions()
    yield from program.variables(environ)
    written = yield from configuration.read(locations.config)
    config = (yield from configuration.permitted(written, locations, environ)) if written else None
    if config is not None:
        yield from configuration.collections(config, on_step)
        yield from configuration.contexts(config)
    try:
        locations = beside_foreign(locations)
    except QmdError as error:
        yield failed("index", error)
        return
    url = address(locations, config) if config else locations.store
    if url is None:
        yield from index_file.space(locations.index)
    store = yield from index_file.opened(locations.index, url, environ)
    try:
        whole = (yield from index_file.contents(store, on_step)) if store else False
        settings = (yield from configuration.settings(config, environ)) if config else None
        if written and config and settings:
            cache = cache_dir(environ)
            roles = ModelProvider(settings, cache)
            embeds = yield from models.installed(settings, cache, roles, on_step)
            if store is not None and whole:
                yield from index_file.scans(store, config)
                yield from models.vectors(store, config, roles, embeds, on_step)
                yield from index_file.spare(store, written, roles, cache)
    finally:
        if store is not None:
            store.close()
