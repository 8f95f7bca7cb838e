"""Portable index files: one file for other machines, which is only read there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import yaml
from msgspec import Struct

from qmd.config.atomic import locked
from qmd.engine.access.rules import Rule
from qmd.engine.embedding.active_vectors import by_priority
from qmd.engine.parts import Part
from qmd.engine.requests import collections_of
from qmd.engine.upkeep.backup import index_name, now, target_path, written
from qmd.errors import ModelError, NotFoundError, UsageError
from qmd.features.portable import copying
from qmd.features.portable.store import PortableHead, PortableStore, seal
from qmd.store.sqlite import encryption
from qmd.store.sqlite.backup import discard
from qmd.store.sqlite.store import SqliteStore
from qmd.types import Collection, Config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qmd.engine.workspace import Workspace
    from qmd.store.values import VectorSet


class Portable(Struct, frozen=True):
    """A portable index file.

    Attributes:
        path: The file.
        documents: The number of documents in it.
        chunks: The number of their chunks with vectors.
        collections: The names of its collections.
        size: Its size in bytes.
        texts: Whether it contains the texts of the documents.
        embedder: The model that made the vectors; "" if there are none.
        encrypted: Whether it is encrypted.
    """

    path: str
    documents: int
    chunks: int
    collections: tuple[str, ...]
    size: int
    texts: bool
    embedder: str
    encrypted: bool


class ExportMethods(Part):
    """Export an index."""

    _rules: Mapping[str, Rule] = {"export": Rule(changes=True, action="copy the index")}

    def export(
        self,
        target: str | None,
        collections: Sequence[str] = (),
        *,
        texts: bool = True,
        passphrase: str | None = None,
        recipients: Sequence[str] = (),
        force: bool = False,
        on_progress: copying.OnProgress = lambda *_: None,
    ) -> Portable:
        """Write a portable index file, for `open_index_file` on any machine.

        It contains no paths, commands and models of this machine, and no cached answers. Of the vectors it
        has those that searches use.

        Args:
            target: A file or a folder; None as for `backup`.
            collections: The collections to copy; all, if none is named.
            texts: Whether to copy the texts of documents. Without them documents are found, but not shown;
                their words and the order of the words are still in the file, because they are its index.
            passphrase: Encrypt the file with this passphrase.
            recipients: Encrypt the file for these age recipients (`age1...`) or public SSH keys.
            force: Replace an existing file.
            on_progress: Called with (description, items copied, items in total).

        Raises:
            CollectionNotFoundError: If a collection does not exist.
            NotFoundError: If nothing of the collections is indexed.
            ConflictError: If the file exists and `force` is false.
            UsageError: If a recipient is invalid.
            StoreError: If the file cannot be written, or the extra `crypt` is needed and missing.
        """
        workspace = self._workspace
        if passphrase is not None and recipients:
            raise UsageError("a file is encrypted with a passphrase or for recipients, not both")
        if passphrase == "":
            raise UsageError("the passphrase is empty")
        encrypted = passphrase is not None or bool(recipients)
        if encrypted:
            encryption.check(recipients)
        config, store = workspace.config, workspace.store
        collections_of(config, collections)
        names = tuple(dict.fromkeys(collections)) or tuple(config.collections)
        scans = store.collections.last_scans()
        if not any(scans.get(name) for name in names):
            raise NotFoundError("nothing of these collections is indexed yet", "run 'qmd update'")
        name = f"{index_name(workspace.locations)}.qmd" + (".age" if encrypted else "")
        path = target_path(self._workspace, target, name, force=force)
        vectors = _vectors(workspace, config)
        portable = portable_part(config, names)
        with written(path) as temporary, _plain(workspace, temporary, encrypted) as plain:
            with closing(SqliteStore(plain)) as copy:
                sets = [] if vectors is None else [vectors]
                report = copying.copy(store, copy, portable, on_progress, vector_sets=sets, answers=False)
            has_vectors = vectors is not None and report.total_chunks > 0
            created = now().isoformat(timespec="seconds")
            mark = PortableHead(
                created, texts, *((vectors.name, vectors.fingerprint) if vectors and has_vectors else ())
            )
            on_progress("writing", 0, 0)
            seal(plain, mark, _yaml(portable), {name: scans.get(name) for name in names})
            PortableStore(plain).close()
            if encrypted:
                encryption.encrypt(plain, temporary, passphrase, recipients)
        size = os.path.getsize(path)
        chunks = report.total_chunks
        return Portable(path, report.total_documents, chunks, names, size, texts, mark.embedder, encrypted)


@contextmanager
def _plain(workspace: Workspace, temporary: str, encrypted: bool) -> Iterator[str]:
    """Yield the path of the file to make: `temporary`, or one to encrypt.

    The latter is in the folder of the index, which has these texts already. It is deleted at the end, or by
    the next export if the process is killed.
    """
    if not encrypted:
        yield temporary
        return
    with locked(f"{workspace.locations.index}.portable") as path:
        discard(path)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            yield path
        finally:
            discard(path)


def _vectors(workspace: Workspace, config: Config) -> VectorSet | None:
    """Return the vectors that searches use, which are the only ones that a portable file contains."""
    try:
        configured = workspace.models.fingerprint
    except ModelError:
        configured = ""  # the index may still have vectors of another model
    return next(iter(by_priority(workspace.store, config, configured)), None)


def portable_part(config: Config, names: Iterable[str], folder: str = "") -> Config:
    """Return the configuration for a portable file, with the folders of collections below `folder`.

    It names no folder, command, model or server of a machine.
    """
    collections = {
        name: Collection(
            name,
            os.path.join(folder, name),
            pattern=item.pattern,
            formats=item.formats,
            context=item.context,
            include_by_default=item.include_by_default,
            agents=item.agents,
            remote=item.remote,
            weight=item.weight,
            recency=item.recency,
            watch=False,
        )
        for name, item in ((name, config.collections[name]) for name in names)
    }
    return Config(
        "",
        "",
        collections,
        global_context=config.global_context,
        ranking=config.ranking,
        scores=config.scores,
        recency=config.recency,
        fold=config.fold,
        masks=config.masks,
    )


def _yaml(config: Config) -> str:
    """Return a `portable_part` as the text of an `index.yml`."""
    values: Mapping[str, Any] = {
        "collections": {name: _entry(item) for name, item in config.collections.items()},
        "global_context": config.global_context,
        "ranking": config.ranking,
        "scores": config.scores,
        "recency": config.recency,
        "fold": config.fold or None,
        "agents": {"mask": list(config.masks)} if config.masks else None,
    }
    return yaml.safe_dump(_stated(values), allow_unicode=True, sort_keys=False)


def _entry(collection: Collection) -> dict[str, Any]:
    return _stated(
        {
            "path": collection.name,
            "pattern": collection.pattern or None,
            "formats": list(collection.formats) or None,
            "context": {f"/{prefix}": text for prefix, text in collection.context.items()} or None,
            "includeByDefault": None if collection.include_by_default else False,
            "agents": None if collection.agents else False,
            "models": None if collection.remote else {"remote": "deny"},
            "weight": None if collection.weight == 1 else float(collection.weight),
            "recency": False if collection.recency == 0 else collection.recency,
        }
    )


def _stated(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
