"""Generate `src/qmd/text/han.txt`: variants of Han characters, and the simplified ones they are folded to.

Source: the dictionaries TSCharacters.txt (traditional to simplified) and JPVariants.txt (traditional to
Japanese new forms) of OpenCC (Apache-2.0), as packaged in `opencc-python-reimplemented`.

    pip install opencc-python-reimplemented
    python tools/make_variants.py
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

TARGET = Path(__file__).parent.parent / "src" / "qmd" / "text" / "han.txt"


def pairs(path: Path) -> list[tuple[str, list[str]]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [(key, values.split()) for key, values in (line.split("\t") for line in lines if "\t" in line)]


def main() -> None:
    spec = importlib.util.find_spec("opencc")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install opencc-python-reimplemented")
    folder = Path(spec.origin).parent / "dictionary"
    # A traditional character may have several simplified forms, one of which is itself (乾 → 干, 乾). Use the
    # first, which is the most common. Texts and queries must only be folded in the same way.
    fold = {key: values[0] for key, values in pairs(folder / "TSCharacters.txt") if key != values[0]}
    for traditional, news in pairs(folder / "JPVariants.txt"):
        for new in news:
            simplified = fold.get(traditional, traditional)
            if new != simplified and new not in fold:
                fold[new] = simplified
    # Folding twice must be folding once.
    fold = {key: fold.get(value, value) for key, value in fold.items() if len(key) == 1}
    fold = {key: value for key, value in sorted(fold.items()) if key != value and len(value) == 1}
    variants, simplified = "".join(fold), "".join(fold.values())
    rows = [f"{variants[at : at + 50]} {simplified[at : at + 50]}\n" for at in range(0, len(variants), 50)]
    TARGET.write_text("".join(rows), encoding="utf-8")
    print(f"{len(fold)} characters")


if __name__ == "__main__":
    main()
