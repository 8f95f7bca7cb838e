"""The schema of `index.yml`: tobi/qmd's keys and additional ones, such as `ranking`, `encoding`, `store`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, cast

from msgspec import Struct

from qmd.config.contexts import normalise_prefix
from qmd.config.paths import resolve_folder
from qmd.config.settings import (
    CHOICES,
    MAX_RAM_MB,
    MAX_THREADS,
    RECENCY,
    WEIGHT,
    as_weight,
    as_whole_number,
)
from qmd.config.validate import (
    MAX_SYNONYMS,
    nfc,
    validate_collection_name,
    validate_encoding,
    validate_language,
    validate_synonyms,
)
from qmd.config.yaml_nodes import Node, YamlEntry, broken
from qmd.errors import UsageError
from qmd.text import dates
from qmd.text.predicates import field_name
from qmd.text.similar import nearest
from qmd.types import DEFAULT_PATTERN, Collection, Config, Hook, Mask, Models, Synonyms, UnknownKey
from qmd.types.states import STATE_KEYS, StateRole

#: tobi/qmd accepts all these spellings; the first that is present is used.
_EDITOR_NAMES = ("editor_uri", "editor_uri_template", "editorUri", "editor-uri")

#: Defaults that tobi/qmd writes into every file. They are not the user's choice, so they count as unset.
WRITTEN_BY_TOBI = frozenset(
    {
        "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
        "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
        "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
    }
)


def read_config(root: Node | None, path: str, digest: str) -> Config:
    """Convert the top node of the document at `path` to a configuration. `digest` is that of the file.

    Raises `ConfigError` with `path:line: reason`, if a known key has an invalid value.
    """
    if root is not None and root.kind not in ("mapping", "null"):
        raise broken(path, root.line, "the file must be a mapping")
    top = _Section(path, "", () if root is None else root.entries, [])
    models = top.section("models")
    editor = next((name for name in _EDITOR_NAMES if name in top.entries), _EDITOR_NAMES[0])
    return Config(
        path=path,
        digest=digest,
        collections=_collections(top),
        global_context=top.text("global_context"),
        editor_uri=top.text(editor),
        models=Models(
            embed=_model(models, "embed"),
            rerank=_model(models, "rerank"),
            generate=_model(models, "generate"),
            openai_api_key_file=models.file("openai_api_key_file"),
            threads=models.number("threads", MAX_THREADS),
            max_ram_mb=models.number("max_ram_mb", MAX_RAM_MB),
        ),
        hook=_hook(top.section("hook")),
        ranking=top.choice("ranking"),
        scores=top.choice("scores"),
        archive=top.file("archive"),
        store=top.text("store"),
        recency=_recency(top),
        fold=top.flag("fold", False),
        state=_state(top.section("state")),
        synonyms=_synonyms(top),
        masks=_masks(top.section("agents")),
        # Last, because a key is known once it has been read.
        unknown_keys=tuple(sorted(top.unknown_keys(), key=lambda key: key.line)),
    )


class _Section:
    """A mapping with keys that this module knows. A key is known if it has been read."""

    def __init__(
        self, path: str, prefix: str, entries: tuple[YamlEntry, ...], sections: list[_Section]
    ) -> None:
        self.path = path
        self.entries = {entry.key.text: entry for entry in entries}
        self._prefix = prefix  # of the names of keys in messages
        self._known: set[str] = set()
        self._sections = sections  # all sections of the file
        sections.append(self)

    def get(self, key: str) -> Node | None:
        """Return the value of a key; None if it is absent or null."""
        self._known.add(key)
        entry = self.entries.get(key)
        return None if entry is None or entry.value.kind == "null" else entry.value

    def fail(self, node: Node, reason: str) -> NoReturn:
        raise broken(self.path, node.line, self._prefix + reason)

    def mapping(self, key: str) -> tuple[YamlEntry, ...]:
        node = self.get(key)
        if node is None:
            return ()
        if node.kind != "mapping":
            self.fail(node, f"{key} must be a mapping")
        return node.entries

    def section(self, key: str) -> _Section:
        return self.inner(f"{key}.", self.mapping(key))

    def inner(self, prefix: str, entries: tuple[YamlEntry, ...]) -> _Section:
        return _Section(self.path, self._prefix + prefix, entries, self._sections)

    def text(self, key: str) -> str | None:
        """Return the text of an optional value; None if it is absent, null or blank."""
        return self.text_of(self.get(key), key)

    def text_of(self, node: Node | None, key: str) -> str | None:
        if node is None or node.kind == "null":
            return None
        if node.kind in ("list", "mapping"):
            self.fail(node, f"{key} must be text")
        if node.kind != "text":
            self.fail(node, f"{key} must be text; put it in quotes")
        return node.text if node.text.strip() else None

    def file(self, key: str) -> str | None:
        """Return the absolute path of a file or folder."""
        text = self.text(key)
        return None if text is None else resolve_folder(text, self.path)

    def choice(self, key: str) -> Any:
        """Return the value of a key in `CHOICES`; None if it is absent, null or blank."""
        text = self.text(key)
        if text is not None and text not in CHOICES[key]:
            self.fail(self.entries[key].value, f"{key} must be {' or '.join(CHOICES[key])}")
        return text

    def number(self, key: str, highest: int) -> int | None:
        node = self.get(key)
        if node is None:
            return None
        number = as_whole_number(node.text, 1, highest)
        return number or self.fail(node, f"{key} must be a whole number from 1 to {highest}")

    def flag(self, key: str, default: bool) -> bool:
        node = self.get(key)
        if node is not None and node.kind != "bool":
            self.fail(node, f"{key} must be true or false")
        return default if node is None else node.text.lower() == "true"

    def unknown_keys(self) -> Iterator[UnknownKey]:
        """Yield the keys of all sections that have not been read."""
        for section in self._sections:
            for key, entry in section.entries.items():
                if key not in section._known:
                    yield UnknownKey(entry.key.line, section._prefix + key, nearest(key, section._known))


def _model(models: _Section, role: str) -> str | None:
    model = models.text(role)
    return None if model in WRITTEN_BY_TOBI else model


def _collections(top: _Section) -> dict[str, Collection]:
    collections: dict[str, Collection] = {}
    for entry in top.mapping("collections"):
        key, name = entry.key, nfc(entry.key.text)
        try:
            validate_collection_name(name)
        except UsageError as error:
            top.fail(key, f"collections: {error.message}")
        if name in collections:
            top.fail(key, f"duplicate key {name!r}")
        if entry.value.kind != "mapping":
            top.fail(key, f"collections.{name} must be a mapping with a path")
        collections[name] = _collection(name, key, top.inner(f"collections.{name}.", entry.value.entries))
    return collections


def _collection(name: str, key: Node, section: _Section) -> Collection:
    stated = section.entries.get("path")
    at = key if stated is None else stated.value
    folder = section.text("path")
    if folder is None:
        section.fail(at, "path is required")
    if "\0" in folder:
        section.fail(at, "path must not contain a NUL character")
    values = {field: setting.read(section) for field, setting in SETTINGS.items()}
    values["pattern"] = values["pattern"] or ("" if values["formats"] else DEFAULT_PATTERN)
    return Collection(
        name=name,
        path=resolve_folder(folder, section.path),
        remote=_remote(section),
        **values,
    )


def _texts(section: _Section, key: str) -> tuple[str, ...]:
    """Return a list of texts, or one text as a list."""
    node = section.get(key)
    if node is not None and node.kind == "list":
        return tuple(
            section.text_of(item, f"{key}[{number}]") or section.fail(item, f"{key}[{number}] is empty")
            for number, item in enumerate(node.items)
        )
    if node is not None and node.kind == "mapping":
        section.fail(node, f"{key} must be a list of texts, or one text")
    text = section.text(key)
    return () if text is None else (text,)


def _context(section: _Section) -> dict[str, str]:
    node = section.get("context")
    if node is not None and node.kind == "list":
        section.fail(node, "context must be a mapping of folders to texts, or one text")
    if node is None or node.kind != "mapping":
        text = section.text("context")
        return {} if text is None else {"": text}
    context: dict[str, str] = {}
    for entry in node.entries:
        prefix = normalise_prefix(entry.key.text)
        if prefix in context:
            section.fail(entry.key, f"context has two texts for {'/' + prefix!r}")
        text = section.text_of(entry.value, f"context[{entry.key.text!r}]")
        if text is not None:
            context[prefix] = text
    return context


def _hook(section: _Section) -> Hook:
    node, threshold = section.get("threshold"), Hook().threshold
    if node is not None:
        if node.kind != "number" or not re.fullmatch(r"0|1|(0|1)?\.\d{1,10}", node.text, re.ASCII):
            section.fail(node, "threshold must be a number from 0 to 1")
        threshold = float(node.text)
    return Hook(threshold, _texts(section, "collections"))


def _state(section: _Section) -> dict[str, StateRole]:
    """Return more names of the fields that say the state of a document: `superseded_by: [ersetzt_durch]`."""
    return {field_name(name): role for key, role in STATE_KEYS.items() for name in _texts(section, key)}


def _masks(section: _Section) -> tuple[Mask, ...]:
    """Return the kinds of values that are masked for agents on request: `mask: [iban]`."""
    for key, entry in section.entries.items():
        if key != "mask":
            # An error, because a misspelt `mask` would show what it was to hide.
            section.fail(entry.value, f"{key} is unknown; the only key is 'mask'")
    names = _texts(section, "mask")
    for name in names:
        if name not in CHOICES["mask"]:
            section.fail(section.entries["mask"].value, f"mask must be {' or '.join(CHOICES['mask'])}")
    return cast("tuple[Mask, ...]", tuple(sorted({*names})))


def _synonyms(top: _Section) -> tuple[Synonyms, ...]:
    """Return words of the user's own: `k8s: kubernetes` both ways, `car: {finds: vehicle}` one way."""
    entries = top.mapping("synonyms")
    if len(entries) > MAX_SYNONYMS:
        top.fail(entries[MAX_SYNONYMS].key, f"synonyms has more than {MAX_SYNONYMS:,} entries")
    section = top.section("synonyms")
    found: list[Synonyms] = []
    for entry in entries:
        word, value = entry.key.text, section.get(entry.key.text)
        one_way = value is not None and value.kind == "mapping"
        inner = section.inner(f"{word}.", value.entries) if value and one_way else section
        others = _texts(inner, "finds" if one_way else word)
        try:
            found.append(validate_synonyms(word, others, one_way=one_way))
        except UsageError as error:
            top.fail(entry.key, f"synonyms: {error.message}")
    return tuple(found)


def _recency(section: _Section) -> float | None:
    """Return the half-life of scores in days; 0 if the date does not count, None if nothing is said."""
    node = section.get("recency")
    if node is None:
        return None
    if node.kind == "bool" and node.text.lower() == "false":
        return 0.0
    days = dates.days(node.text) if node.kind in ("number", "text") else None
    return days or section.fail(node, RECENCY)


def _checked(section: _Section, name: str, check: Callable[[str], None]) -> str | None:
    """Return a text that a function may refuse by a `UsageError`."""
    value = section.text(name)
    if value is not None:
        try:
            check(value)
        except UsageError as error:
            section.fail(section.entries[name].value, f"{name}: {error.message}")
    return value


def _remote(section: _Section) -> bool:
    """Return whether a collection's text may be sent to remote models: `remote: allow` or `deny`."""
    models = section.section("models")
    for key, entry in models.entries.items():
        if key != "remote":
            # An error, because a misspelt `remote: deny` would send the text.
            section.fail(entry.value, f"models: unknown key {key!r}; the only key is 'remote'")
    remote: str | None = models.choice("remote")
    return remote != "deny"


def _weight(section: _Section) -> float:
    node = section.get("weight")
    if node is None:
        return 1.0
    return as_weight(node.text if node.kind == "number" else "") or section.fail(node, WEIGHT)


def _checked_weight(weight: float) -> float:
    if as_weight(f"{weight:.10g}") is None:
        raise UsageError(WEIGHT, "a collection that should not be searched can be excluded")
    return float(weight)


def _checked_recency(days: float | None) -> float | None:
    if days and not 0 < days <= dates.MAX_DAYS:
        raise UsageError(RECENCY)
    return None if days is None else float(days)


def _valid(check: Callable[[str], None]) -> Callable[[str | None], str | None]:
    """Return a check of a text that another checks; "" is none."""

    def checked(value: str | None) -> str | None:
        if value:
            check(value)
        return value or None

    return checked


_FILES = "change what is indexed"  # A wider pattern could show files that were left out on purpose.


class Setting(Struct, frozen=True):
    """A setting of a collection.

    Attributes:
        key: Its key in the file.
        read: Returns its value in the section of a collection. Raises `ConfigError`.
        check: Returns a value as it is kept. Raises `UsageError`.
        write: Returns a value as it is written; None takes the key away.
        action: What callers whose permissions do not cover all collections may not do; None if they may.
    """

    key: str
    read: Callable[[_Section], Any]
    check: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], Any] = lambda value: value
    action: str | None = None


def _switch(key: str, default: bool, action: str | None = None) -> Setting:
    """Return a setting that is true or false, and written if it is not the default."""
    return Setting(
        key,
        lambda section: section.flag(key, default),
        bool,
        lambda value: None if value is default else value,
        action,
    )


def _list(key: str, check: Callable[[Any], Any]) -> Setting:
    """Return a setting that is a list of texts, about files."""
    return Setting(
        key, lambda section: check(_texts(section, key)), check, lambda value: [*value] or None, _FILES
    )


#: The settings of collections by the field of `Collection`, beside its path.
SETTINGS: Mapping[str, Setting] = {
    "pattern": Setting(
        "pattern", lambda section: section.text("pattern"), str.strip, lambda value: value or None, _FILES
    ),
    "formats": _list("formats", lambda names: tuple(name.strip().lower() for name in names)),
    "ignore": _list("ignore", tuple),
    "gitignore": _switch("gitignore", False, _FILES),
    "ocr": _switch("ocr", False, _FILES),
    "context": Setting(
        "context", _context, dict, lambda context: {"/" + at: context[at] for at in context} or None
    ),
    "update": Setting(
        "update",
        lambda section: section.text("update"),
        lambda command: command if command and command.strip() else None,
        action="set a command",  # It runs as the user, who sees everything.
    ),
    # A default that somebody has written stays written.
    "include_by_default": Setting(
        "includeByDefault", lambda section: section.flag("includeByDefault", True), bool
    ),
    "encoding": Setting(
        "encoding",
        lambda section: _checked(section, "encoding", validate_encoding),
        _valid(validate_encoding),
        action=_FILES,
    ),
    "language": Setting(
        "language",
        lambda section: _checked(section, "language", validate_language),
        _valid(validate_language),
        action=_FILES,
    ),
    "weight": Setting("weight", _weight, _checked_weight, lambda value: None if value == 1 else value),
    "recency": Setting("recency", _recency, _checked_recency, lambda value: False if value == 0 else value),
    "watch": _switch("watch", True),
    "embed": Setting("embed", lambda section: section.choice("embed")),
    "agents": _switch("agents", True, "decide what agents may have"),
}
