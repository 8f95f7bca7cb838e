"""Generated texts of `instructions.py`: the same on every machine. Nothing is read."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path

SEED = 20261122
#: The words between the others, which tell the language of a text.
_SMALL = (
    "the of and to in is that for it as with on be by this are or from at not have can when which".split()
)
_SYLLABLES = "ba con den fer gra hol in jus kel lo mar nor pel qui ros ser tam ur vin wex yar zen".split()
_ENDINGS = ("", "", "", "s", "ed", "ing", "er", "ation")
_COMMON = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所"
    "民得经十三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天政四日"
    "那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情者最立代想"
)
#: The time of the last change of all files.
_TIME = 1_750_000_000


class Writer:
    """Writes texts of random words, a few of which are frequent, as in any language."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        words = random.Random(SEED)
        self._words = sorted(
            {
                "".join(words.choices(_SYLLABLES, k=words.choice((1, 2, 2, 3)))) + words.choice(_ENDINGS)
                for _ in range(4_000)
            }
        )
        words.shuffle(self._words)
        self._pairs = ["".join(words.choices(_COMMON, k=2)) for _ in range(2_000)]
        self._frequency = [*itertools.accumulate(1 / (rank + 5) for rank in range(len(self._words)))]

    def words(self, count: int) -> list[str]:
        """Return words without those between them, the most frequent of which half of all texts have."""
        return self.chance.choices(self._words, cum_weights=self._frequency, k=count)

    def sentence(self) -> str:
        words = [
            word if self.chance.random() < 0.6 else self.chance.choice(_SMALL) for word in self.words(14)
        ]
        return " ".join(words).capitalize() + "."

    def sentences(self, count: int) -> str:
        return " ".join(self.sentence() for _ in range(count))

    def chinese(self, count: int) -> str:
        """Return sentences in Chinese."""
        pairs = self._frequency[: len(self._pairs)]
        return "".join(
            "".join(self.chance.choices(self._pairs, cum_weights=pairs, k=7))
            + "，"
            + "".join(self.chance.choices(self._pairs, cum_weights=pairs, k=6))
            + "。"
            for _ in range(count)
        )

    def title(self, level: int = 2) -> str:
        return f"{'#' * level} {' '.join(self.words(3)).capitalize()}"

    def fence(self) -> str:
        first, second, third, fourth = self.words(4)
        return (
            f"```python\ndef {first}_{second}({third}):\n    # {self.sentence()}\n"
            f'    return {third}["{fourth}"] + {self.chance.randrange(1000)}\n```'
        )

    def rows(self, count: int) -> str:
        """Return rows of a table."""
        return "\n".join(
            f"| {' | '.join(self.words(3))} | {self.chance.randrange(10_000)} |" for _ in range(count)
        )

    def table(self, count: int) -> str:
        return f"| {' | '.join(self.words(4))} |\n|---|---|---|---|\n{self.rows(count)}"

    def items(self, count: int) -> str:
        """Return items of a list, some of them nested, and some of them tasks."""
        marks = ("- ", "- ", "  - ", "- [ ] ", "- [x] ")
        return "\n".join(self.chance.choice(marks) + self.sentence() for _ in range(count))

    def link(self) -> str:
        first, second = self.words(2)
        forms = (
            f"[{first}](notes/{second}.md)", f"[[{second}|{first}]]", f"[[{second}#{first}]]", f"#{first}",
            f"[{first} {second}](https://example.com/{second}?q={first} \"{second}\")", f"`{second}`",
        )  # fmt: skip
        return f"{self.sentence()} {self.chance.choice(forms)}"

    def html(self) -> str:
        return (
            f'<div class="{self.words(1)[0]}"><p>{self.sentence()} <b>{self.words(1)[0]}</b> &amp; '
            f'<a href="{self.words(1)[0]}.html">{self.words(1)[0]}</a></p>\n<!-- {self.sentence()} --></div>'
        )

    def field(self, number: int) -> str:
        return f"{self.words(1)[0]}{number}: {' '.join(self.words(6))}"

    def front_matter(self) -> str:
        """Return what notes often begin with."""
        tags, year = ", ".join(self.words(3)), self.chance.randrange(2019, 2026)
        month, day = self.chance.randrange(1, 13), self.chance.randrange(1, 29)
        status = self.chance.choice(("draft", "review", "done"))
        return f"---\ntags: [{tags}]\nstatus: {status}\ndate: {year}-{month:02}-{day:02}\n---"


def _repeated(block: Callable[[Writer], str], between: str = "\n\n") -> Callable[[Writer, int], str]:
    """Return a function that repeats a block up to a number of bytes, below a title."""

    def text(writer: Writer, size: int) -> str:
        parts, length = [writer.title(1) + "\n"], 0
        while length < size:
            parts.append(block(writer))
            length += len(parts[-1].encode()) + len(between)
        return between.join(parts) + "\n"

    return text


def _fields(writer: Writer, size: int) -> str:
    lines, length = list[str](), 0
    while length < size:
        lines.append(writer.field(len(lines)))
        length += len(lines[-1]) + 1
    return "\n".join(["---", *lines, "---", writer.title(1), writer.sentence(), ""])


#: The kinds of text, each of as many bytes as one wants.
KINDS: Mapping[str, Callable[[Writer, int], str]] = {
    "prose": _repeated(lambda writer: writer.sentences(5)),
    "Chinese": _repeated(lambda writer: writer.chinese(4)),
    "table": _repeated(lambda writer: writer.rows(20), "\n"),
    "fences": _repeated(Writer.fence),
    "links": _repeated(Writer.link, "\n"),
    "headings": _repeated(
        lambda writer: f"{writer.title(writer.chance.randrange(2, 5))}\n\n{writer.sentence()}"
    ),
    "lists": _repeated(lambda writer: writer.items(20), "\n"),
    "HTML": _repeated(Writer.html, "\n"),
    "one line": _repeated(Writer.sentence, " "),
    "front matter": _fields,
}


def _note(writer: Writer) -> str:
    parts = [
        writer.front_matter(),
        writer.title(1),
        writer.sentences(4),
        "\n".join([writer.link(), writer.link()]),
    ]
    return "\n\n".join([*parts, writer.title(), writer.items(6)])


def _manual(writer: Writer) -> str:
    parts = [writer.title(1)]
    for _ in range(12):
        parts += [
            writer.title(writer.chance.choice((2, 3))),
            writer.sentences(8),
            writer.fence(),
            writer.html(),
        ]
        parts += [writer.table(5), writer.link(), writer.items(5)]
    return "\n\n".join(parts)


#: The documents of the rows, by folder: how many, and each.
_DOCUMENTS: Mapping[str, tuple[int, Callable[[Writer], str]]] = {
    "notes": (30, _note),
    "short": (30, lambda writer: f"{writer.title(1)}\n\n{writer.sentences(2)}"),
    "papers": (6, lambda writer: KINDS["prose"](writer, 12_000)),
    "manuals": (4, _manual),
    "chinese": (12, lambda writer: f"# {writer.chinese(1)[:8]}\n\n{writer.chinese(30)}"),
    "code": (8, lambda writer: KINDS["fences"](writer, 4_000)),
    "tables": (6, lambda writer: f"{writer.title(1)}\n\n{writer.table(60)}"),
    "large": (1, lambda writer: KINDS["prose"](writer, 40_000)),
}


def write(file: Path, text: str) -> None:
    """Write a file whose last change was long ago: the index reads files of the last seconds again."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")
    os.utime(file, (_TIME, _TIME))


def edit(file: Path) -> None:
    """Add a line to a file."""
    text = file.read_text(encoding="utf-8") + "\nEdited.\n"
    write(file, text)
    os.utime(file, (_TIME + 1_000, _TIME + 1_000))


def write_documents(folder: Path) -> None:
    """Write the documents of the rows: mixed, most of them short, about 300 kB."""
    writer = Writer(SEED)
    for name, (count, text) in _DOCUMENTS.items():
        for number in range(count):
            write(folder / name / f"{number}.md", text(writer))


def queries(count: int, words: int) -> list[str]:
    """Return queries of words that the documents have."""
    writer = Writer(SEED + 1)
    return [" ".join(writer.words(words)) for _ in range(count)]
