"""Contexts: texts that say what a folder of documents is about, from all collections down to one file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from qmd.config.validate import nfc
from qmd.errors import UsageError

if TYPE_CHECKING:
    from qmd.types import Config

SCHEME = "qmd://"


def context_for(config: Config, collection: str, path: str) -> str | None:
    """Every ancestor's text for `path` in `collection`, general to specific, joined by blank lines.

    `path` is relative to the collection. A prefix covers whole path segments: `talk` covers `talk` and
    `talk/x.md`, not `talks/x.md`.
    """
    texts = [config.global_context]
    found = config.collections.get(collection)
    if found is not None and found.context:
        prefix = normalise_prefix(path)
        ancestors = ["", *(prefix[: slash.start()] for slash in re.finditer("/", prefix)), prefix]
        texts += [found.context.get(ancestor) for ancestor in dict.fromkeys(ancestors)]
    return "\n\n".join(text for text in texts if text) or None


def list_contexts(config: Config) -> list[tuple[str, str]]:
    """All contexts as (URI, text): the global one, then a collection after the other, folders sorted."""
    rows = [(SCHEME, config.global_context)] if config.global_context else []
    for name, collection in config.collections.items():
        rows += [(context_uri(name, prefix), text) for prefix, text in sorted(collection.context.items())]
    return rows


def context_uri(collection: str | None, prefix: str) -> str:
    """The URI that `parse_context_target` reads back; only what would be decoded is encoded."""
    if collection is None:
        return SCHEME
    path = f"{collection}/{prefix}" if prefix else collection
    return SCHEME + re.sub(r"%(?=[0-9A-Fa-f]{2})", "%25", path)


def parse_context_target(text: str) -> tuple[str | None, str]:
    """(collection, prefix) that `/`, `qmd://`, `qmd://c` or `qmd://c/p` names; no collection means all.

    Raises `UsageError` for anything else, and for percent-encoding that is not UTF-8.
    """
    if text == "/":
        return None, ""
    if not text.startswith(SCHEME):
        raise UsageError(f"Not a context path: {text!r}.", "Use / for all, or qmd://collection/folder.")
    path = text.removeprefix(SCHEME)
    if "%" in path:
        # Imported on use: most targets hold nothing to decode.
        from urllib.parse import unquote

        try:
            path = unquote(path, errors="strict")
        except UnicodeDecodeError as error:
            raise UsageError(f"Percent-encoding that is not UTF-8: {text!r}.") from error
    collection, _, prefix = normalise_prefix(path).partition("/")
    return collection or None, prefix


def normalise_prefix(prefix: str) -> str:
    """`prefix` as contexts are keyed: relative, single slashes, "" for the whole collection."""
    return "/".join(segment for segment in nfc(prefix).split("/") if segment not in ("", "."))
