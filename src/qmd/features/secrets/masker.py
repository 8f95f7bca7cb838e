"""Values that come from documents, with their secrets masked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from threading import Lock
from typing import Any

from msgspec.structs import replace

from qmd.features.secrets.detection import find, mask
from qmd.features.secrets.values import FoundSecret
from qmd.text.digest import sha256
from qmd.text.sessions import session_of
from qmd.text.values import Value
from qmd.types import Commit, Document, Link, SourceText, ValueCount

#: Texts whose secrets are remembered. Those of a clean text take no room.
_REMEMBERED = 20_000
#: Fields with times and sizes of files.
_OF_FILE = frozenset({"date", "modified", "size"})
#: Stands between values that are searched as one text. No secret goes on behind it.
_APART = "\n;\n"


class Masker:
    """Masks the secrets of texts, and of values that come from documents. Safe to share between threads.

    Args:
        more: Kinds of values that are masked on request besides, of `qmd.types.MASKS`.
    """

    def __init__(self, more: Collection[str] = ()) -> None:
        self._more = more
        self._found: OrderedDict[str, tuple[FoundSecret, ...]] = OrderedDict()
        self._lock = Lock()

    def find(self, text: str) -> list[FoundSecret]:
        """Return the secrets of a text, in order."""
        return find(text, self._more)

    def mask(self, text: str) -> str:
        """Return a text with the secrets masked."""
        return mask(text, self.find(text))

    def of_text(self, text: str) -> tuple[FoundSecret, ...]:
        """Return as `find`, and remember it by the hash of the text."""
        key = sha256(text.encode("utf-8", "surrogatepass"))
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        secrets = tuple(self.find(text))
        with self._lock:
            self._found[key] = secrets
            if len(self._found) > _REMEMBERED:
                self._found.popitem(last=False)
        return secrets

    def text(self, text: str) -> str:
        """Return as `mask`, for texts of documents, which are asked for again."""
        secrets = self.of_text(text)
        return mask(text, secrets) if secrets else text

    def names(self, names: Sequence[str]) -> list[str]:
        """Return short texts, masked. All are searched at once."""
        masked = self.mask(_APART.join(names))
        at = 0
        result = []
        for name in names:
            result.append(masked[at : at + len(name)])
            at += len(name) + len(_APART)
        return result

    def documents(self, documents: Sequence[Document]) -> list[Document]:
        """Return documents whose paths, titles and authors are masked."""
        names = [name for each in documents for name in (each.path, each.title, each.author)]
        masked = self.names(names)
        if masked == names:
            return list(documents)
        return [
            replace(each, path=masked[at], title=masked[at + 1], author=masked[at + 2])
            for each, at in zip(documents, range(0, len(masked), 3), strict=True)
        ]

    def values(self, field: str, values: Sequence[Value]) -> tuple[Value, ...]:
        """Return the values of a field, masked. Its name may say that they are secret."""
        end = len(field) + 2
        lines = self.names([f"{field}: {value}" for value in values])
        return tuple(
            value if line[end:] == str(value) else line[end:]
            for value, line in zip(values, lines, strict=True)
        )

    def fields_of(
        self, documents: Mapping[int, Mapping[str, Sequence[Value]]]
    ) -> dict[int, dict[str, tuple[Value, ...]]]:
        """Return the fields of documents, masked, without those whose names are secrets.

        All are searched at once, and equal ones once.
        """
        written = {
            f"{name}: {value}": len(name)
            for fields in documents.values()
            for name, values in fields.items()
            if name not in _OF_FILE
            for value in values
        }
        names, masked = set[str](), dict[str, str]()
        for (line, end), shown in zip(written.items(), self.names([*written]), strict=True):
            if line[:end] != shown[:end]:
                names.add(line[:end])
            elif line != shown:
                masked[line] = shown[end + 2 :]
        return {document: _shown(fields, names, masked) for document, fields in documents.items()}

    def counts(self, field: str, counts: Sequence[ValueCount]) -> list[ValueCount]:
        """Return the values of a field with their documents, masked. Values with the same mask are one."""
        merged: dict[Value, int] = {}
        for value, count in zip(self.values(field, [each.value for each in counts]), counts, strict=True):
            merged[value] = merged.get(value, 0) + count.documents
        return [ValueCount(value, documents) for value, documents in merged.items()]

    def links(self, links: Sequence[Link]) -> list[Link]:
        targets = self.names([part for link in links for part in (link.target, link.text)])
        return [
            link if (link.target, link.text) == (target, text) else replace(link, target=target, text=text)
            for link, target, text in zip(links, targets[::2], targets[1::2], strict=True)
        ]

    def commits(self, commits: Sequence[Commit]) -> list[Commit]:
        names = self.names([part for each in commits for part in (each.author, each.subject, each.path)])
        return [
            replace(each, author=author, subject=subject, path=path)
            for each, author, subject, path in zip(commits, names[::3], names[1::3], names[2::3], strict=True)
        ]

    def parts(self, value: Any) -> Any:
        """Return a value of JSON whose strings are masked, but not the names of members."""
        match value:
            case str():
                return self.mask(value)
            case list():
                return [self.parts(item) for item in value]
            case dict():
                return {name: self.parts(item) for name, item in value.items()}
        return value

    def source(self, source: SourceText) -> SourceText:
        """Return the text of a file, masked, without its fields and links."""
        (title,) = self.names([source.title])
        return replace(source, text=self.text(source.text), title=title, fields={}, links=())


def _shown(
    fields: Mapping[str, Sequence[Value]], names: Collection[str], masked: Mapping[str, str]
) -> dict[str, tuple[Value, ...]]:
    """Return the fields of a document without those with some names, and with the masked values by line."""
    shown = {name: tuple(values) for name, values in fields.items() if name not in names}
    session = session_of(fields) if masked else None
    for name, values in shown.items() if masked else ():
        # What resumes a session has the form of a token.
        if name != "session" or session is None or not session.resume:
            shown[name] = tuple(masked.get(f"{name}: {value}", value) for value in values)
    return shown


@cache
def masker_with(more: tuple[str, ...]) -> Masker:
    """Return the one masker of this process for some settings: a text has the same secrets in each index."""
    return Masker(more)
