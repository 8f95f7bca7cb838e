"""XLM-RoBERTa's tokenizer (SentencePiece, unigram) for multilingual-e5-small, without its special tokens.

SentencePiece normalises with the rule `nmt_nfkc`: NFKC, but control characters vanish, zero-width and line
separators become spaces, and the full-width tilde stays. Words are then cut by the most probable
segmentation (Kudo 2018, https://arxiv.org/abs/1804.10959), each with a leading `▁`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokenizers import Encoding, Regex, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Engine

BOS, PAD, EOS, UNKNOWN = 0, 1, 2, 3

_SPACE = "▁"
_CONTROLS = r"[\x01-\x08\x0B\x0E-\x1F\x7F\x{8F}\x{9F}]"
_SPACES = r"[\t\n\x0C\r\x{1680}\x{200B}-\x{200F}\x{2028}\x{2029}\x{2581}\x{FEFF}\x{FFFD}]"
_TILDE, _TILDE_KEPT = "\uff5e", "\ufdd0"
_SURROGATES = re.compile("[\ud800-\udfff]")


class Tokenizer:
    """Texts to token ids and character spans. Safe to call from several threads.

    `pieces` and `scores` (log-probabilities) are by token id.
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        special = {BOS, PAD, EOS, UNKNOWN, len(pieces) - 1}
        # No text may spell a special token: `▁` inside a piece cannot be matched.
        vocabulary = [
            (f"{piece}{_SPACE}" if index in special else piece, score)
            for index, (piece, score) in enumerate(zip(pieces, scores, strict=True))
        ]
        self._space = pieces.index(_SPACE)
        self._engine = Engine(models.Unigram(vocabulary, unk_id=UNKNOWN, byte_fallback=False))
        self._engine.normalizer = normalizers.Sequence(
            [
                normalizers.Replace(Regex(_CONTROLS), ""),
                normalizers.Replace(Regex(_SPACES), " "),
                normalizers.Replace(_TILDE, _TILDE_KEPT),
                normalizers.NFKC(),
                normalizers.Replace(_TILDE_KEPT, _TILDE),
            ]
        )
        self._engine.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Metaspace()]
        )

    def ids(self, text: str) -> list[int]:
        """The token ids of `text`."""
        ids: list[int] = self._encode(text).ids
        return ids

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The character span of each token, in order; together they cover all but white space.

        A lone `▁` before a word has an empty span; tokens made of one character (`㍿`) share its span.
        """
        encoding = self._encode(text)
        spans: list[tuple[int, int]] = []
        for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if spans:
                spans[-1] = _extended(text, spans[-1], start)
            spans.append((start, start) if token == self._space else (start, end))
        if spans:
            spans[-1] = _extended(text, spans[-1], len(text))
        return spans

    def _encode(self, text: str) -> Encoding:
        return self._engine.encode(_SURROGATES.sub("\ufffd", text))


def _extended(text: str, span: tuple[int, int], limit: int) -> tuple[int, int]:
    """Take in what normalisation composed or dropped after the token, such as a combining accent."""
    start, end = span
    while start < end < limit and not text[end].isspace():
        end += 1
    return start, end
