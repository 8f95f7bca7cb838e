"""The options of searches, a row each, from which the interfaces are made.

The fields of `SearchRequest` have the same names and defaults, for type checkers; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from qmd.text.dates import MAX_DAYS

DEFAULT_LIMIT = 10
DEFAULT_CANDIDATES = 30
DEFAULT_TIMEOUT = 30.0
#: Length of a list of documents if the request has no limit.
ALL = 100_000
MAX_QUERY = 10_000
MAX_SEARCHES = 10
MAX_CANDIDATES = 1000
MAX_PASSAGES = 10
MAX_CONTEXT_LINES = 100
MAX_FACETS = 20

SearchKind = Literal["search", "vsearch", "query", "similar"]


class OptionValue:
    """The values of an option.

    Args:
        reader: How the command line reads one. A `condition` becomes a part of the filter of a request.
        default: The value if none is given.
        least: The least number, or the least length of a list.
        most: The highest number, or the greatest length of a text or a list.
        above: A number that it must exceed.
        words: The words that are allowed.
    """

    def __init__(
        self,
        reader: Literal["text", "words", "whole", "decimal", "days", "names", "flag", "condition"],
        default: Any = None,
        least: float | None = None,
        most: float | None = None,
        above: float | None = None,
        words: tuple[str, ...] = (),
    ) -> None:
        self.reader = reader
        self.default = default
        self.least = least
        self.most = most
        self.above = above
        self.words = words
        self.is_number = reader in ("whole", "decimal", "days")


class Option:
    """An option of searches.

    Args:
        spelling: How the command line spells it; for one that has no spelling there, its name.
        kinds: The kinds of searches that have it.
        section: The title below which the help shows it.
        value: Its values.
        about: What it means, for clients of HTTP and MCP.
        help: What it means, for people; "" if each command has its own text.
        complete: The function of `cli.candidates` that completes its values.
        in_address: What a condition means that the address of a request has once, and a body as a list.
    """

    def __init__(
        self,
        spelling: str,
        kinds: str,
        section: str,
        value: OptionValue,
        about: str,
        help: str = "",
        complete: str | None = None,
        in_address: str = "",
    ) -> None:
        spelled = spelling.partition("/")[0].rpartition(", ")[2].partition(" ")[0]
        #: The field of `SearchRequest`, or the part of its filter.
        self.name = spelled.removeprefix("--").removeprefix("no-").replace("-", "_")
        self.spelling = spelling
        self.kinds = kinds
        self.section = section
        self.value = value
        self.about = about
        self.help = help
        self.complete = complete
        self.in_address = in_address


_EVERY, _TYPED, _MEANING = "search vsearch query similar", "search vsearch query", "vsearch query"
_ON, _OFF, _OPEN = OptionValue("flag", True), OptionValue("flag", False), OptionValue("flag")
_ONE, _SEVERAL = OptionValue("condition"), OptionValue("condition", ())
_ROWS = (
    Option("query", _TYPED, "", OptionValue("text", "", most=MAX_QUERY), "What to find."),
    Option("-n, --limit N", _EVERY, "What", OptionValue("whole", DEFAULT_LIMIT, 1), "Most results."),
    Option(
        "--offset N",
        _EVERY,
        "What",
        OptionValue("whole", 0, 0, ALL),
        "Results to skip, for the next page.",
        "Skip the first N, which the pages before have shown.",
    ),
    Option(
        "--min-score F",
        _EVERY,
        "Filters",
        OptionValue("decimal", 0.0, 0, 1),
        "0 to 1; from 0.5 about the query.",
        "Leave out results with a score below F, from 0 to 1. From 0.5 a result is about the query; below "
        "0.3 it is about something else.",
    ),
    Option(
        "--author NAME",
        _EVERY,
        "Filters",
        _ONE,
        "Author's name.",
        "Only documents by this author: a word of the name, or all of it.",
        "authors",
    ),
    Option(
        "--after DATE",
        _EVERY,
        "Time",
        _ONE,
        "From 2024-06-30, 7d.",
        "Only documents from this date on: 2024-06, 7d, last-week, yesterday.",
        "dates",
    ),
    Option(
        "--before DATE",
        _EVERY,
        "Time",
        _ONE,
        "Before this date.",
        "Only documents from before this date.",
        "dates",
    ),
    Option(
        "--tag TAG",
        _EVERY,
        "Filters",
        _SEVERAL,
        "Only documents with these tags, or tags below them.",
        "Only documents with this tag, or one below it (may be repeated).",
        "tags",
        "Only documents with this tag, or one below it.",
    ),
    Option(
        "--path PATH",
        _EVERY,
        "Filters",
        _SEVERAL,
        "The beginning of the path in the collection, or a glob.",
        "Only documents whose path in the collection begins so, or matches this glob.",
        "inner_paths",
    ),
    Option(
        "--ext EXT",
        _EVERY,
        "Filters",
        _SEVERAL,
        "One of these suffixes of the file: md, pdf.",
        "Only documents whose file has this suffix, or one of several: md,pdf.",
        "suffixes",
        "A suffix of the file, or several with commas between them.",
    ),
    Option(
        "--lang LANG",
        _EVERY,
        "Filters",
        _SEVERAL,
        "One of these languages of the text: en, de.",
        "Only documents in this language, or one of several: de,fr.",
        "languages",
        "A language of the text, or several with commas between them.",
    ),
    Option(
        "--where CONDITION",
        _EVERY,
        "Filters",
        _SEVERAL,
        "Conditions on fields: status=draft, priority>=2, status.",
        "Only documents with this field: status=draft, 'priority>=2', status (may be repeated).",
        "conditions",
        "A condition on a field, such as status=draft.",
    ),
    Option(
        "--state S",
        _EVERY,
        "Filters",
        _SEVERAL,
        "One of these states: superseded, expired, deprecated, current ...",
        "Only documents in one of these states: superseded, expired, deprecated, archived, upcoming, draft, "
        "done, current.",
        in_address="A state, or several with commas between them.",
    ),
    Option(
        "--current",
        _EVERY,
        "Filters",
        _OFF,
        "Only documents that are current, as by state.",
        "Only documents that are current: short for --state current.",
    ),
    Option(
        "--filter JSON",
        _EVERY,
        "Filters",
        _ONE,
        "{field, operator, value} or {operator: and|or|not, operands}. Operators: eq ne in nin lt lte gt gte "
        "exists all contains contains_all starts ends like.",
        "Only documents that pass: filters as in a query, or JSON.",
        in_address="As in a query: tag:work -path:old/ [status:draft].",
    ),
    Option("--collections", _EVERY, "What", OptionValue("names", ()), "Only these collections."),
    Option(
        "searches",
        "query",
        "",
        OptionValue("names", (), 1, MAX_SEARCHES),
        "In place of query: lex words, vec a question, hyde an answer; the first counts most.",
    ),
    Option(
        "--intent TEXT",
        _MEANING,
        "Ranking",
        OptionValue("text", most=MAX_QUERY),
        "Your aim, to rank by.",
        "The purpose of the search; affects the ranking only.",
    ),
    Option(
        "-C, --candidate-limit N",
        "query",
        "Ranking",
        OptionValue("whole", DEFAULT_CANDIDATES, 1, MAX_CANDIDATES),
        "Results to rerank.",
        "Rerank the best N candidates.",
    ),
    Option("--no-rerank", "query", "Ranking", _ON, "Better order, slower.", "Skip the reranker; faster."),
    Option(
        "--no-expand",
        _MEANING,
        "Ranking",
        _ON,
        "Add variants of the query.",
        "Search for the query itself only, without variants.",
    ),
    Option(
        "--ranking R",
        "query",
        "Ranking",
        OptionValue("words", words=("contract", "tuned")),
        "How scores are combined, if not as configured.",
        "The way to rank: contract or tuned.  [default: the configured one]",
    ),
    Option(
        "--scores S",
        _TYPED,
        "Ranking",
        OptionValue("words", words=("calibrated", "raw")),
        "What scores mean: how likely the result is about the query, or the value that ranks it.",
        "What scores mean: how likely a result is about the query (calibrated), or the value that ranks it "
        "(raw).  [default: the configured one]",
    ),
    Option(
        "--explain",
        _EVERY,
        "Output",
        _OFF,
        "Give the scores of each step.",
        "Show how each result was ranked.",
    ),
    Option(
        "--full",
        _EVERY,
        "Output",
        _OFF,
        "Give the whole text of each document.",
        "Show whole documents instead of snippets.",
    ),
    Option(
        "--timeout S",
        _MEANING,
        "What",
        OptionValue("decimal", DEFAULT_TIMEOUT, above=0),
        "Seconds until the search answers with what it has.",
        "Stop after S seconds and show the results so far.",
    ),
    Option(
        "--passages N",
        _TYPED,
        "Output",
        OptionValue("whole", 1, 1, MAX_PASSAGES),
        "How many passages of each result are shown.",
        "Show the N best passages of each document.",
    ),
    Option(
        "--in-order",
        _TYPED,
        "Output",
        _OFF,
        "Show passages as in the document; otherwise the best is first.",
        "Show passages in the order of the document; otherwise the best is first.",
    ),
    Option(
        "--context-lines N",
        _EVERY,
        "Output",
        OptionValue("whole", None, 0, MAX_CONTEXT_LINES),
        "Lines around that of a passage; otherwise 300 characters.",
        "Show N lines before and after the line that matches.  [default: about 300 characters]",
    ),
    Option(
        "--facets F,F",
        _TYPED,
        "Output",
        OptionValue("names", (), most=MAX_FACETS),
        "Fields whose values are counted.",
        "Count the values of these fields in the matching documents: tag,author,year.",
        "facets",
    ),
    Option(
        "--recent/--no-recent",
        _TYPED,
        "Time",
        _OPEN,
        "Rank newer documents higher, if not as configured.",
        "Rank newer documents higher, by a half-life of 90 days or the configured one; or do not.",
    ),
    Option(
        "--half-life TIME",
        _TYPED,
        "Time",
        OptionValue("days", most=MAX_DAYS, above=0),
        "Days in which the weight of a date halves.",
        "Rank newer documents higher, by this half-life: 30d, 8w, 6m, 1y.",
    ),
    Option(
        "--sort S",
        _TYPED,
        "Ranking",
        OptionValue("words", "relevance", words=("relevance", "date")),
        "The order of the results.",
        "Order the results by relevance or date; search then finds the newest of all matches.",
    ),
    Option(
        "--fold/--no-fold",
        _EVERY,
        "Output",
        _OPEN,
        "Show documents with the same text once, if not as configured.",
        "Show documents with the same text as one result that names the others; or each.",
    ),
    Option(
        "--no-marks",
        _TYPED,
        "Ranking",
        _ON,
        "Whether the user's pins and marks count.",
        "Search without your pins and marks.",
    ),
    Option(
        "--tokens N",
        _EVERY,
        "Output",
        OptionValue("whole", None, 1),
        "Most tokens of the answer.",
        "Print an answer of at most N tokens of language models, and say what was left out.",
    ),
    Option(
        "--unlinked",
        "similar",
        "What",
        _OFF,
        "Leave out documents that it links to, or that link to it.",
        "Leave out documents that DOC links to, or that link to DOC.",
    ),
)
#: The options by name, in the order of the bodies of requests.
SEARCH_OPTIONS: Mapping[str, Option] = {option.name: option for option in _ROWS}
#: The conditions, which are made into the filter of a request.
CONDITIONS = tuple(
    name for name, option in SEARCH_OPTIONS.items() if option.value.reader == "condition" or name == "current"
)
#: Options that concern the form of hits, which a pack does not have.
OF_HITS = tuple("limit offset facets sort fold passages in_order context_lines scores explain full".split())


@cache
def names_of(kind: SearchKind) -> frozenset[str]:
    """Return the names of the options of a kind of search, beside the query."""
    return frozenset(name for name, option in SEARCH_OPTIONS.items() if kind in option.kinds.split()) - {
        "query"
    }
