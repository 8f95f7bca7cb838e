"""Render Markdown to HTML that is safe whatever a document contains.

There are two locks. The parser creates elements only for Markdown, and for tags of a small set; other HTML in
a document is text, and links have known schemes. Then nh3 removes everything that is not in `_ALLOWED`. The
policy of the page is the third.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import Any
from urllib.parse import unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from msgspec import Struct, field
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from qmd.features.page import html_tags
from qmd.features.page.budget import CODE, FORMULA, PER_TEX, SECONDS, Budget
from qmd.features.page.embeds import media, sized
from qmd.features.page.rendered import LINES, Heading, Rendered
from qmd.features.page.syntax import INLINE_IMAGE, SCHEME, block_anchor, is_safe, parser
from qmd.text.markup import without_site_markup

#: Characters of code that are coloured in a document. The rest is shown as it is.
_MAX_COLOURED = 30_000
#: Characters that a lexer gets at once, in whole lines.
_PIECE = 1_000
_TEXT_TAGS = "p h1 h2 h3 h4 h5 h6 blockquote ul ol li hr br em strong s del code pre mark sup sub section"
_ALLOWED = {*_TEXT_TAGS.split(), "audio", "video", "tbody"}
_ALLOWED |= html_tags.INLINE | html_tags.BLOCKS | html_tags.MATH_ELEMENTS
_ATTRIBUTES = {
    "*": {"class", "id", "dir", "data-lines"},
    "a": {"href", "title", "target"},
    "img": {"src", "alt", "title", "width", "height", "loading"},
    "audio": {"src", "title", "controls", "preload"},
    "video": {"src", "title", "controls", "preload", "width", "height"},
    "ol": {"start"},
    "span": {"role", "aria-label", "title"},
    "details": {"open"},
    "th": {"colspan", "rowspan"},
    "td": {"colspan", "rowspan"},
    "pre": {"tabindex"},
    "div": {"tabindex", "role"},
    **html_tags.MATH_ATTRIBUTES,
}


#: Languages of code that describes a diagram.
_DIAGRAMS = ("mermaid", "plantuml", "dot", "graphviz", "d2")


class Context(Struct):
    """The surroundings of a document, for rendering.

    Attributes:
        link: Returns the address of the page for the target of a link; None if it leads to no document.
        file: Returns the address of a file beside the document, such as an image; None if there is none.
        first_line: The line of the text's first line.
        remote_images: Whether images on other hosts are loaded.
        say: Translates a text of the page to the language of the reader.
        budget: The budget of the page.
        embed: Returns the note for the target of an embed; None if it is not shown here.
        page: The address of a document that is shown in another one, in which its lines and ids mean nothing.
    """

    link: Callable[[str], str | None]
    file: Callable[[str], str | None]
    first_line: int = 1
    remote_images: bool = False
    say: Callable[[str], str] = str
    budget: Budget = field(default_factory=Budget)
    embed: Callable[[str], Embedded | None] = lambda target: None
    page: str = ""
    headings: list[Heading] = field(default_factory=list)
    blocked: int = 0
    coloured: int = 0


class Embedded(Struct, frozen=True):
    """A part of another note: its text, and its surroundings for rendering."""

    text: str
    context: Context


def render(text: str, context: Context) -> Rendered:
    """Return a Markdown text as HTML; the rest when the budget is spent is plain text in it."""
    html = _clean(_render(without_site_markup(text), context))
    return Rendered.of(html, context.headings, context.blocked, short=context.budget.short)


def _render(text: str, context: Context) -> str:
    env = {"context": context, "budget": context.budget, "open": html_tags.Open()}
    return str(_parser().render(text, env))


def slug(text: str) -> str:
    """Return the id of a heading. It has a prefix, so that it is never a name that scripts use."""
    return "h-" + re.sub(r"[^\w]+", "-", text.casefold()).strip("-")[:80]


def anchor(fragment: str) -> str:
    """Return the id of the element that the fragment of a link names: a heading or a block."""
    last = fragment.rstrip("#").rpartition("#")[2].strip()
    return block_anchor(last[1:]) if last.startswith("^") else slug(last)


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
    taken: dict[str, int] = {}  # ids, with the number of the last heading that would have had the same
    for at, token in enumerate(state.tokens):
        if context.page:
            token.attrs.pop("id", None)
            continue
        if token.type == "heading_open":
            text = _plain(state.tokens[at + 1])
            name = base = slug(text)
            while name in taken:
                taken[base] += 1
                name = f"{base}-{taken[base]}"
            taken[name] = 1
            token.attrSet("id", name)
            context.headings.append(Heading(text, int(token.tag[1]), name))
        if token.map is not None and token.nesting >= 0 and token.block and token.tag and not token.hidden:
            first, end = (line + context.first_line for line in token.map)
            token.attrSet(LINES, f"{first} {end}")


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
    """Return code in colours; empty if its language is not known, or too much has been coloured already.

    The time of some lexers grows with the square of the text or worse, so they get a piece at a time, and the
    budget pays for their time.
    """
    if not language or context.coloured + len(code) > _MAX_COLOURED or not context.budget.take(CODE):
        return ""
    try:
        lexer = get_lexer_by_name(language.lower())
    except ClassNotFound:
        return ""
    context.coloured += len(code)
    parts = []
    for piece in _pieces(code):
        if len(piece) > _PIECE or not context.budget.take():
            parts.append(escape(piece, quote=False))
            continue
        started = time.thread_time()
        parts.append(highlight(piece, lexer, _FORMATTER))
        context.budget.take(int((time.thread_time() - started) / SECONDS))
    return "".join(parts)


def _pieces(code: str) -> Iterator[str]:
    """Yield code in pieces of whole lines, of at most `_PIECE` characters unless a line is longer."""
    piece = ""
    for line in code.splitlines(keepends=True):
        if piece and len(piece) + len(line) > _PIECE:
            yield piece
            piece = ""
        piece += line
    yield piece


def _lines(token: Token) -> str:
    return f' {LINES}="{token.attrs[LINES]}"' if LINES in token.attrs else ""


class _Renderer(RendererHTML):
    """Renders the tokens that this module adds, and resolves links and images."""

    def task(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        done = tokens[at].meta["done"]
        label = escape(env["context"].say("done" if done else "open"), quote=True)
        return f'<span class="task{" done" if done else ""}" role="img" aria-label="{label}"></span>'

    def table_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        lines = _lines(tokens[at])
        tokens[at].attrs.pop(LINES, None)
        table = self.renderToken(tokens, at, options, env)
        return f'<div class="table" tabindex="0" role="group"{lines}>{table}'

    def table_close(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f"{self.renderToken(tokens, at, options, env)}</div>"

    def th_open(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        # The policy of the page allows no style attributes.
        style = str(tokens[at].attrs.pop("style", ""))
        if style:
            tokens[at].attrJoin("class", style.rpartition(":")[2])
        return self.renderToken(tokens, at, options, env)

    td_open = th_open

    def fence(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        token = tokens[at]
        language = token.info.strip().partition(" ")[0]
        code = _coloured(token.content, language, env["context"]) or escape(token.content)
        # The programs that draw diagrams need inline styles, which the policy of the page refuses.
        note = f" · {env['context'].say('a diagram, as its source')}" if language.lower() in _DIAGRAMS else ""
        shown = f'<span class="language">{escape(language + note)}</span>' if language else ""
        return f'<div class="code"{_lines(token)}>{shown}<pre tabindex="0"><code>{code}</code></pre></div>\n'

    code_block = fence  # type: ignore[assignment]  # called by position

    def rest(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return f'<pre class="rest" tabindex="0"{_lines(tokens[at])}>{escape(tokens[at].content)}</pre>\n'

    def math_inline(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        tex = tokens[at].content
        return _mathml(tex, env, block=False) or f'<code class="math">{escape(tex)}</code>'

    def math_block(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        tex = tokens[at].content.strip()
        html = _mathml(tex, env, block=True) or f"<pre><code>{escape(tex)}</code></pre>"
        return f'<div class="math" tabindex="0" role="group"{_lines(tokens[at])}>{html}</div>'

    def html_tags(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return html_tags.block_html(tokens[at].content, env["open"], *_html_addresses(env["context"]))

    def html_tag(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        return html_tags.tag_html(tokens[at].meta["match"], env["open"], *_html_addresses(env["context"]))

    def embed(self, tokens: Sequence[Token], at: int, options: Any, env: Any) -> str:
        """Show a note, or the link to it, in place of a paragraph."""
        token, context = tokens[at], env["context"]
        link = self.renderInline(token.children or [], options, env)
        found = context.embed(token.meta["target"])
        if found is None:
            return f"<p{_lines(token)}>{link}</p>\n"
        html = _render(found.text, found.context)
        context.blocked += found.context.blocked
        context.coloured += found.context.coloured
        title = f'<p class="embed-title">{link}</p>'
        return f'<section class="embed"{_lines(token)}>{title}{html}</section>\n'

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
        token = tokens[at]
        source = str(token.attrGet("src") or "")
        alt, sizes = sized(self.renderInlineAsText(token.children or [], options, env))
        html = _media(source, alt, sizes, env["context"])
        if not (alt and token.meta.get("caption")):
            return html
        return f'<span class="figure">{html}<span class="caption">{escape(alt)}</span></span>'


def _mathml(tex: str, env: Mapping[str, Any], *, block: bool) -> str | None:
    enough = env["context"].budget.take(FORMULA + PER_TEX * len(tex))
    return html_tags.mathml(tex, block=block) if enough else None


def _html_addresses(context: Context) -> tuple[html_tags.Address, html_tags.Address]:
    """Return functions that write the links and images of HTML in a document."""

    def link(given: Mapping[str, str]) -> str:
        address, css = _resolve(given.get("href", ""), context, wikilink=False)
        if address is None or not is_safe(address):
            return "<a>"
        external = ' class="external" target="_blank"' if css else ""
        return f'<a href="{escape(address)}"{external}>'

    def image(given: Mapping[str, str]) -> str:
        sizes = {name: given[name] for name in ("width", "height") if given.get(name, "").isdecimal()}
        return _media(given.get("src", ""), given.get("alt", ""), sizes, context)

    return link, image


def _media(source: str, alt: str, sizes: Mapping[str, str], context: Context) -> str:
    """Return an image, a sound or a film, or its name if it is not loaded."""
    shown = escape(alt or source)
    kind = media(source.partition("#")[0].partition("?")[0])
    if source.startswith("data:"):
        address: str | None = source
    elif source.lower().startswith(("http:", "https:", "//")):
        if kind in ("audio", "video") or not context.remote_images:
            context.blocked += kind not in ("audio", "video")
            return f'<a class="image-left-out" href="{escape(source)}" target="_blank">{shown}</a>'
        address = source
    else:
        address = context.file(unquote(source))
    if address is None:
        return f'<span class="image-left-out">{shown}</span>'
    size = "".join(f' {name}="{escape(value)}"' for name, value in sizes.items())
    if kind in ("audio", "video"):
        return f'<{kind} src="{escape(address)}" title="{shown}" controls="" preload="none"{size}></{kind}>'
    return f'<img src="{escape(address)}" alt="{shown}"{size} loading="lazy">'


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
        return f"{context.page}#{anchor(fragment)}", ""
    page = context.link(target) or context.link(path)
    if page is not None:
        return (f"{page}#{anchor(fragment)}" if fragment else page), ""
    return (None if wikilink else context.file(path)), ""
