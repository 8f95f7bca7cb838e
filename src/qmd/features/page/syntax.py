"""The Markdown of the page: CommonMark, the additions of GitHub and Obsidian, and a little HTML."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.rules_block import StateBlock, blockquote
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_block_dollar
from mdit_py_plugins.footnote import footnote_plugin

from qmd.features.page.embeds import media
from qmd.features.page.html_tags import BLOCKS
from qmd.text.blocks import RAW, RAW_END, Closings
from qmd.text.links import AFTER_URL, HTML_TAG, TAG, URL, WIKI, tag_name

#: The scheme of an address.
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
#: An address that contains an image.
INLINE_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]{1,200000}", re.I)
_SAFE_SCHEMES = ("http:", "https:", "mailto:")
_CALLOUT = re.compile(r"\[!([A-Za-z][\w-]{0,30})\]([+-]?)[ \t]*([^\n]*)")
#: The name of a block at its end.
BLOCK_ID = re.compile(r"(?:^|[ \t\n]|(?<=\]\]))\^([A-Za-z0-9-]{1,100})\Z")
#: The lines of a block quote that are read at first. Few are longer, and it is also the factor to read more.
_QUOTED = 16
#: The end of a line that ends a block of formulas.
_FORMULA_END = re.compile(r"\$\$(?=[ \t]*$)", re.MULTILINE)
#: Takes the state, the first line, the line after the last one, and whether to look only.
BlockRule = Callable[[StateBlock, int, int, bool], bool]
_TASK = re.compile(r"\[([ xX/-])\][ \t]+")
_MARK = re.compile(r"==(?=\S)([^\n]{1,2000}?)(?<=\S)==")
#: Colours of callouts; other types look like a note.
_CALLOUTS: Mapping[str, str] = {
    **dict.fromkeys(("tip", "hint", "important", "success", "check", "done"), "good"),
    **dict.fromkeys(("warning", "caution", "attention", "question", "help", "faq"), "warning"),
    **dict.fromkeys(("danger", "error", "bug", "failure", "fail", "missing"), "danger"),
    **dict.fromkeys(("quote", "cite", "example", "abstract", "summary"), "plain"),
}


def parser(renderer: type[RendererProtocol]) -> MarkdownIt:
    """Return a parser with a renderer for its tokens.

    As soon as the `budget` of its environment is spent, it takes the rest as plain text.
    """
    parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=renderer)
    parser.enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    # It interrupts the same blocks as the rule of markdown-it, or of its plugin.
    interrupts = ["paragraph", "reference", "blockquote", "list"]
    parser.use(footnote_plugin)
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, allow_labels=False)
    formula = math_block_dollar(allow_labels=False, allow_blank_lines=True)
    parser.block.ruler.at("math_block", _closed(formula), {"alt": interrupts})
    parser.validateLink = is_safe  # type: ignore[method-assign]
    parser.block.ruler.at("blockquote", _blockquote, {"alt": interrupts})
    parser.block.ruler.before("paragraph", "comment", _block_comment, {"alt": ["paragraph"]})
    parser.block.ruler.before("paragraph", "html_tags", _html_block, {"alt": ["paragraph"]})
    for name, rule in (
        ("comment", _comment),
        ("html_tag", _html_tag),
        ("wikilink", _wikilink),
        ("mark", _mark),
        ("tag", _tag),
    ):
        parser.inline.ruler.before("link", name, rule)
    parser.inline.ruler.before("link", "bare_url", _bare_url)
    # The text rule stops only at characters that begin something.
    parser.inline.ruler.at("text", _text)
    # Tried before each line and each piece of one.
    parser.block.ruler.before("table", "rest", _rest_of_block, {"alt": ["paragraph"]})
    parser.inline.ruler.before("text", "rest", _rest_of_line)
    parser.core.ruler.before("inline", "callouts", _callouts)
    parser.core.ruler.before("inline", "block_ids", _block_ids)
    parser.core.ruler.after("inline", "tasks", _tasks)
    parser.core.ruler.after("inline", "embeds", _embeds)
    return parser


def _rest_of_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Match nothing as long as the budget lasts, and then all lines that are left."""
    if state.env["budget"].take():
        return False
    if not silent:
        token = state.push("rest", "pre", 0)
        token.map = [start, end]
        token.content = state.getLines(start, end, 0, True)
        state.line = end
    return True


def _rest_of_line(state: StateInline, silent: bool) -> bool:
    """Match nothing as long as the budget lasts, and then all text that is left."""
    if state.env["budget"].take():
        return False
    if not silent:
        state.pending += state.src[state.pos : state.posMax]
    state.pos = state.posMax
    return True


def is_safe(url: str) -> bool:
    """Return whether a link may have an address."""
    address = re.sub(r"[\x00-\x20\x7f]+", "", unquote(url)).lower()
    scheme = SCHEME.match(address)
    return scheme is None or scheme[0] in _SAFE_SCHEMES or INLINE_IMAGE.fullmatch(url) is not None


#: The characters that end a piece of text, because a rule or the end of a link begins there.
_NEXT_STOP = re.compile(r"[\n!#$%&*<=\[\\\]^_`~]|(?<![A-Za-z0-9])http")


def _text(state: StateInline, silent: bool) -> bool:
    match = _NEXT_STOP.search(state.src, state.pos, state.posMax)
    end = match.start() if match else state.posMax
    if end == state.pos:
        return False
    if not silent:
        state.pending += state.src[state.pos : end]
    state.pos = end
    return True


def _closings(state: StateBlock | StateInline) -> Closings:
    """Return the places of marks in the text of a state."""
    by_text: dict[str, Closings] = state.env.setdefault("closings", {})
    if state.src not in by_text:
        by_text[state.src] = Closings(state.src)
    return by_text[state.src]


def _block_comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Leave out an HTML comment that begins a line, with all its lines."""
    begin = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("<!--", begin):
        return False
    closed = _closings(state).find("-->", begin + 4)
    line = bisect_left(state.eMarks, closed + 3, start, end)
    if line >= end or state.src[closed + 3 : state.eMarks[line]].strip():
        return False
    if not silent:
        state.line = line + 1
    return True


def _comment(state: StateInline, silent: bool) -> bool:
    """Leave out `<!-- … -->` and `%% … %%` inside a paragraph."""
    for opening, closing in (("<!--", "-->"), ("%%", "%%")):
        if state.src.startswith(opening, state.pos):
            begin = state.pos + len(opening)
            end = _closings(state).after(closing, begin, state.posMax)
            if end > begin:
                state.pos = end
                return True
    return False


def _closed(formula: BlockRule) -> BlockRule:
    """Return the rule of blocks of formulas, which looks for a missing end only once."""

    def closed(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        begin = state.bMarks[start] + state.tShift[start]
        if not state.src.startswith("$$", begin):
            return False
        ends = state.env.setdefault("formula_ends", {})
        if state.src not in ends:
            ends[state.src] = max((match.start() for match in _FORMULA_END.finditer(state.src)), default=-1)
        return ends[state.src] >= begin + 2 and formula(state, start, end, silent)

    return closed


def _blockquote(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a block quote as markdown-it does, which looks for its end in all lines that could continue it.

    If its last block cannot go on there, such as code, the quote is much shorter. So the lines are limited,
    and those of a quote that is not over by then are read again with a higher limit.
    """
    if silent:
        return blockquote(state, start, end, silent)
    tokens, level, lines = len(state.tokens), state.level, _QUOTED
    while blockquote(state, start, last := min(end, start + lines), silent):
        if state.line < last or last == end:
            return True
        del state.tokens[tokens:]
        state.level, state.line = level, start
        lines *= _QUOTED
    return False


def _html_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Take scripts, style sheets, and lines from the tag of a block to the next empty line."""
    begin = state.bMarks[start] + state.tShift[start]
    raw = RAW.match(state.src, begin, state.eMarks[start])
    match = HTML_TAG.match(state.src, begin, state.eMarks[start])
    is_block = raw or (match and match[2].lower() in BLOCKS)
    if not is_block or state.is_code_block(start):
        return False
    if silent:
        return True
    line = start + 1
    while line < end and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
        if (
            RAW_END.search(state.src, state.bMarks[line - 1], state.eMarks[line - 1])
            if raw
            else state.isEmpty(line)
        ):
            break
        line += 1
    token = state.push("html_tags", "", 0)
    token.map = [start, line]
    token.content = state.getLines(start, line, state.blkIndent, True)
    state.line = line
    return True


def _html_tag(state: StateInline, silent: bool) -> bool:
    match = HTML_TAG.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("html_tag", "", 0).meta = {"match": match}
    state.pos = match.end()
    return True


def _wikilink(state: StateInline, silent: bool) -> bool:
    embed = state.src.startswith("![[", state.pos)
    match = WIKI.match(state.src, state.pos + embed, state.posMax)
    if match is None:
        return False
    if not silent:
        target, shown = match[1].removesuffix("\\").strip(), match[2]
        path = target.partition("#")[0].strip()
        if embed and media(path):
            token = state.push("image", "img", 0)
            token.attrs = {"src": path, "alt": ""}
            token.meta = {"caption": True}
            token.children = [Token("text", "", 0, content=(shown or "").strip())]
        else:
            opening = state.push("link_open", "a", 1)
            opening.attrs = {"href": target}
            opening.meta = {"wikilink": True, "embed": embed}
            state.push("text", "", 0).content = (shown or target.replace("#", " › ").strip(" ›")).strip()
            state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


def _mark(state: StateInline, silent: bool) -> bool:
    match = _MARK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        end = state.posMax
        state.push("mark_open", "span", 1).attrs = {"class": "marker"}
        state.pos, state.posMax = match.start(1), match.end(1)
        state.md.inline.tokenize(state)
        state.push("mark_close", "span", -1)
        state.posMax = end
    state.pos = match.end()
    return True


def _tag(state: StateInline, silent: bool) -> bool:
    """Link a tag to the documents that have it."""
    match = None if state.linkLevel else TAG.match(state.src, state.pos, state.posMax)
    name = tag_name(match) if match else ""
    if match is None or not name:
        return False
    if not silent:
        token = state.push("link_open", "a", 1)
        token.attrs = {"href": f"/?q=tag:{quote(name, safe='')}", "class": "tag"}
        token.meta = {"page": True}
        state.push("text", "", 0).content = match[0]
        state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


def _bare_url(state: StateInline, silent: bool) -> bool:
    if state.linkLevel:
        return False
    match = URL.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    url = match[0].rstrip(AFTER_URL)
    if not silent:
        state.push("link_open", "a", 1).attrs = {"href": state.md.normalizeLink(url)}
        state.push("text", "", 0).content = url
        state.push("link_close", "a", -1)
    state.pos += len(url)
    return True


def _callouts(state: StateCore) -> None:
    """Turn quotes that begin with `[!note]` into callouts."""
    found: list[Token] = []
    tokens = state.tokens
    closings: dict[int, Token] = {}  # of quotes, by their opening tokens
    open_quotes: list[Token] = []
    for token in tokens:
        if token.type == "blockquote_open":
            open_quotes.append(token)
        elif token.type == "blockquote_close":
            closings[id(open_quotes.pop())] = token
    for at, token in enumerate(tokens):
        found.append(token)
        if token.type != "inline" or at < 2 or tokens[at - 2].type != "blockquote_open":
            continue
        match = _CALLOUT.match(token.content)
        if match is None:
            continue
        kind = match[1].lower()
        quote_open = tokens[at - 2]
        closing = closings[id(quote_open)]
        folds = match[2] in ("+", "-") and match[2] != ""
        quote_open.tag = closing.tag = "details" if folds else "div"
        quote_open.attrs = {"class": f"callout {_CALLOUTS.get(kind, 'note')}"}
        if match[2] == "+":
            quote_open.attrs["open"] = ""
        paragraph = found[-2]
        title = Token("inline", "", 0, content=match[3].strip() or kind.capitalize(), children=[])
        title.map, title.level = token.map, token.level
        tag = "summary" if folds else "p"
        opening = Token("callout_title_open", tag, 1, attrs={"class": "callout-title"}, block=True)
        ending = Token("callout_title_close", tag, -1, block=True)
        found[-2:-2] = [opening, title, ending]
        token.content = token.content[match.end() :].lstrip("\n")
        if not token.content:
            paragraph.hidden = True
    state.tokens = found


def _block_ids(state: StateCore) -> None:
    """Make the names of blocks, such as `^quote-1` at the end of a paragraph, the ids of their elements."""
    for at, token in enumerate(state.tokens):
        if token.type == "inline" and "^" in token.content and (match := BLOCK_ID.search(token.content)):
            token.content = token.content[: match.start()]
            hidden = state.tokens[at - 1].hidden and at > 1  # the paragraph of a tight item
            state.tokens[at - 2 if hidden else at - 1].attrSet("id", block_anchor(match[1]))


def block_anchor(name: str) -> str:
    """Return the id of the element of a block with a name."""
    return "b-" + name.casefold()


def _embeds(state: StateCore) -> None:
    """Turn paragraphs that consist of the embed of a note into that note."""
    for at, token in enumerate(state.tokens):
        children = [child for child in token.children or () if child.content.strip() or child.nesting]
        if (
            len(children) == 3
            and children[0].meta.get("embed")
            and state.tokens[at - 1].type == "paragraph_open"
        ):
            token.type, token.tag, token.block = "embed", "section", True
            token.meta = {"target": str(children[0].attrs["href"])}
            token.children, token.content = children, ""
            state.tokens[at - 1].hidden = state.tokens[at + 1].hidden = True


def _tasks(state: StateCore) -> None:
    """Turn list items that begin with `[ ]` or `[x]` into tasks."""
    tokens = state.tokens
    for at in range(2, len(tokens)):
        token = tokens[at]
        if token.type != "inline" or tokens[at - 2].type != "list_item_open" or not token.children:
            continue
        match = _TASK.match(token.content)
        first = token.children[0]
        if match is None or first.type != "text" or not first.content.startswith(match[0].rstrip()):
            continue
        first.content = first.content[match.end() :]
        done = match[1] in "xX"
        tokens[at - 2].attrJoin("class", "task-item")
        token.children.insert(0, Token("task", "span", 0, meta={"done": done}))
