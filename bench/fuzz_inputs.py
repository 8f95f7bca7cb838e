"""Inputs for the targets of `fuzz_targets.py`, as hypothesis strategies."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

# -- texts ---------------------------------------------------------------------------------------------------

LINES = (
    "---", "...", "===", "title: Of the front", 'title: "quoted \\" title"', "title: >", "  folded",
    "tags: [a, b]",
    "# One", "###### Six # {#id}", "####### Seven", "Setext", "- item", "3. item", "> quote", "", "",
    "   ", "\t",
    "```", "~~~ py", "`````", "<!--", "-->", "* * *", "[[link|shown]] ![[image]] [a](b(c))",
    "**bold `code` _x_**",
    "word", "one two three four", "    code", "数据库。検索", "e\u0301 👩‍👧", "x" * 60,
    "#+TITLE: Org", "* Headline",
    "\x0c", "\u2028", "\u202e", "\ufeff", "\x00", "\x85", "| a | b |", "&amp;", "\\# no",
    "*" * 30, "[" * 30, "_a" * 15,
)  # fmt: skip
_LINE = st.one_of(st.sampled_from(LINES), st.sampled_from(LINES), st.text(max_size=40))
_CODE = st.integers(0, 12).map(lambda count: "```py\n" + "x = 1\n" * count + "```")
_ENDS = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
TEXTS = st.tuples(_ENDS, st.lists(st.one_of(_LINE, _LINE, _CODE), max_size=60)).map(lambda t: t[0].join(t[1]))

_CHARSETS = (
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-be",
    "utf-32",
    "gb18030",
    "cp1252",
    "shift_jis",
    "koi8_r",
)


@st.composite
def encoded(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> bytes:
    """Draw a text in some charset, often with some bytes changed, or arbitrary bytes."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=300))
    data = draw(texts).encode(draw(st.sampled_from(_CHARSETS)), "replace")
    for _ in range(draw(st.sampled_from([0, 0, 1, 3]))):
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(max_size=3)) + data[at + draw(st.integers(0, 8)) :]
    return data


# -- Markdown files ------------------------------------------------------------------------------------------

NAMES = ("a.md", "Notes.md", ".md", "a.org", "run.py", "no suffix", "\u202e.md", "a\nb.md")
ENCODINGS = (None, None, "gb18030", "utf-16", "no such charset", "base64", "idna", "punycode", "\0")


# -- chunkings -----------------------------------------------------------------------------------------------

# Words; pieces that include a space; characters; words after an empty token.
_TOKENIZERS = (r"\w+|[^\w\s]", r"\s?\w{1,3}|\s?[^\w\s]", r"(?s:.)", r"\b(?=\w)|\w+|[^\w\s]")


@st.composite
def chunkings(draw: st.DrawFn) -> tuple[str, str | None, int, int, int, int]:
    text = draw(TEXTS).replace("\r\n", "\n").replace("\r", "\n")
    pattern = draw(st.sampled_from((None, *_TOKENIZERS)))
    repeat = draw(st.sampled_from([1, 1, 1, 3])) if pattern else 1  # byte-level tokens share characters
    # A character may be several tokens of the real tokenizer.
    target = draw(st.integers(2 * repeat if pattern else 8, 80))
    return text, pattern, repeat, target, draw(st.integers(0, target - 1)), draw(st.integers(1, target))


# -- queries -------------------------------------------------------------------------------------------------

_TYPED = st.text(alphabet="ab数据 検\"-*():^{}+'~\x00\n“”@./_:AÉ한ไทย½", max_size=60)
_PIECES = st.sampled_from(
    ("lex:", "vec: ", "hyde:", "intent: ", "expand:", "LEX :", "\n", "\r", "\u2028", " ", '"', '"*', "-",
    "*", "NEAR(",
     "OR", "AND", "title:",
     "quick", "heron", "数据库", "C++", "--flag", "-word", "a/b.c", "performanc*", "ﬁ", "ſ", "İ")
)  # fmt: skip
QUERIES = st.one_of(st.text(max_size=200), _TYPED, st.lists(_PIECES, max_size=25).map("".join))


# -- index.yml -----------------------------------------------------------------------------------------------

_YAML = (
    "collections:", "  notes:", "    path: ~/notes", '    pattern: "**/*.md"', "    # of mine",
    "    context:",
    "      /: All", '      "/2026": This year', "    update: git pull", "    ignore: [a, 'b/**']",
    "    encoding: gb18030",
    "  other: {path: /tmp/other, includeByDefault: false}", "  empty:", "global_context: Everything",
    "editor_uri: x",
    "models:", "  embed: e5", "  threads: 4", "ranking: tuned", "# a comment", "unknown: [1, 2]", "",
    "---", "...",
    "&a b: *a", "<<: *a", "!!python/object x: y", "? complex", ": value", "- item", "\tpath: tab",
    "  notes: # again",
    "    path: |", "      block", "    path: 'it''s'", "collections: {}", "collections: []", "null",
    "~: ~", "{{{{", "]",
    '"\\x41": "\\u263a"', "%YAML 1.1", "a: b: c", "\ufeff", "    ignore:", "      - drafts/**",
    "true: 1e3", "é: é",
)  # fmt: skip
_WRITTEN = st.lists(
    st.one_of(st.sampled_from(_YAML), st.sampled_from(_YAML), st.text(max_size=30)), max_size=25
)
_GOOD = "# mine\ncollections:\n  notes:\n    path: ~/notes # at home\n    pattern: '**/*.md'\n"
FILES = st.one_of(
    st.tuples(_ENDS, _WRITTEN).map(lambda t: t[0].join(t[1])),
    st.tuples(_ENDS, _WRITTEN).map(lambda t: (_GOOD + "\n".join(t[1])).replace("\n", t[0])),
)
_WORDS = st.one_of(
    st.sampled_from(["notes", "other", "new", "e\u0301", "yes", "1", "null", "#"]), st.text(max_size=12)
)
EDITS = st.tuples(
    st.sampled_from(["add", "remove", "rename", "context", "no context", "include", "command"]),
    _WORDS,
    _WORDS,
)


# -- arguments of MCP tools ----------------------------------------------------------------------------------

_ANY_TEXT = st.text(st.characters(codec=None), max_size=40)
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _ANY_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_ANY_TEXT, inner, max_size=3)),
    max_leaves=6,
)
_REFERENCES = st.one_of(
    st.sampled_from(
        ["notes/a.md", "a.md", "a.md:1:2", "#", "#0", "qmd://notes/a.md", "qmd://", "**", "*.md", "a,b",
        "[", "{a,b",
         "notes/*.md, #zz", "qmd://notes/%zz", "../a.md", "a.md:99999999999999999999", "a.md:-1", "~", "/"]
    ),
    _ANY_TEXT,
)  # fmt: skip
_NUMBERS = st.one_of(st.sampled_from([0, 1, 2, 2.0, 0.5, -1, 1000, 1001, 2**63, 1e308, True, "1"]), _JSON)
_TEXT_OR_ANY = st.one_of(QUERIES, QUERIES, _JSON)
_SEARCHES = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["lex", "vec", "hyde", "x"]), "query": _TEXT_OR_ANY}),
    max_size=4,
)
_ARGUMENTS = {
    "query": _TEXT_OR_ANY, "limit": _NUMBERS, "minScore": _NUMBERS, "collection": st.one_of(_WORDS, _JSON),
    "collections": st.one_of(st.lists(_WORDS, max_size=3), _JSON), "searches": st.one_of(_SEARCHES, _JSON),
    "intent": _TEXT_OR_ANY, "candidateLimit": _NUMBERS, "rerank": st.one_of(st.booleans(), _JSON),
    "file": _REFERENCES, "pattern": _REFERENCES, "fromLine": _NUMBERS,
    "maxLines": _NUMBERS, "maxBytes": _NUMBERS,
    "lineNumbers": st.one_of(st.booleans(), _JSON),
}  # fmt: skip
_OF_TOOLS = {
    "search": ("query", ("limit", "minScore", "collection")),
    "vsearch": ("query", ("limit", "minScore", "collection")),
    "query": (
        None,
        ("query", "searches", "limit", "minScore", "collections", "intent", "candidateLimit", "rerank"),
    ),
    "get": ("file", ("fromLine", "maxLines", "lineNumbers")),
    "multi_get": ("pattern", ("maxLines", "maxBytes", "lineNumbers")),
    "status": (None, ()),
}


@st.composite
def tool_calls(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw a tool and arguments: usually known ones with right or wrong values, sometimes unknown ones."""
    # Tools without a model are drawn more often, because they are a hundred times faster.
    name = draw(st.sampled_from(["search"] * 4 + ["get"] * 4 + ["multi_get"] * 4 + [*_OF_TOOLS]))
    if draw(st.integers(0, 9)) == 0:
        return name, draw(st.one_of(st.none(), st.dictionaries(_ANY_TEXT, _JSON, max_size=4)))
    needed, others = _OF_TOOLS[name]
    given = {needed: draw(_ARGUMENTS[needed])} if needed else {}
    chosen = draw(st.lists(st.sampled_from(others), unique=True, max_size=2)) if others else []
    return name, given | {each: draw(_ARGUMENTS[each]) for each in chosen}
