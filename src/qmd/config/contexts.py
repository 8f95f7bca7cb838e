"""Contexts: texts that describe a folder of documents, from all collections down to one file."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from msgspec.structs import replace

from qmd.config.validate import nfc
from qmd.errors import UsageError
from qmd.text.uris import SCHEME

if TYPE_CHECKING:
    from qmd.types import Config


def context_for(config: Config, collection: str, path: str) -> str | None:
    """Return the contexts of all parent folders of a document, general to specific, joined by blank lines.

    None if there are none. A prefix matches whole path segments: `talk` matches `talk` and `talk/x.md`, not
    `talks/x.md`.
    """
    texts = [config.global_context]
    settings = config.collections.get(collection)
    if settings is not None and settings.context:
        prefix = normalise_prefix(path)
        ancestors = ["", *(prefix[: slash.start()] for slash in re.finditer("/", prefix)), prefix]
        texts += [settings.context.get(ancestor) for ancestor in dict.fromkeys(ancestors)]
    return "\n\n".join(text for text in texts if text) or None


def list_contexts(config: Config) -> list[tuple[str, str]]:
    """Return all contexts as (URI, text): the global one, then by collection with the folders sorted."""
    rows = [(SCHEME, config.global_context)] if config.global_context else []
    for name, collection in config.collections.items():
        rows += [(context_uri(name, prefix), text) for prefix, text in sorted(collection.context.items())]
    return rows


def only(config: Config, uris: Container[str]) -> Config:
    """Return a configuration with the contexts of these addresses only."""
    collections = {
        name: replace(
            item,
            context={
                prefix: text for prefix, text in item.context.items() if context_uri(name, prefix) in uris
            },
        )
        for name, item in config.collections.items()
    }
    described = config.global_context if SCHEME in uris else None
    return replace(config, collections=collections, global_context=described)


def mapped(config: Config, change: Callable[[str], str]) -> Config:
    """Return a configuration with the texts of all contexts changed."""
    collections = {
        name: replace(item, context={prefix: change(text) for prefix, text in item.context.items()})
        for name, item in config.collections.items()
    }
    described = config.global_context and change(config.global_context)
    return replace(config, collections=collections, global_context=described)


def context_uri(collection: str | None, prefix: str) -> str:
    """Return the URI of a context, for `parse_context_target`. Only a `%` before hex digits is encoded."""
    if collection is None:
        return SCHEME
    path = f"{collection}/{prefix}" if prefix else collection
    return SCHEME + re.sub(r"%(?=[0-9A-Fa-f]{2})", "%25", path)


def parse_context_target(text: str) -> tuple[str | None, str]:
    """Parse `/`, `qmd://`, `qmd://collection` or `qmd://collection/prefix` to (collection, prefix).

    The collection is None for the global context. Raises `UsageError` if the text is no such address or its
    percent-encoding is not UTF-8.
    """
    if text == "/":
        return None, ""
    if not text.startswith(SCHEME):
        raise UsageError(
            f"Not a context path: {text!r}.", "use / for all collections, or qmd://collection/folder"
        )
    path = text.removeprefix(SCHEME)
    if "%" in path:
        # Imported on use, because few addresses are percent-encoded.
        from urllib.parse import unquote

        try:
            path = unquote(path, errors="strict")
        except UnicodeDecodeError as error:
            raise UsageError(f"The percent-encoding is not UTF-8: {text!r}.") from error
    collection, _, prefix = normalise_prefix(path).partition("/")
    return collection or None, prefix


def normalise_prefix(prefix: str) -> str:
    """Normalise a folder to a key of contexts: relative, single slashes, "" for the whole collection."""
    return "/".join(segment for segment in nfc(prefix).split("/") if segment not in ("", "."))
