"""The tokenizer built with the library `tokenizers`, for comparison."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokenizers import Regex, Tokenizer as Engine, models, normalizers, pre_tokenizers

_CONTROLS = r"[\x01-\x08\x0B\x0E-\x1F\x7F\x{8F}\x{9F}]"
_SPACES = r"[\t\n\x0C\r\x{1680}\x{200B}-\x{200F}\x{2028}\x{2029}\x{2581}\x{FEFF}\x{FFFD}]"
_SURROGATES = re.compile("[\ud800-\udfff]")


class Oracle:
    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        special = {0, 1, 2, 3, len(pieces) - 1}
        vocabulary = [
            (f"{piece}▁" if index in special else piece, score)
            for index, (piece, score) in enumerate(zip(pieces, scores, strict=True))
        ]
        self._engine = Engine(models.Unigram(vocabulary, unk_id=3, byte_fallback=False))
        self._engine.normalizer = normalizers.Sequence(
            [
                normalizers.Replace(Regex(_CONTROLS), ""),
                normalizers.Replace(Regex(_SPACES), " "),
                normalizers.Replace("\uff5e", "\ufdd0"),
                normalizers.NFKC(),
                normalizers.Replace("\ufdd0", "\uff5e"),
            ]
        )
        self._engine.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Metaspace()]
        )

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self._engine.encode(_SURROGATES.sub("\ufffd", text)).ids
        return ids
