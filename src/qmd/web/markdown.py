"""Render Markdown to HTML that is safe whatever a document contains.

There are two locks. The parser creates elements only for Markdown: HTML in a document is text, and links have
known schemes. Then nh3 removes everything that is not in `_ALLOWED`. The policy of the page is the third.

The words of a query and the line of a hit are marked afterwards, in HTML that can be kept for other queries.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape, unescape
from itertools import accumulate
from typing import Any
from urllib.parse import unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from qmd.web.syntax import INLINE_IMAGE, SCHEME, parser

#: Spans (start, end) to mark in a text.
Find = Callable[[str], Sequence[tuple[int, int]]]

#: Characters of code that are coloured in a document. The rest is shown as it is.
_MAX_COLOURED = 30_000
#: The attribute of a block with its first line and the line after its last one. It is not sent.
_LINES = "data-lines"
_LINES_OF = re.compile(rf' {_LINES}="(\d+) (\d+)"')
#: A tag, as nh3 writes it.
_TAG = re.compile(r'(<[^>"]*(?:"[^"]*"[^>"]*)*>)')
#: The hit in a block of more lines is its line, not the whole block.
_LONG = 6
#: Elements without content.
_VOID = ("<br", "<hr", "<img")
#: The names of languages are no part of a document.
_NOT_MARKED = '<span class="language"'

_TEXT_TAGS = "p h1 h2 h3 h4 h5 h6 blockquote ul ol li hr br em strong s del code pre mark sup sub section"
_ALLOWED = {*_TEXT_TAGS.split(), *"a img span div table thead tbody tr th td details summary".split()}
_ATTRIBUTES = {
    "*": {"class", "id", "dir", "data-lines"},
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
    """A document in HTML.

    Attributes:
        parts: Its texts and tags by turns, beginning with a text, which may be empty.
        blocks: The first line, the line after the last one, the place in `parts` of each block's tag, and how
            many elements it is in.
        headings: Its headings.
        blocked_images: The number of remote images that were left out.
    """

    parts: tuple[str, ...] = ()
    blocks: tuple[tuple[int, int, int, int], ...] = ()
    headings: tuple[Heading, ...] = ()
    blocked_images: int = 0

    @property
    def size(self) -> int:
        """The number of characters."""
        return sum(map(len, self.parts))

    def html(
        self,
        find: Find | None = None,
        hit: int | None = None,
        separators: Sequence[tuple[int, str]] = (),
    ) -> str:
        """Return the HTML, and mark the words that `find` finds and the smallest block with the line `hit`.

        The element of the hit, or an empty one at its beginning, has the id `hit`. `separators` is HTML that
        stands before the outermost blocks that begin at these lines or after them.
        """
        parts = [*self.parts]
        if find is not None:
            _mark(parts, find)
        if hit is not None and self.blocks:
            # A line between blocks, or one that is not shown, counts as the block before it.
            around = [block for block in self.blocks if block[0] <= hit < block[1]]
            before = [block for block in self.blocks if block[0] <= hit]
            first, end, place, _ = (around or before or self.blocks)[-1 if before else 0]
            if not (end - first > _LONG and _mark_line(parts, place, hit - first)):
                parts[place] = _as_hit(parts[place])
        outermost = [(first, place) for first, _, place, depth in self.blocks if not depth]
        at = 0
        inserted: dict[int, str] = {}
        for line, html in separators:
            while at < len(outermost) and outermost[at][0] < line:
                at += 1
            place = outermost[at][1] if at < len(outermost) else len(parts) - 1
            inserted[place] = inserted.get(place, "") + html
        for place, html in inserted.items():
            parts[place] = html + parts[place]
        return "".join(parts)


@dataclass(slots=True)
class Context:
    """What rendering needs to know about a document.

    Attributes:
        link: Returns the address of the page for the target of a link; None if it leads to no document.
        file: Returns the address of a file beside the document, such as an image; None if there is none.
        first_line: The line of the text's first line.
        remote_images: Whether images on other hosts are loaded.
        task: Returns the label of a task that is done, or open.
    """

    link: Callable[[str], str | None]
    file: Callable[[str], str | None]
    first_line: int = 1
    remote_images: bool = False
    task: Callable[[bool], str] = lambda done: "done" if done else "open"
    headings: list[Heading] = field(default_factory=list)
    blocked: int = 0
    coloured: int = 0


def render(text: str, context: Context) -> Rendered:
    """Return a Markdown text as HTML."""
    parts = _TAG.split(_clean(_parser().render(text, {"context": context})))
    blocks = []
    depth = 0
    for place in range(1, len(parts), 2):
        tag = parts[place]
        if tag.startswith("</"):
            depth -= 1
            continue
        found = _LINES_OF.search(tag)
        if found:
            parts[place] = tag.replace(found[0], "")
            blocks.append((int(found[1]), int(found[2]), place, depth))
        depth += not tag.startswith(_VOID)
    return Rendered(tuple(parts), tuple(blocks), tuple(context.headings), context.blocked)


def marked(text: str, find: Find | None) -> str:
    """Return a plain text as HTML, with the words of the query in `<mark>`."""
    return _with_marks(text, find(text) if find is not None else ())


def _with_marks(text: str, spans: Sequence[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += [escape(text[at:start], False), "<mark>", escape(text[start:end], False), "</mark>"]
        at = end
    return "".join((*parts, escape(text[at:], False)))


def _mark(parts: list[str], find: Find) -> None:
    """Mark words in the texts of HTML. All texts are searched at once, which is faster than one by one."""
    texts = [unescape(text) if "&" in text else text for text in parts[::2]]
    starts = [*accumulate((len(text) + 1 for text in texts), initial=0)]
    found: dict[int, list[tuple[int, int]]] = {}
    for start, end in find("\n".join(texts)):
        at = bisect_right(starts, start) - 1
        found.setdefault(at, []).append((start - starts[at], end - starts[at]))
    for at, spans in found.items():
        if not (at and parts[2 * at - 1].startswith(_NOT_MARKED)):
            parts[2 * at] = _with_marks(texts[at], spans)


def _mark_line(parts: list[str], place: int, line: int) -> bool:
    """Put the element of the hit before a line inside of a block. Return whether there is such a line."""
    line -= parts[place].startswith('<div class="code"')  # without the line that opens the block
    for at in range(place + 1, len(parts), 2):
        lines = parts[at].split("\n")
        if 0 <= line < len(lines):
            parts[at] = "\n".join([*lines[:line], f'<span id="hit"></span>{lines[line]}', *lines[line + 1 :]])
            return True
        line -= len(lines) - 1
    return False


def _as_hit(tag: str) -> str:
    """Return the tag of the block with the hit. If it has an id, such as a heading, an element is added."""
    name = re.match(r"<\w+", tag)
    assert name is not None
    rest = tag[name.end() :]
    if ' class="' in rest:
        rest = rest.replace(' class="', ' class="hit-line ', 1)
    else:
        rest = f' class="hit-line"{rest}'
    if ' id="' in rest:
        return f'{name[0]}{rest}<span id="hit"></span>'
    return f'{name[0]} id="hit"{rest}'


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
    if name == "src" and value.startswith("data:") and not INLINE_IMAGE.fullmatch(value):
        return None
    return value


@cache
def _parser() -> MarkdownIt:
    made = parser(_Renderer)
    for name in ("math_inline", "math_block"):
        # In place of the functions of the plugin, which make other elements.
        made.renderer.rules[name] = getattr(made.renderer, name)  # type: ignore[attr-defined]
    made.core.ruler.push("places", _places)
    return made


def _places(state: StateCore) -> None:
    """Give headings ids, and blocks their lines."""
    context: Context = state.env["context"]
    taken: set[str] = set()
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
        if token.map is not None and token.nesting >= 0 and token.block and token.tag and not token.hidden:
            first, end = (line + context.first_line for line in token.map)
            token.attrSet(_LINES, f"{first} {end}")


def _plain(inline: Token) -> str:
    parts = (child.content for child in _all(inline.children or ()))
    return " ".join("".join(parts).split())


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        if token.children:
            yield from _all(token.children)


_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


def _coloured(code: str, language: str, context: Context) -> str:
    """Return code in colours; empty if its language is not known, or too much has been coloured already."""
    if not language or context.coloured + len(code) > _MAX_COLOURED:
        return ""
    try:
        lexer = get_lexer_by_name(language.lower())
    except ClassNotFound:
        return ""
    context.coloured += len(code)
    html: str = highlight(code, lexer, _FORMATTER)
    return html


def _lines(token: Token) -> str:
    return f' {_LINES}="{token.attrs[_LINES]}"' if _LINES in token.attrs else ""


class _Renderer(RendererHTML):
    """Renders the tokens that this module adds, and resolves links and images."""

    def task(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        done = tokens[at].meta["done"]
        label = escape(env["context"].task(done), quote=True)
        return f'<span class="task{" done" if done else ""}" role="img" aria-label="{label}"></span>'

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        lines = _lines(tokens[at])
        tokens[at].attrs.pop(_LINES, None)
        table = self.renderToken(tokens, at, options, env)
        return f'<div class="table" tabindex="0" role="group"{lines}>{table}'

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
        code = _coloured(token.content, language, env["context"]) or escape(token.content)
        shown = f'<span class="language">{escape(language)}</span>' if language else ""
        return self._code(token, shown, code)

    def code_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        return self._code(token, "", escape(token.content))

    def _code(self, token: Token, language: str, code: str) -> str:
        return (
            f'<div class="code"{_lines(token)}>{language}<pre tabindex="0"><code>{code}</code></pre></div>\n'
        )

    def math_inline(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f'<code class="math">{escape(tokens[at].content)}</code>'

    def math_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        code = escape(tokens[at].content.strip())
        return f'<pre class="math" tabindex="0"{_lines(tokens[at])}><code>{code}</code></pre>'

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
        if SCHEME.match(target) or target.startswith("//"):
            return target, "external"
        target = unquote(target)
    path, _, fragment = target.partition("#")
    if not path:
        return "#" + slug(fragment), ""
    page = context.link(target) or context.link(path)
    if page is not None:
        return (f"{page}#{slug(fragment)}" if fragment else page), ""
    return (None if wikilink else context.file(path)), ""
