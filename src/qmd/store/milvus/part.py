"""What the parts of the Milvus store share: the client, the small values, and conditions on documents."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from qmd.errors import CollectionNotFoundError
from qmd.store.base import Scope, VectorSet
from qmd.store.milvus.client import Client, Reading, literal, quoted
from qmd.store.milvus.schema import MAX_TEXT, STATE
from qmd.store.records import now
from qmd.text.authorship import author_key

_COLLECTION = "collection:"
_EMBEDDER = "embedder:"
#: What was cut short, or is under way, is counted anew or looked for: `UNCOUNTED` one row a writer.
UNCOUNTED, LOOSE = "uncounted:", "loose"


class Part:
    """Base of the store's parts."""

    _client: Client

    def __init__(self) -> None:
        #: Tells this writer's marks and texts from those of others.
        self._writer = uuid.uuid4().hex

    # -- small values --------------------------------------------------------------------------------------

    def _state(self, key: str, reading: Reading = "fresh") -> str | None:
        rows = self._client.query(STATE, f"key == {quoted(key)}", ["value"], reading=reading)
        return str(rows[0]["value"]) if rows else None

    def _states(self, prefix: str, reading: Reading = "fresh") -> dict[str, str]:
        """Values whose keys begin so, under what is left of their keys."""
        where = f"key >= {quoted(prefix)} and key < {quoted(prefix + '~')}"
        rows = self._client.query(STATE, where, ["key", "value"], reading=reading)
        return {str(row["key"])[len(prefix) :]: str(row["value"]) for row in rows}

    def _set_states(self, values: dict[str, str]) -> None:
        moment = now()
        rows = [{"key": key, "value": value, "at": moment} for key, value in values.items()]
        # What does not fit is a copy of something: it is done without.
        self._client.put(STATE, [row for row in rows if len(row["value"].encode()) <= MAX_TEXT])

    def _forget_state(self, *keys: str) -> None:
        self._client.delete(STATE, f"key in {literal(keys)}")

    # -- collections and embedders -------------------------------------------------------------------------

    def _collections(self, reading: Reading = "fresh") -> dict[int, dict[str, Any]]:
        """Every collection by its number."""
        return {int(key): json.loads(value) for key, value in self._states(_COLLECTION, reading).items()}

    def _put_collection(self, identity: int, fields: dict[str, Any]) -> None:
        self._set_states({f"{_COLLECTION}{identity}": json.dumps(fields, ensure_ascii=False)})

    def _forget_collection(self, identity: int) -> None:
        self._forget_state(f"{_COLLECTION}{identity}")

    def _collection_id(self, name: str) -> int:
        for identity, fields in self._collections("strong").items():
            if fields["name"] == name:
                return identity
        raise CollectionNotFoundError(f"no such collection in the index: {name}", "run 'qmd index' first")

    def _embedders(self, reading: Reading = "fresh") -> dict[str, dict[str, Any]]:
        """The fields of `VectorSet`, and the dimension, of every embedder whose vectors are kept."""
        return {key: json.loads(value) for key, value in self._states(_EMBEDDER, reading).items()}

    def _put_embedder(self, made: VectorSet, dimension: int) -> None:
        text = json.dumps({**asdict(made), "dimension": dimension}, ensure_ascii=False)
        self._set_states({_EMBEDDER + made.fingerprint: text})

    def _forget_embedder(self, fingerprint: str) -> None:
        self._forget_state(_EMBEDDER + fingerprint)

    # -- conditions ----------------------------------------------------------------------------------------

    def _numbers(self, names: Iterable[str]) -> list[int]:
        """The numbers of collections, in order; those that were never indexed are left out."""
        known = {fields["name"]: identity for identity, fields in self._collections().items()}
        return sorted(known[name] for name in names if name in known)

    def _within(self, scope: Scope) -> str | None:
        """A scope as a condition on documents, and on their chunks; None where nothing can fulfil it."""
        collections = self._numbers(scope.collections)
        if not collections:
            return None
        conditions = ["live == true", f"collection in {literal(collections)}"]
        if scope.author is not None:
            conditions.append(f"author_folded == {quoted(author_key(scope.author))}")
        if scope.after is not None:
            conditions.append(f"date >= {quoted(scope.after)}")
        if scope.before is not None:
            conditions.append(f"date < {quoted(scope.before)}")
        return " and ".join(conditions)
