"""The requests that browsers send with POST: forms, and the page that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request

from qmd.errors import ForbiddenError, UsageError

_MAX_FIELDS = 100
#: The values of a form by name; of a name that is repeated, all of them.
Form = Mapping[str, list[str]]


def check_origin(request: Request) -> None:
    """Refuse a write that does not come from a page of this server.

    Every browser sends the origin with a post. Other ports of this machine are other origins, although the
    cookie is sent for them too.

    Raises:
        ForbiddenError: If the origin is missing, or that of another host or port.
    """
    origin, host = request.headers.get("origin", ""), request.headers.get("host", "")
    if not host or urlsplit(origin).netloc.lower() != host.lower():
        raise ForbiddenError("this change was not asked for by a page of this server")


async def read_form(request: Request) -> Form:
    """Return the fields of a form. Raises `UsageError` if the body is none."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise UsageError("the body must be a form")
    try:
        body = (await request.body()).decode()
        return parse_qs(body, keep_blank_values=True, max_num_fields=_MAX_FIELDS, errors="strict")
    except (UnicodeDecodeError, ValueError) as error:
        raise UsageError("the body is not a valid form") from error


def local_address(address: str) -> str:
    """Return an address on this server; `/` in place of any other."""
    parts = urlsplit(address)
    is_local = not parts.scheme and not parts.netloc and address.startswith("/")
    return address if is_local and not address.startswith("//") and "\\" not in address else "/"


def one(form: Form, name: str, *, required: bool = True) -> str:
    """Return the value of a field of a form. Raises `UsageError` if it is required and missing."""
    value = form.get(name, [""])[0].strip()
    if required and not value:
        raise UsageError(f"{name} is missing")
    return value
