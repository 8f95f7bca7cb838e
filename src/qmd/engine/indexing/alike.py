"""Folders that say nearly the same, such as two versions of a manual: each result stands there twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from shlex import quote
from typing import TypeAlias

from qmd.store.base import Store
from qmd.text.link_targets import file_title
from qmd.text.values import fold
from qmd.text.wording import visible
from qmd.types import Collection, Document

#: Two folders, and how many documents of the one have one in the other.
Alike: TypeAlias = tuple[str, str, int]
_Pair: TypeAlias = tuple[Document, Document]
#: Folders are alike if so many documents, and this share of the smaller folder, have the same names and
#: titles.
LEAST, _SHARE = 10, 0.8
#: More documents with one name and title have it from their form.
_SAME = 4
#: The pairs of documents whose texts are compared, and the share of their words that is the same.
_READ, _ALIKE = 8, 0.6
#: The most folders that are told.
_MOST = 3


def find_alike(store: Store, collection: str) -> tuple[Alike, ...]:
    """Return the folders of a collection that say nearly the same. It reads the list of all documents."""
    return tuple(
        (one, other, len(pairs))
        for (one, other), pairs in _folders(store.documents.listing(collection))[:_MOST]
        if _say_the_same(store, pairs[:: max(1, len(pairs) // _READ)][:_READ])
    )


def describe_alike(collection: Collection, found: Iterable[Alike]) -> Iterator[str]:
    """Yield a line for each two folders, with the command that leaves one out."""
    for one, other, count in found:
        ignored = " ".join(f"--ignore {quote(each)}" for each in (*collection.ignore, f"{other}/**"))
        yield (
            f"{visible(other)} says nearly the same as {visible(one) or 'the folder'} "
            f"({count:,} documents). To leave it out: qmd collection set {quote(collection.name)} {ignored}"
        )


def _folders(documents: Iterable[Document]) -> list[tuple[tuple[str, str], list[_Pair]]]:
    """Return the folders with documents of the same names and titles, those with most first."""
    named: dict[tuple[str, str], list[Document]] = defaultdict(list)
    inside: Counter[str] = Counter()
    for document in documents:
        named[file_title(document.path), fold(document.title)].append(document)
        parts = document.path.split("/")[:-1]
        inside.update("/".join(parts[:end]) for end in range(len(parts) + 1))
    found: dict[tuple[str, str], list[_Pair]] = defaultdict(list)
    for same in named.values():
        for pair in combinations(same, 2) if len(same) <= _SAME else ():
            found[_different(*pair)].append(pair)
    alike = [
        (folders, pairs)
        for folders, pairs in found.items()
        if len(pairs) >= max(LEAST, _SHARE * min(inside[folder] for folder in folders))
    ]
    return sorted(alike, key=lambda each: -len(each[1]))


def _different(one: Document, other: Document) -> tuple[str, str]:
    """Return the folders of two documents without the names at their ends that are the same."""
    ours, theirs = (each.path.split("/")[:-1] for each in (one, other))
    while ours and theirs and ours[-1] == theirs[-1]:
        ours.pop()
        theirs.pop()
    first, second = sorted(("/".join(ours), "/".join(theirs)), key=lambda folder: (folder.count("/"), folder))
    return first, second


def _say_the_same(store: Store, pairs: list[_Pair]) -> bool:
    """Tell whether most of some documents have most of their words in common."""
    texts = store.documents.texts([each.id for pair in pairs for each in pair])
    words = {key: {*text.casefold().split()} for key, text in texts.items()}
    shares = [
        len(words[one.id] & words[other.id]) / max(1, len(words[one.id] | words[other.id]))
        for one, other in pairs
    ]
    return sorted(shares)[len(shares) // 2] >= _ALIKE
