"""Write src/qmd/text/function_words.txt: words without a subject, by language.

    python tools/make_function_words.py STOPWORDS_ISO_JSON LICENSE

Both files are those of https://github.com/stopwords-iso/stopwords-iso (MIT). Words are folded. Those of
`stop_words.txt` are left out, because it has them already, and so are phrases and single letters.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from qmd.text import tokens
from qmd.text.languages import is_stop_word

TARGET = Path(__file__).parent.parent / "src/qmd/text/function_words.txt"
#: The languages of which the list holds function words, and hardly any others.
LANGUAGES = "ar bn ca cs da de el es fa fi fr he hi hu id it nl no pl pt ro ru sv tr uk".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("licence", type=Path)
    arguments = parser.parse_args()
    lists = json.loads(arguments.source.read_text(encoding="utf-8"))
    lines = [f"# {line}".rstrip() for line in arguments.licence.read_text(encoding="utf-8").splitlines()]
    for language in LANGUAGES:
        words = {tokens.fold(word) for word in lists[language] if len(tokens.words(word)) == 1}
        kept = sorted(word for word in words if len(word) > 1 and not is_stop_word(word, language))
        lines.append(" ".join([language, *kept]))
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"wrote {TARGET}: {len(LANGUAGES)} languages")


if __name__ == "__main__":
    main()
