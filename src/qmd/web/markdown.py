"""Render Markdown to HTML that is safe whatever a document contains.

There are two locks. The parser creates elements only for Markdown: HTML in a document is text, and links have
known schemes. Then nh3 removes everything that is not in `_ALLOWED`. The policy of the page is the third.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from typing import Any
from urllib.parse import quote, unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

#: Spans (start, end) to mark in a text.
Find = Callable[[str], Sequence[tuple[int, int]]]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_SAFE_SCHEMES = ("http:", "https:", "mailto:")
_INLINE_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]{1,200000}", re.I)
_CALLOUT = re.compile(r"\[!([A-Za-z][\w-]{0,30})\]([+-]?)[ \t]*([^\n]*)")
_TASK = re.compile(r"\[([ xX/-])\][ \t]+")
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n|]{1,1000})(?:\|([^\[\]\n]{0,1000}))?\]\]")
_TAG = re.compile(r"#(?!\d+(?![\w/-]))[^\W_][\w/-]{0,100}")
_BARE_URL = re.compile(r"https?://[^\s<>\"'`\]|]{1,1000}")
_MARK = re.compile(r"==(?=\S)([^\n]{1,2000}?)(?<=\S)==")
_SIZE = re.compile(r"\d{1,4}(?:x\d{1,4})?")
#: Colours of callouts; other types look like a note.
_CALLOUTS: Mapping[str, str] = {
    **dict.fromkeys(("tip", "hint", "important", "success", "check", "done"), "good"),
    **dict.fromkeys(("warning", "caution", "attention", "question", "help", "faq"), "warning"),
    **dict.fromkeys(("danger", "error", "bug", "failure", "fail", "missing"), "danger"),
    **dict.fromkeys(("quote", "cite", "example", "abstract", "summary"), "plain"),
}
#: Code blocks that are longer are not coloured.
_MAX_COLOURED = 50_000
IMAGES = frozenset("png jpg jpeg gif webp avif svg bmp ico".split())

_TEXT_TAGS = "p h1 h2 h3 h4 h5 h6 blockquote ul ol li hr br em strong s del code pre mark sup sub section"
_ALLOWED = {*_TEXT_TAGS.split(), *"a img span div table thead tbody tr th td details summary".split()}
_ATTRIBUTES = {
    "*": {"class", "id", "dir"},
    "a": {"href", "title", "target"},
    "img": {"src", "alt", "title", "width", "height", "loading"},
    "ol": {"start"},
    "span": {"role", "aria-label", "title"},
    "details": {"open"},
    "th": {"class"},
    "pre": {"tabindex"},
    "div": {"tabindex", "role"},
}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, its level, and the id of its element."""

    text: str
    level: int
    anchor: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """The HTML of a document, its headings, and the number of remote images that were left out."""

    html: str
    headings: tuple[Heading, ...] = ()
    blocked_images: int = 0


@dataclass(slots=True)
class Context:
    """What rendering needs to know about a document.

    Attributes:
        link: Returns the address of the page for the target of a link; None if it leads to no document.
        file: Returns the address of a file beside the document, such as an image; None if there is none.
        find: Finds the words of the query in a text.
        hit: The line of the hit, counted from 1; None if there is none.
        first_line: The line of the text's first line.
        remote_images: Whether images on other hosts are loaded.
        task: Returns the label of a task that is done, or open.
    """

    link: Callable[[str], str | None]
    file: Callable[[str], str | None]
    find: Find | None = None
    hit: int | None = None
    first_line: int = 1
    remote_images: bool = False
    task: Callable[[bool], str] = lambda done: "done" if done else "open"
    headings: list[Heading] = field(default_factory=list)
    blocked: int = 0


def render(text: str, context: Context) -> Rendered:
    """Return the HTML of a Markdown text."""
    html = _parser().render(text, {"context": context})
    return Rendered(_clean(html), tuple(context.headings), context.blocked)


def marked(text: str, find: Find | None) -> str:
    """Return a plain text as HTML, with the words of the query in `<mark>`."""
    spans = find(text) if find is not None else ()
    if not spans:
        return escape(text)
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += [escape(text[at:start]), "<mark>", escape(text[start:end]), "</mark>"]
        at = end
    return "".join((*parts, escape(text[at:])))


def slug(text: str) -> str:
    """Return the id of a heading. It has a prefix, so that it is never a name that scripts use."""
    return "h-" + re.sub(r"[^\w]+", "-", text.casefold()).strip("-")[:80]


def _clean(html: str) -> str:
    return nh3.clean(
        html,
        tags=_ALLOWED,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer",
        attribute_filter=_filter,
    )


def _filter(tag: str, name: str, value: str) -> str | None:
    if name == "href" and value.lower().lstrip().startswith("data:"):
        return None
    if name == "src" and value.startswith("data:") and not _INLINE_IMAGE.fullmatch(value):
        return None
    return value


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _coloured}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    parser.use(footnote_plugin)
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, renderer=_math)
    parser.validateLink = _is_safe  # type: ignore[method-assign]
    parser.block.ruler.before("paragraph", "comment", _block_comment, {"alt": ["paragraph"]})
    for name, rule in (("comment", _comment), ("wikilink", _wikilink), ("mark", _mark), ("tag", _tag)):
        parser.inline.ruler.before("link", name, rule)
    parser.inline.ruler.before("link", "bare_url", _bare_url)
    # The text rule stops only at characters that begin something.
    parser.inline.ruler.at("text", _text)
    parser.core.ruler.before("inline", "callouts", _callouts)
    parser.core.ruler.after("inline", "tasks", _tasks)
    parser.core.ruler.push("places", _places)
    return parser


def _is_safe(url: str) -> bool:
    address = re.sub(r"[\x00-\x20\x7f]+", "", unquote(url)).lower()
    scheme = _SCHEME.match(address)
    return scheme is None or scheme[0] in _SAFE_SCHEMES or _INLINE_IMAGE.fullmatch(url) is not None


_STOPS = frozenset("\n!#$%&*+-:<=>@[\\]^_`{}~h")
_NEXT_STOP = re.compile(r"[\n!#$%&*+\-:<=>@\[\\\]^_`{}~]|(?<![A-Za-z0-9])http")


def _text(state: StateInline, silent: bool) -> bool:
    match = _NEXT_STOP.search(state.src, state.pos, state.posMax)
    end = match.start() if match else state.posMax
    if end == state.pos:
        return False
    if not silent:
        state.pending += state.src[state.pos : end]
    state.pos = end
    return True


def _block_comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Leave out an HTML comment that begins a line, with all its lines."""
    begin = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("<!--", begin):
        return False
    closed = state.src.find("-->", begin + 4)
    if closed < 0:
        return False
    line = start
    while line < end and state.eMarks[line] < closed + 3:
        line += 1
    if line >= end or state.src[closed + 3 : state.eMarks[line]].strip():
        return False
    if not silent:
        state.line = line + 1
    return True


def _comment(state: StateInline, silent: bool) -> bool:
    """Leave out `<!-- … -->` and `%% … %%` inside a paragraph."""
    for opening, closing in (("<!--", "-->"), ("%%", "%%")):
        if state.src.startswith(opening, state.pos):
            closed = state.src.find(closing, state.pos + len(opening), state.posMax)
            if closed >= 0:
                state.pos = closed + len(closing)
                return True
    return False


def _wikilink(state: StateInline, silent: bool) -> bool:
    match = _WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        embed, target, shown = match[1], match[2].removesuffix("\\").strip(), match[3]
        suffix = target.rpartition(".")[2].lower()
        if embed and suffix in IMAGES:
            token = state.push("image", "img", 0)
            token.attrs = {"src": target, "alt": ""}
            token.content = target
            if shown and _SIZE.fullmatch(shown):
                token.attrs["width"] = shown.partition("x")[0]
            text = Token("text", "", 0, content=target)
            token.children = [text]
        else:
            opening = state.push("link_open", "a", 1)
            opening.attrs = {"href": target}
            opening.meta = {"wikilink": True}
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
    if state.linkLevel or (state.pos and not state.src[state.pos - 1].isspace()):
        return False
    match = _TAG.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        name = match[0][1:].rstrip("/-")
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
    match = _BARE_URL.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    url = match[0].rstrip(".,;:!?)*_~")
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
    for at, token in enumerate(tokens):
        found.append(token)
        if token.type != "inline" or at < 2 or tokens[at - 2].type != "blockquote_open":
            continue
        match = _CALLOUT.match(token.content)
        if match is None:
            continue
        kind = match[1].lower()
        quote_open = tokens[at - 2]
        depth = quote_open.level
        closing = next(
            other for other in tokens[at:] if other.type == "blockquote_close" and other.level == depth
        )
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


def _places(state: StateCore) -> None:
    """Give headings ids, and mark the block with the line of the hit."""
    context: Context = state.env["context"]
    taken: set[str] = set()
    target: Token | None = None
    for at, token in enumerate(state.tokens):
        if token.type == "heading_open":
            text = _plain(state.tokens[at + 1])
            anchor = slug(text)
            number = 2
            while anchor in taken:
                anchor = f"{slug(text)}-{number}"
                number += 1
            taken.add(anchor)
            token.attrSet("id", anchor)
            context.headings.append(Heading(text, int(token.tag[1]), anchor))
        if context.hit is None or token.map is None or token.nesting < 0 or token.hidden:
            continue
        first, last = (line + context.first_line for line in token.map)
        if first <= context.hit < last and token.block and token.tag:
            target = token
    if target is not None:
        target.attrJoin("class", "hit-line")
        anchor = str(target.attrGet("id") or "")
        target.attrSet("id", "hit")
        context.headings[:] = [
            Heading(each.text, each.level, "hit") if anchor and each.anchor == anchor else each
            for each in context.headings
        ]


def _plain(inline: Token) -> str:
    parts = (child.content for child in _all(inline.children or ()))
    return " ".join("".join(parts).split())


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        if token.children:
            yield from _all(token.children)


def _math(content: str, options: Mapping[str, Any]) -> str:
    return escape(content)


_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


def _coloured(code: str, language: str, attributes: str) -> str:
    """Return code in colours; empty if its language is not known."""
    if not language or len(code) > _MAX_COLOURED:
        return ""
    try:
        lexer = get_lexer_by_name(language.lower())
    except ClassNotFound:
        return ""
    coloured: str = highlight(code, lexer, _FORMATTER)
    return coloured


class _Renderer(RendererHTML):
    """Renders the tokens that this module adds, and resolves links and images."""

    def text(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return marked(tokens[at].content, env["context"].find)

    def code_inline(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f"<code>{marked(tokens[at].content, env['context'].find)}</code>"

    def task(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        done = tokens[at].meta["done"]
        label = escape(env["context"].task(done), quote=True)
        return f'<span class="task{" done" if done else ""}" role="img" aria-label="{label}"></span>'

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f'<div class="table" tabindex="0" role="group">{self.renderToken(tokens, at, options, env)}'

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f"{self.renderToken(tokens, at, options, env)}</div>"

    def th_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return self._cell(tokens, at, options, env)

    def td_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return self._cell(tokens, at, options, env)

    def _cell(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        # The policy of the page allows no style attributes.
        style = str(tokens[at].attrs.pop("style", ""))
        if style:
            tokens[at].attrJoin("class", style.rpartition(":")[2])
        return self.renderToken(tokens, at, options, env)

    def fence(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        language = token.info.strip().partition(" ")[0]
        code = _coloured(token.content, language, "") or marked(token.content, env["context"].find)
        shown = f'<span class="language">{escape(language)}</span>' if language else ""
        return self._code(token, shown, code)

    def code_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        code = marked(token.content, env["context"].find)
        return self._code(token, "", code)

    def _code(self, token: Token, language: str, code: str) -> str:
        place = ' id="hit"' if token.attrGet("id") == "hit" else ""
        return f'<div class="code"{place}>{language}<pre tabindex="0"><code>{code}</code></pre></div>\n'

    def math_inline(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f'<code class="math">{escape(tokens[at].content)}</code>'

    def math_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f'<pre class="math" tabindex="0"><code>{escape(tokens[at].content.strip())}</code></pre>'

    def link_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token, context = tokens[at], env["context"]
        target = str(token.attrGet("href") or "")
        address, css = _resolve(target, context, wikilink=bool(token.meta.get("wikilink")))
        if token.meta.get("page"):
            address, css = target, "tag"
        if address is None:
            token.attrs = {"class": "unresolved"}
        else:
            token.attrs = {"href": address, **({"class": css} if css else {})}
            if css == "external":
                token.attrs["target"] = "_blank"
        return self.renderToken(tokens, at, options, env)

    def image(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token, context = tokens[at], env["context"]
        source = str(token.attrGet("src") or "")
        alt = self.renderInlineAsText(token.children or [], options, env)
        if source.startswith("data:"):
            address = source
        elif source.lower().startswith(("http:", "https:", "//")):
            if not context.remote_images:
                context.blocked += 1
                shown = escape(alt or source)
                return f'<a class="image-left-out" href="{escape(source)}" target="_blank">{shown}</a>'
            address = source
        else:
            found = context.file(unquote(source))
            if found is None:
                return f'<span class="image-left-out">{escape(alt or source)}</span>'
            address = found
        width = f' width="{escape(str(token.attrs["width"]))}"' if "width" in token.attrs else ""
        shown = escape(alt)
        return f'<img src="{escape(address)}" alt="{shown}"{width} loading="lazy">'


def _resolve(target: str, context: Context, *, wikilink: bool) -> tuple[str | None, str]:
    """Return the address of a link and its class; (None, "") if it leads nowhere."""
    if not wikilink:
        if target.lower().startswith("qmd://"):
            return context.link(target), ""
        if _SCHEME.match(target) or target.startswith("//"):
            return target, "external"
        target = unquote(target)
    path, _, fragment = target.partition("#")
    if not path:
        return "#" + slug(fragment), ""
    page = context.link(target) or context.link(path)
    if page is not None:
        return (f"{page}#{slug(fragment)}" if fragment else page), ""
    return (None if wikilink else context.file(path)), ""
