"""Texts that say nearly the same: pure, by samples of their words (min-wise hashing, Broder 1997)."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The smallest hashes of the runs of words of a text, in order.
Sample: TypeAlias = "NDArray[np.uint64]"

#: Two texts are twins from this share of common runs on.
LEAST = 0.6
#: Words of a run, hashes of a sample, and characters of a text that are read.
_RUN, _SIZE, _READ = 3, 64, 20_000
#: A run in more texts than these is of a form that they were made from, and says nothing of them. A text with
#: fewer other runs is not compared.
_COMMON, _FEWEST = 20, 8
#: Words, and characters of scripts without blanks between words.
_WORD = re.compile(
    r"[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]|[^\W_\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]+"
)
#: Odd factors that spread the bits of hashes.
_SPREAD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)


def words(text: str) -> list[str]:
    """Return the words of a text, folded, as far as it is read."""
    return _WORD.findall(text[:_READ].casefold())


def sample(words: list[str], hashes: dict[str, int]) -> Sample:
    """Return the sample of a text with these words. `hashes` keeps those of words for other texts."""
    known = [hashes.get(word) or hashes.setdefault(word, crc32(word.encode())) for word in words]
    values = np.array(known, np.uint64)
    runs = np.zeros(max(0, len(values) - _RUN + 1), np.uint64)
    for at, factor in enumerate(_SPREAD):
        runs = (runs ^ values[at : at + len(runs)]) * np.uint64(factor)
        runs ^= runs >> np.uint64(29)
    return np.unique(runs)[:_SIZE]


def twins(samples: Mapping[int, Sample]) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs of texts with the share of runs that they have in common, at least `LEAST`."""
    counts = Counter(run for found in samples.values() for run in found.tolist())
    common = np.array([run for run, number in counts.items() if number > _COMMON], np.uint64)
    own = {text: found[~np.isin(found, common)] for text, found in samples.items()}
    having: dict[int, list[int]] = defaultdict(list)
    for text, found in own.items():
        if len(found) < _FEWEST:
            continue
        shared: Counter[int] = Counter()
        for run in found.tolist():
            shared.update(having[run])
            having[run].append(text)
        for other, number in shared.items():
            # Samples of texts that differ in length have fewer in common than the texts.
            if number >= LEAST * min(len(found), len(own[other])) / 2:
                share = _share(found, own[other])
                if share >= LEAST:
                    yield other, text, share


def _share(one: Sample, other: Sample) -> float:
    union = np.union1d(one, other)[:_SIZE]
    both = np.intersect1d(one, other, assume_unique=True)
    return float(np.isin(union, both, assume_unique=True).mean()) if len(union) else 0.0
