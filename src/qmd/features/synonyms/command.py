"""`synonyms`, with its commands."""

from __future__ import annotations

from qmd.cli import options
from qmd.cli.command import group
from qmd.cli.session import Session
from qmd.cli.show import show_listing
from qmd.cli.terminal import clean_name, say


@group("synonyms", acts_alone=True, agents=True)
@options.all_formats
def synonyms(session: Session, subcommand: str | None) -> None:
    """List the synonyms: words that find other words as well, which count less than the word itself.

    They are in index.yml, where 'k8s: kubernetes' goes both ways, and 'car: {finds: vehicle}' one way.

    Example:
      qmd synonyms
    """
    if subcommand is not None:
        return
    found = session.index.synonyms()
    rows = [{"words": each.words, "finds": each.others, "one_way": each.one_way} for each in found]
    lines = [
        f"{', '.join(each.words)} -> {', '.join(each.others)}" if each.one_way else ", ".join(each.words)
        for each in found
    ]
    nothing = "No word has synonyms: 'qmd synonyms add WORD OTHER' adds one."
    show_listing(
        "synonyms", "entry", ("words", "finds", "one_way"), rows, nothing, lines=map(clean_name, lines)
    )


@synonyms.command("add")
@options.argument("word", "WORD")
@options.argument("others", "OTHER...")
@options.flag("--one-way", help="A search for OTHER does not find WORD.")
def add(session: Session, word: str, others: tuple[str, ...], one_way: bool) -> None:
    """Let a search for WORD find OTHER as well, and the other way round. Quote several words.

    Examples:
      qmd synonyms add k8s kubernetes
      qmd synonyms add ml 'machine learning' 'maschinelles Lernen'
      qmd synonyms add car vehicle --one-way
    """
    session.index.add_synonyms(word, others, one_way=one_way)
    ways = "" if one_way else ", and the other way round"
    say(f"{clean_name(word)} also finds {clean_name(', '.join(others))}{ways}.")


@synonyms.command("remove")
@options.argument("word", "WORD")
def remove(session: Session, word: str) -> None:
    """Remove the synonyms of WORD.

    Example:
      qmd synonyms remove k8s
    """
    session.index.remove_synonyms(word)
    say(f"Removed the synonyms of {clean_name(word)}.")
