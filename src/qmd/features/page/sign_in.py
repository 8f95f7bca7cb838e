"""Sign in to the page with a key, and out."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from qmd.features.page.forms import local_address, one, read_form
from qmd.server.keys import Key, Keys
from qmd.server.sessions import Sessions, set_cookie, token_of


class SignIn:
    """The sessions of the page. `keys` are None if the server takes none; `page` makes a page."""

    def __init__(self, keys: Keys | None, page: Callable[..., Response]) -> None:
        self._sessions = None if keys is None else Sessions(keys)
        self._page = page

    def key(self, scope: Scope) -> Key | None:
        """Return the key with which the sender of a request has signed in."""
        token = token_of(Headers(scope=scope))
        return None if token is None or self._sessions is None else self._sessions.key(token)

    async def refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send people to the page to sign in, and back after that."""
        request = Request(scope, receive)
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        there = "/sign-in" if asked == "/" or request.method != "GET" else f"/sign-in?next={quote(asked)}"
        await RedirectResponse(there, 303)(scope, receive, send)

    def start(self, request: Request, secret: str, response: Response) -> bool:
        """Sign the receiver of a response in with a key. Return whether there is such a key."""
        token = None if self._sessions is None else self._sessions.start(secret)
        if token is not None:
            _set_cookie(request, token, response)
        return token is not None

    async def sign_in(self, request: Request) -> Response:
        """Answer with the form, or to it."""
        there = local_address(request.query_params.get("next", "/"))
        wrong = request.method == "POST" and self._sessions is not None
        if wrong:
            response = RedirectResponse(there, 303)
            if self.start(request, one(await read_form(request), "key"), response):
                return response
        status = 403 if wrong else 200
        return self._page(request, "sign_in.html", status=status, forms=True, there=there, wrong=wrong)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        token = token_of(request.headers)
        if token is not None and self._sessions is not None:
            self._sessions.end(token)
        response = RedirectResponse("/sign-in", 303)
        _set_cookie(request, "", response)
        return response


def _set_cookie(request: Request, token: str, response: Response) -> None:
    response.headers["set-cookie"] = set_cookie(request.headers, token, secure=request.url.scheme == "https")
