"""Requests to the web page."""

from __future__ import annotations

from urllib.parse import urlencode

from tests.clients import Answer, Client


def page(client: Client, path: str, status: int = 200, **headers: str) -> str:
    answer = client.ask("GET", path, **headers)
    assert answer.status == status, answer
    return answer.text


def post(client: Client, path: str, /, *, origin: str | None = "", cookie: str = "", **fields: str) -> Answer:
    """Send a form as the page does.

    Args:
        origin: The header Origin if it is not that of the server; None sends none.
    """
    headers = {"content_type": "application/x-www-form-urlencoded", "cookie": cookie}
    if origin is not None:
        headers["origin"] = origin or f"http://127.0.0.1:{client.port}"
    body = urlencode(fields).encode()
    return client.ask("POST", path, body=body, **{name: value for name, value in headers.items() if value})
