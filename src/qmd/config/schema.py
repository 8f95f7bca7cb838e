"""The schema of `index.yml`: tobi/qmd's keys and additional ones, such as `ranking`, `encoding`, `store`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NoReturn, get_args

from qmd.config.contexts import normalise_prefix
from qmd.config.paths import resolve_folder
from qmd.config.settings import MAX_RAM_MB, MAX_THREADS
from qmd.config.validate import nfc, validate_collection_name, validate_encoding
from qmd.config.yaml_nodes import Entry, Mapping, Node, Scalar, Sequence, broken
from qmd.errors import UsageError
from qmd.types import DEFAULT_PATTERN, Collection, Config, Models, Ranking, UnknownKey

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
    """Convert a parsed document to a configuration.

    Args:
        root: the top node of the document; None if it is empty.
        path: the file, for error messages and relative folders.
        digest: the SHA-256 of the file.

    Raises:
        ConfigError: with `path:line: reason`, if a known key has an invalid value.
    """
    return _Reader(path).config(root, digest)


class _Fields:
    """The values of a mapping by key. A key is known if the reader has asked for it."""

    def __init__(self, entries: tuple[Entry, ...], prefix: str) -> None:
        self._entries = {entry.key.text: entry for entry in entries}
        self._prefix = prefix
        self._known: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def get(self, key: str) -> Node | None:
        self._known[key] = None
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def unknown(self) -> Iterator[UnknownKey]:
        for key, entry in self._entries.items():
            if key not in self._known:
                yield UnknownKey(entry.key.line, self._prefix + key, _nearest(key, self._known))


class _Reader:
    """Reads a configuration from a tree of nodes."""

    def __init__(self, path: str) -> None:
        self._path = path
        #: The mappings read so far, except those whose keys the user chooses.
        self._read: list[_Fields] = []

    def config(self, root: Node | None, file_digest: str) -> Config:
        config = self._config(root, file_digest)
        unknown = (key for fields in self._read for key in fields.unknown())
        return replace(config, unknown_keys=tuple(sorted(unknown, key=lambda key: key.line)))

    def _config(self, root: Node | None, file_digest: str) -> Config:
        top = self._mapping(root, "the file", prefix="")
        models = self._mapping(top.get("models"), "models")
        editor = next((name for name in _EDITOR_NAMES if name in top), _EDITOR_NAMES[0])
        return Config(
            path=self._path,
            digest=file_digest,
            collections=self._collections(top.get("collections")),
            global_context=self._text(top.get("global_context"), "global_context"),
            editor_uri=self._text(top.get(editor), editor),
            models=Models(
                embed=self._model(models.get("embed"), "models.embed"),
                rerank=self._model(models.get("rerank"), "models.rerank"),
                generate=self._model(models.get("generate"), "models.generate"),
                openai_api_key_file=self._key_file(models.get("openai_api_key_file")),
                threads=self._number(models.get("threads"), "models.threads", MAX_THREADS),
                max_ram_mb=self._number(models.get("max_ram_mb"), "models.max_ram_mb", MAX_RAM_MB),
            ),
            ranking=self._ranking(top.get("ranking")),
            archive=self._archive(top.get("archive")),
            store=self._text(top.get("store"), "store"),
        )

    def _collections(self, node: Node | None) -> dict[str, Collection]:
        collections: dict[str, Collection] = {}
        if isinstance(node, Mapping):
            for entry in node.entries:
                name = nfc(entry.key.text)
                try:
                    validate_collection_name(name)
                except UsageError as error:
                    raise broken(self._path, entry.key.line, f"collections: {error.message}") from error
                if name in collections:
                    self._fail(entry.key, f"duplicate key {name!r}")
                collections[name] = self._collection(name, entry.key, entry.value)
        else:
            self._mapping(node, "collections")
        return collections

    def _collection(self, name: str, key: Scalar, node: Node) -> Collection:
        key_path = f"collections.{name}"
        if not isinstance(node, Mapping):
            self._fail(key, f"{key_path} must be a mapping with a path")
        fields = self._mapping(node, key_path)
        folder = self._text(fields.get("path"), f"{key_path}.path")
        if folder is None:
            self._fail(fields.get("path") or key, f"{key_path}.path is required")
        if "\0" in folder:
            self._fail(fields.get("path") or key, f"{key_path}.path must not contain a NUL character")
        return Collection(
            name=name,
            path=resolve_folder(folder, self._path),
            pattern=self._text(fields.get("pattern"), f"{key_path}.pattern") or DEFAULT_PATTERN,
            ignore=self._ignore(fields.get("ignore"), f"{key_path}.ignore"),
            context=self._context(fields.get("context"), f"{key_path}.context"),
            update=self._text(fields.get("update"), f"{key_path}.update"),
            include_by_default=self._flag(fields.get("includeByDefault"), f"{key_path}.includeByDefault"),
            encoding=self._encoding(fields.get("encoding"), f"{key_path}.encoding"),
            remote=self._remote(fields.get("models"), f"{key_path}.models"),
        )

    def _model(self, node: Node | None, key_path: str) -> str | None:
        model = self._text(node, key_path)
        return None if model in WRITTEN_BY_TOBI else model

    def _key_file(self, node: Node | None) -> str | None:
        text = self._text(node, "models.openai_api_key_file")
        return None if text is None else resolve_folder(text, self._path)

    def _remote(self, node: Node | None, key_path: str) -> bool:
        """Return whether a collection's text may be sent to remote models: `remote: allow` or `deny`."""
        fields = self._mapping(node, key_path)
        for key in fields:
            if key != "remote":
                # An error, because a misspelt `remote: deny` would send the text.
                self._fail(fields.get(key), f"{key_path}: unknown key {key!r}; the only key is 'remote'")
        text = self._text(fields.get("remote"), f"{key_path}.remote") or "allow"
        if text not in ("allow", "deny"):
            self._fail(fields.get("remote"), f"{key_path}.remote must be allow or deny")
        return text == "allow"

    def _number(self, node: Node | None, key_path: str, highest: int) -> int | None:
        if node is None or _is_null(node):
            return None
        text = node.text if isinstance(node, Scalar) else ""
        # No limit has more than 10 digits.
        if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= highest):
            self._fail(node, f"{key_path} must be a whole number from 1 to {highest}")
        return int(text)

    def _ignore(self, node: Node | None, key_path: str) -> tuple[str, ...]:
        if isinstance(node, Sequence):
            return tuple(
                self._text(item, f"{key_path}[{number}]")
                or self._fail(item, f"{key_path}[{number}] is empty")
                for number, item in enumerate(node.items)
            )
        if isinstance(node, Mapping):
            self._fail(node, f"{key_path} must be a list of texts, or one text")
        text = self._text(node, key_path)
        return () if text is None else (text,)

    def _context(self, node: Node | None, key_path: str) -> dict[str, str]:
        if isinstance(node, Sequence):
            self._fail(node, f"{key_path} must be a mapping of folders to texts, or one text")
        if not isinstance(node, Mapping):
            text = self._text(node, key_path)
            return {} if text is None else {"": text}
        context: dict[str, str] = {}
        for entry in node.entries:
            prefix = normalise_prefix(entry.key.text)
            if prefix in context:
                self._fail(entry.key, f"{key_path} has two texts for {'/' + prefix!r}")
            text = self._text(entry.value, f"{key_path}[{entry.key.text!r}]")
            if text is not None:
                context[prefix] = text
        return context

    def _ranking(self, node: Node | None) -> Ranking | None:
        text = self._text(node, "ranking")
        choices: tuple[Ranking, ...] = get_args(Ranking)
        for choice in choices:
            if text == choice:
                return choice
        if node is not None and text is not None:
            self._fail(node, f"ranking must be {' or '.join(choices)}")
        return None

    def _archive(self, node: Node | None) -> str | None:
        folder = self._text(node, "archive")
        return None if folder is None else resolve_folder(folder, self._path)

    def _encoding(self, node: Node | None, key_path: str) -> str | None:
        name = self._text(node, key_path)
        if node is not None and name is not None:
            try:
                validate_encoding(name)
            except UsageError as error:
                raise broken(self._path, node.line, f"{key_path}: {error.message}") from error
        return name

    def _flag(self, node: Node | None, key_path: str) -> bool:
        if node is None or _is_null(node):
            return True
        if not isinstance(node, Scalar) or node.kind != "bool":
            self._fail(node, f"{key_path} must be true or false")
        return node.text.lower() == "true"

    def _text(self, node: Node | None, key_path: str) -> str | None:
        """Return the text of an optional value; None if it is absent, null or blank."""
        if node is None or _is_null(node):
            return None
        if not isinstance(node, Scalar):
            self._fail(node, f"{key_path} must be text")
        if node.kind != "text":
            self._fail(node, f"{key_path} must be text; put it in quotes")
        return node.text if node.text.strip() else None

    def _mapping(self, node: Node | None, key_path: str, *, prefix: str | None = None) -> _Fields:
        entries: tuple[Entry, ...] = ()
        if isinstance(node, Mapping):
            entries = node.entries
        elif node is not None and not _is_null(node):
            self._fail(node, f"{key_path} must be a mapping")
        fields = _Fields(entries, f"{key_path}." if prefix is None else prefix)
        self._read.append(fields)
        return fields

    def _fail(self, node: Node | None, reason: str) -> NoReturn:
        raise broken(self._path, 1 if node is None else node.line, reason)


def _nearest(key: str, known: Iterable[str]) -> str | None:
    """Return the known key most similar to `key`; None if none is similar."""
    # Imported on use, because most files have no unknown keys.
    from difflib import get_close_matches

    close = get_close_matches(key[:100], list(known), n=1)
    return close[0] if close else None


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind == "null"
