"""Names that somebody may have meant: suggestions for a name that does not exist."""

# difflib is imported on use: searches import this module, and few names are wrong.

from __future__ import annotations

from collections.abc import Collection, Iterable
from heapq import nlargest

#: A file name is similar if the matching characters are at least this share of both names.
_SIMILAR = 0.66
#: Names that are compared character by character: those that share the most pairs of characters.
_COMPARED = 200
#: Characters of a name that count; of a path those at its end. About as many as a file name can have.
_LONGEST = 300


def nearest(name: str, names: Collection[str]) -> str | None:
    """Return the most similar of some names; None if none is similar."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:_LONGEST], names, n=1)), None)


def did_you_mean(name: str, names: Collection[str]) -> str:
    """Return the question `did you mean 'notes'? ` with the most similar name; "" if none is similar."""
    close = nearest(name, names)
    return f"did you mean '{close}'? " if close else ""


def similar_paths(path: str, paths: Iterable[str], limit: int) -> tuple[str, ...]:
    """Return paths whose file names are similar to that of `path`, most similar first.

    Case and extensions such as `.md` do not count. Folders count as far as `path` has any. Takes about a
    quarter of a second for 100,000 paths.
    """
    path = path.lower()[-_LONGEST:]
    segments = path.count("/") + 1
    by_name: dict[str, list[str]] = {}
    for other in paths:
        by_name.setdefault(_stem(other.lower()), []).append(other)
    by_end: dict[str, list[str]] = {}
    for name, share in _most_similar(_stem(path), by_name):
        for other in by_name[name] if share >= _SIMILAR else ():
            by_end.setdefault("/".join(other.lower().split("/")[-segments:]), []).append(other)
    return tuple(other for end, _ in _most_similar(path, by_end) for other in by_end[end])[:limit]


def similarity(word: str, other: str) -> float:
    """Return the share of characters that two words have in common, in their order, 0..1."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, word, other, autojunk=False).ratio()


def _most_similar(name: str, names: Iterable[str]) -> list[tuple[str, float]]:
    """Return names, most similar first, and the share of matching characters in both, 0..1."""
    from difflib import SequenceMatcher

    marked = f"/{name}/"
    pairs = {marked[at : at + 2] for at in range(len(marked) - 1)}
    matcher = SequenceMatcher(b=name, autojunk=False)

    def share(other: str) -> float:
        matcher.set_seq1(other)
        return matcher.ratio()

    alike = nlargest(_COMPARED, names, key=lambda other: sum(map(f"/{other}/".__contains__, pairs)))
    return sorted(((other, share(other)) for other in alike), key=lambda pair: -pair[1])


def _stem(path: str) -> str:
    """Return the file name of a path without its extension."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name
