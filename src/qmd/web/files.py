"""How the page addresses and sends files of collections."""

from __future__ import annotations

from starlette.convertors import PathConvertor, register_url_convertor

#: A file that is opened by itself runs no script and loads nothing.
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "private, no-cache",
    "referrer-policy": "no-referrer",
}


class _DocumentConvertor(PathConvertor):
    """A path in the index. The names of files may contain line breaks."""

    regex = "(?s:.*)"


register_url_convertor("document", _DocumentConvertor())
