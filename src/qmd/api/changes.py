"""The arguments of operations on the index, on collections and on contexts."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from qmd.api.arguments import NOT_BLANK, Name, Text, schema
from qmd.api.reading import Request
from qmd.config.validate import MAX_COLLECTION_NAME
from qmd.types import DEFAULT_PATTERN

_CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_SPACES = r" \xa0\u1680\u2000-\u200a\u202f\u205f\u3000"
#: The rule of `qmd.config.validate`.
_COLLECTION_NAME = rf"^[^./\\{_SPACES}{_CONTROLS}]([^/\\{_CONTROLS}]*[^/\\{_SPACES}{_CONTROLS}])?$"
NewCollectionName = Annotated[
    str, schema(minLength=1, maxLength=MAX_COLLECTION_NAME, pattern=_COLLECTION_NAME)
]
CollectionName = Annotated[str, Meta(description="The name of a collection.")]


class UpdateBody(Request):
    """With `pull`, run `git pull --ff-only` first in folders that are git work trees."""

    pull: bool = False


class NewCollection(Request):
    """A folder on the server's machine: an absolute path, or one that begins with `~`.

    `formats` are names such as `pdf`, or `all`. They select the files, unless there is a `glob_pattern`, too.
    """

    name: NewCollectionName
    path: Annotated[Name, schema(pattern="^[/~]")]
    glob_pattern: Annotated[Text, schema(default=DEFAULT_PATTERN)] | UnsetType = UNSET
    formats: tuple[Name, ...] = ()


class NewName(Request):
    """The new name of a collection."""

    name: CollectionName
    new_name: NewCollectionName


class ACollection(Request):
    """A collection."""

    name: CollectionName


class NewContext(Request):
    """A description of `/` (everything), `qmd://collection/folder`, or a folder of a collection on disk."""

    path: Annotated[Name, schema(minLength=1)]
    text: Annotated[str, schema(pattern=NOT_BLANK)]


class AContext(Request):
    """A context."""

    path: Annotated[str, Meta(description="As it was added, or as it is listed.")]
