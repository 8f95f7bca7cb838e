"""Answers of the page: templates, security headers, entity tags and languages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.staticfiles import NotModifiedResponse, StaticFiles

from qmd.features.page import messages
from qmd.features.page.addresses import read_address
from qmd.features.page.embeds import media
from qmd.text.dates import of_mtime
from qmd.text.uris import encode_path, to_uri
from qmd.text.values import shown
from qmd.text.wording import visible

#: Nothing is loaded from elsewhere, and no script can turn text into HTML or code.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:{images}; "
    "media-src 'self'; {frames}"
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
#: A file of a collection that is opened by itself runs no script and loads nothing.
FILE_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
    "referrer-policy": "no-referrer",
}
#: The viewers of PDF in browsers do not work in a sandbox.
PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
#: An index that had all changes so long ago is shown as up to date.
_RECENT = timedelta(seconds=30)
_HTML = "text/html; charset=utf-8"
#: Headers that a page does not have while it is still written.
_OF_WHOLE = ("content-length", "content-type", "etag")
#: What only readers of the source need: indentation, and lines that are comments or empty.
_ASIDE = re.compile(rb"^[ ]+|^[ ]*(?://[^\n]*|/\*[^*\n]*\*/)?\n", re.M)
_TYPES = {"qmd.js": "text/javascript", "qmd.css": "text/css", "icon.svg": "image/svg+xml"}


@cache
def _asset(name: str) -> tuple[bytes, str]:
    """Return the content of a static file, and its digest."""
    content = files("qmd.features.page").joinpath("static", name).read_bytes()
    content = _ASIDE.sub(b"", content)
    return content, hashlib.sha256(content).hexdigest()[:16]


def asset_address(name: str) -> str:
    """Return the address of a static file. It changes with its content, so browsers may keep the file."""
    return f"/assets/{name}?{_asset(name)[1]}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("qmd.features.page"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.globals.update(
        asset=asset_address,
        encode=encode_path,
        media=media,
        read=read_address,
        is_recent=_is_recent,
        visible=visible,
        uri=to_uri,
    )
    environment.filters.update(
        bytes=_bytes,
        day=_day,
        instant=_instant,
        moment=_moment,
        grouped="{:,}".format,
        shown=_shown,
        stem=_stem,
    )
    return environment


def translator(request: Request) -> messages.Translate:
    """Return the function that translates to the language of a request."""
    return messages.LANGUAGES[messages.choose(request.headers.get("accept-language", ""))]


def page(
    request: Request,
    template: str,
    /,
    *,
    status: int = 200,
    forms: bool = False,
    remote_images: bool = False,
    framed: bool = False,
    **values: Any,
) -> Response:
    """Return a page in the language of a request with all security headers, or 304 if the client has it.

    `forms` is whether the page has forms that post: without a referrer, browsers send `Origin: null`, and the
    check of the origin would refuse them. No other site gets a referrer either way.
    """
    body = part(request)(template, framed=framed, **values).encode()
    headers = {
        **_HEADERS,
        "content-security-policy": _POLICY.format(
            images=" http: https:" if remote_images else "", frames="frame-src 'self'; " if framed else ""
        ),
        "referrer-policy": "same-origin" if forms else "no-referrer",
        "cache-control": "private, no-cache",
        "vary": "accept-language, cookie",
        "etag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
    }
    response = Response(body, status, headers, media_type=_HTML)
    return unless_known(request, response) if status == 200 and request.method == "GET" else response


def part(request: Request) -> Callable[..., str]:
    """Return the function that renders templates in the language of a request."""
    language = messages.choose(request.headers.get("accept-language", ""))
    translate = messages.LANGUAGES[language]

    def plural(n: int, one: str, many: str) -> str:
        return translate(one if n == 1 else many, n=f"{n:,}")

    theme = request.cookies.get("qmd-theme", "")
    common = {
        "_": translate,
        "plural": plural,
        "language": language,
        "path": request.url.path,
        "theme": theme if theme in ("light", "dark") else "",
    }
    return lambda template, **values: _environment().get_template(template).render(common | values)


def streamed(request: Request, template: str, parts: AsyncIterator[str], /, **values: Any) -> Response:
    """Return a page that has parts of HTML at its mark, each of which is sent as soon as it is there."""
    whole = page(request, template, **values)
    before, _, after = bytes(whole.body).partition(b"<!--sentences-->")

    async def pieces() -> AsyncIterator[bytes]:
        yield before
        async for each in parts:
            yield each.encode()
        yield after

    headers = {name: value for name, value in whole.headers.items() if name not in _OF_WHOLE}
    return StreamingResponse(pieces(), headers=headers, media_type=_HTML)


def unless_known(request: Request, response: Response) -> Response:
    """Return 304 in place of a response that the client has, by its entity tag or its date."""
    if StaticFiles().is_not_modified(response.headers, request.headers):
        return NotModifiedResponse(response.headers)
    return response


def asset_answer(request: Request, name: str) -> Response | None:
    """Return a static file, or 304 if the client has it; None if there is none."""
    if name not in _TYPES:
        return None
    content, digest = _asset(name)
    cached = {"cache-control": "public, max-age=31536000, immutable", "etag": f'"{digest}"'}
    media_type = f"{_TYPES[name]}; charset=utf-8"
    return unless_known(request, Response(content, headers=_HEADERS | cached, media_type=media_type))


def _day(date: str | int | None) -> str:
    """Return the day of a date, given as text or in nanoseconds since the epoch."""
    if isinstance(date, int):
        return of_mtime(date)[:10]
    return (date or "")[:10]


def _bytes(number: int) -> str:
    """Return a size in the largest unit that leaves a whole number."""
    units = ("B", "kB", "MB", "GB")
    power = next((power for power in (3, 2, 1) if number >= 1000**power), 0)
    return f"{number / 1000**power:.1f}".removesuffix(".0") + f" {units[power]}"


def _instant(nanoseconds: int) -> str:
    """Return a time in nanoseconds since the epoch as browsers read it."""
    return f"{of_mtime(nanoseconds)}Z"


def _moment(time: str) -> str:
    """Return a time to the second, in UTC."""
    return f"{time[:10]} {time[11:19]} UTC"


def _is_recent(time: str) -> bool:
    """Return whether a time is the present, so that pages of an index that is watched stay the same."""
    return datetime.now(UTC) - datetime.fromisoformat(time) < _RECENT


def _shown(value: str | float) -> str:
    """Return a value of a field as it is shown."""
    return visible(shown(value).removesuffix("T00:00:00"))


def _stem(file: str) -> str:
    """Return the name of a file without the suffix of Markdown."""
    return file.rpartition("/")[2].removesuffix(".md")


def safe(html: str) -> Markup:
    """Mark HTML that `qmd.features.page.markdown` has made as safe."""
    return Markup(html)
