"""The routes of the page."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlencode

import anyio
from msgspec.structs import replace
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Route

from qmd.api import operations
from qmd.api.operations import Deadline
from qmd.api.shown import browse, is_file
from qmd.engine.index import Index
from qmd.engine.requests import SearchRequest
from qmd.errors import (
    BusyError,
    DocumentNotFoundError,
    NotFoundError,
    QmdError,
    UsageError,
    VectorIndexMissingError,
)
from qmd.features.page import answers, document, folders, pages, search, upkeep
from qmd.features.page.addresses import read_address
from qmd.features.page.completion import complete
from qmd.features.page.filters import chips, filter_for
from qmd.features.page.forms import Form, check_origin, one, read_form
from qmd.features.page.jobs import Job, Jobs
from qmd.features.page.sign_in import SignIn
from qmd.models.base import Cancelled
from qmd.server.access import index_of
from qmd.server.host_check import headers_of, is_foreign
from qmd.server.index_host import IndexHost
from qmd.server.keys import Keys, key_of
from qmd.text.question import Question
from qmd.text.wording import visible
from qmd.types.cancelling import stop_if_cancelled


class _DocumentConvertor(PathConvertor):
    """A path in the index. The names of files may contain line breaks."""

    regex = "(?s:.*)"


register_url_convertor("document", _DocumentConvertor())

Answer = TypeVar("Answer")
_PAGES = (
    "complete",
    "answer",
    "read",
    "folder",
    "similar",
    "file",
    "why",
    "upkeep",
    "help",
    "sign-in",
    "sign-out",
    "assets",
)
_PUBLIC = ("sign-in", "assets")
#: What pages of other sites may lead to. The others cost more time.
_LINKED = ("read", "folder", "help", "sign-in")
#: Answers of a model at the same time.
_ANSWERS = 2
#: Documents and tags of the home page.
_RECENT, _TAGS = 8, 40


class Web:
    """The pages of a server. `keys` are None if the server takes none."""

    def __init__(self, host: IndexHost, keys: Keys | None) -> None:
        self._host = host
        self._keys = keys
        self._sign_in = sign_in = SignIn(keys, self._page)
        # As `qmd.server.access.Pages`.
        self.key, self.refuse = sign_in.key, sign_in.refuse
        self.jobs = Jobs(host)
        self.run = self.jobs.run
        self._answers = anyio.CapacityLimiter(_ANSWERS)
        self.routes = [
            Route(path, self._answering(handler), methods=methods)
            for path, handler, methods in (
                ("/", self._search, ["GET"]),
                ("/complete", self._complete, ["GET"]),
                ("/answer", self._answer, ["POST"]),
                ("/read/{file:document}", self._read, ["GET", "POST"]),
                ("/folder/{file:document}", self._folder, ["GET"]),
                ("/similar/{file:document}", self._similar, ["GET"]),
                ("/file/{file:document}", self._file, ["GET"]),
                ("/why", self._why, ["GET"]),
                ("/help", self._help, ["GET"]),
                ("/upkeep", self._upkeep, ["GET"]),
                ("/upkeep/job", self._job, ["GET"]),
                ("/upkeep/vectors", self._vectors, ["GET"]),
                ("/upkeep/doctor", self._doctor, ["POST"]),
                ("/upkeep/{action}", self._change, ["POST"]),
                ("/sign-in", sign_in.sign_in, ["GET", "POST"]),
                ("/sign-out", sign_in.sign_out, ["POST"]),
                ("/assets/{name}", self._asset, ["GET"]),
            )
        ]

    def owns(self, path: str) -> bool:
        return path == "/" or _first_part(path) in _PAGES

    def may_be_linked(self, path: str) -> bool:
        return path in ("/", "/upkeep") or _first_part(path) in _LINKED

    def is_public(self, path: str) -> bool:
        return _first_part(path) in _PUBLIC

    def target(self, method: str, path: str, body: bytes) -> str | None:
        """Return the change that a form asks for: the action and the values of some fields."""
        first, _, action = path.strip("/").partition("/")
        if method != "POST" or first != "upkeep":
            return None
        try:
            fields = parse_qs(body.decode(), max_num_fields=100)
        except ValueError:
            fields = {}
        values = (" ".join(fields[name]) for name in ("name", "path", "place", "new_name") if name in fields)
        return " ".join((action, *values))

    def missing(self, request: Request) -> Response:
        path = visible(request.url.path)[:200]
        return self._error(request, NotFoundError(f"There is no page {path}", "search for it above"))

    # Handlers.

    def _answering(
        self, handler: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            try:
                if request.method not in ("GET", "HEAD"):
                    check_origin(request)
                return await handler(request)
            except QmdError as error:
                return self._error(request, error)

        return answer

    async def _call(
        self,
        request: Request,
        work: Callable[[Index, Cancelled], Answer],
        *,
        models: bool = False,
        slow: bool = False,
        page: bool = False,
        whole: bool = False,
    ) -> Answer:
        """Run work with the index as the sender of a request may see it, in a thread."""
        return await self._host.call(
            lambda index, cancelled: work(index_of(request.scope, index), cancelled),
            models=models,
            slow=slow,
            page=page,
            whole=whole,
        )

    def _page(self, request: Request, template: str, /, **values: Any) -> Response:
        """Return a page; see `pages.page` for the arguments that are no values of the template."""
        return pages.page(request, template, **(self._common(request) | values))

    def _common(self, request: Request) -> dict[str, Any]:
        seen = self._seen(request)
        asks = answers.are_made(seen)
        signed_in = key_of(request.scope) is not None
        return {"may": seen.permissions, "signed_in": signed_in, "query": "", "asks": asks, "forms": asks}

    async def _search(self, request: Request) -> Response:
        asked = search.read_parameters(request.query_params)
        part = request.query_params.get("part", "")
        if is_foreign(headers_of(request.scope)):
            asked = replace(asked, mode="words")  # the page that led here decides nothing that costs time
        if not asked.query:
            return await self._home(request)
        if (
            not part
            and "/" in asked.query
            and await self._call(request, lambda index, _: is_file(index, asked.query))
        ):
            return RedirectResponse(read_address(asked.query), 303)
        # After each key the results alone are asked for.
        facets = part != "list"
        if not facets:
            asked = replace(asked, limit=min(asked.limit, search.FIRST))
        models = asked.mode in ("meaning", "both")
        try:
            results, error = (
                await self._call(
                    request,
                    lambda index, cancelled: search.run(index, asked, cancelled, facets=facets),
                    models=models,
                ),
                None,
            )
        except (NotFoundError, UsageError, VectorIndexMissingError) as raised:
            results, error = None, raised
        return self._page(
            request,
            "_results.html" if part else "search.html",
            query=asked.query,
            asked=asked,
            mode=results.mode if results else asked.mode or "words",
            results=results,
            error=error,
            chips=results.chips if results else chips(Question.read(asked.query)),
            href=lambda **changes: f"/?{urlencode(asked.parameters(**changes))}",
        )

    async def _complete(self, request: Request) -> Response:
        query = request.query_params.get("q", "").replace("\0", " ")[:10_000]
        found = await self._call(request, lambda index, _: complete(index, query))
        return self._page(request, "_completions.html", found=found)

    async def _answer(self, request: Request) -> Response:
        """Answer a question. Only a form of the page can ask: the model may be on another machine."""
        question = one(await read_form(request), "q")[:10_000]

        async def run(work: Callable[[Index, Cancelled], Answer]) -> Answer:
            async with self._answers:  # so that threads remain for searches
                return await self._call(request, work, models=True)

        written = answers.written(question, run, pages.part(request))
        return pages.streamed(
            request, "answer.html", written, **(self._common(request) | {"query": question})
        )

    async def _home(self, request: Request) -> Response:
        view = await self._call(request, lambda index, _: browse(index, recent=_RECENT, tags=_TAGS))
        saved = await self._call(request, lambda index, _: search.saved(index))
        return self._page(request, "home.html", view=view, saved=saved)

    async def _read(self, request: Request) -> Response:
        parameters = request.query_params
        translate = pages.translator(request)
        query, typing = parameters.get("q", "")[:10_000], parameters.get("live") == "1"
        line = document.require_line(parameters.get("line", ""))
        wanted = parameters.get("view", "")
        source = wanted == "source"
        first_line = document.require_line(parameters.get("from", "")) or 1
        file = request.path_params["file"]
        # Only a form of this page can ask for images on other servers: a link in a document cannot.
        remote = request.method == "POST"
        view = await self._call(
            request,
            lambda index, cancelled: document.view(
                index,
                file,
                translate,
                Deadline(document.MAX_SECONDS, cancelled),
                query=query,
                typing=typing,
                line=line,
                source=source,
                first_line=first_line,
                remote_images=remote,
            ),
            page=True,
        )
        here = view.page.document.file
        if here != file and request.method == "GET":
            return RedirectResponse(read_address(here, **dict(parameters)), 303)
        shown = {
            "q": query,
            "live": 1 if typing else None,
            "line": line,
            "view": wanted if wanted in ("source", "original") else None,
        }
        # Only what the page shows may be in its frame.
        framed = wanted == "original" and view.is_pdf
        return self._page(
            request,
            "document.html",
            forms=view.rendered.blocked_images > 0,
            remote_images=remote,
            framed=framed,
            query=query,
            view=view,
            line=line,
            source=source,
            begins={place.line: place for place in view.places},
            place_address=document.place_address,
            crumbs=here.split("/"),
            lines=document.LINES,
            max_links=document.MAX_LINKS,
            same=lambda **changes: read_address(here, **(shown | changes)),
        )

    async def _folder(self, request: Request) -> Response:
        found = await self._call(request, lambda index, _: folders.look(index, request.path_params["file"]))
        collection, _, below = found.path.partition("/")
        within = filter_for("collection", collection) + (
            f" {filter_for('path', below + '/')}" if below else ""
        )
        return self._page(
            request,
            "folder.html",
            folder=found,
            crumbs=found.path.split("/"),
            within=f"{within} ",
            most=folders.MOST,
        )

    async def _similar(self, request: Request) -> Response:
        file = request.path_params["file"]
        notes, hits = await self._call(
            request, lambda index, cancelled: search.related(index, file, cancelled), slow=True
        )
        return self._page(request, "similar.html", file=file, notes=notes, hits=hits)

    async def _file(self, request: Request) -> Response:
        path, media_type = await self._call(
            request, lambda index, _: index.file_on_disk(request.path_params["file"])
        )
        headers = dict(pages.FILE_HEADERS)
        if media_type == "application/pdf":
            headers["content-security-policy"] = pages.PDF_POLICY
        response = FileResponse(
            path,
            headers=headers,
            media_type=media_type,
            stat_result=os.stat(path),
            content_disposition_type="inline",
        )
        return pages.unless_known(request, response)

    async def _why(self, request: Request) -> Response:
        parameters = request.query_params
        asked = search.read_parameters(parameters)
        reference = parameters.get("doc", "").strip()
        mode: search.Mode = asked.mode or "words"
        why = None
        if asked.query and reference:
            wanted = SearchRequest(asked.query, limit=search.PAGE)
            why = await self._call(
                request,
                lambda index, _: index.why(reference, search.MODES[mode], wanted),
                models=mode != "words",
                slow=True,
            )
        return self._page(request, "why.html", query=asked.query, reference=reference, mode=mode, why=why)

    async def _help(self, request: Request) -> Response:
        return self._page(request, "help.html")

    async def _upkeep(self, request: Request, busy: BusyError | None = None, secret: str = "") -> Response:
        view = await self._call(request, lambda index, _: upkeep.view(index, self._keys))
        return self._page(
            request,
            "upkeep.html",
            status=busy.http_status if busy else 200,
            forms=True,
            job=self._visible_job(request),
            takes_keys=self._keys is not None,
            busy=busy,
            secret=secret,
            **view,
        )

    async def _job(self, request: Request) -> Response:
        return self._page(request, "_job.html", forms=True, job=self._visible_job(request))

    async def _vectors(self, request: Request) -> Response:
        state = await self._call(request, lambda index, _: operations.state_of(index))
        return self._page(request, "_vectors.html", state=state)

    async def _doctor(self, request: Request) -> Response:
        findings = await self._call(
            request,
            lambda index, cancelled: index.doctor(on_step=lambda _: stop_if_cancelled(cancelled)),
            models=True,
            whole=True,
        )
        return self._page(request, "doctor.html", findings=findings)

    async def _change(self, request: Request) -> Response:
        action, form = request.path_params["action"], await read_form(request)
        permissions = self._seen(request).permissions
        permissions.require_write()
        if action in ("scan", "embed", "add", "edit"):
            try:
                self._start(request, action, form)
            except BusyError as error:
                return await self._upkeep(request, busy=error)
        elif action == "stop":
            if self._visible_job(request) is not None:
                self.jobs.stop()
        elif action in ("add-key", "remove-key"):
            permissions.require_all("manage keys")
            if self._keys is None:
                raise UsageError("this server takes no keys")
            if action == "add-key":
                return await self._add_key(request, self._keys, form)
            self._keys.remove(one(form, "name"))
        else:
            await self._host.write(
                lambda index, _: upkeep.change(index_of(request.scope, index), action, form)
            )
        return RedirectResponse("/upkeep", 303)

    async def _add_key(self, request: Request, keys: Keys, form: Form) -> Response:
        names = [name for name in form.get("collection", []) if name]

        def check(index: Index, _: Cancelled) -> None:
            for name in names:
                index.collection(name)

        await self._call(request, check)
        secret = keys.add(one(form, "name"), names, read_only=bool(form.get("read_only")))
        is_first = len(keys.all()) == 1
        response = await self._upkeep(request, secret=secret)
        if is_first:
            # From now on everyone needs a key, so the person who made it is signed in with it.
            self._sign_in.start(request, secret, response)
        return response

    def _start(self, request: Request, action: str, form: Form) -> None:
        key = key_of(request.scope)

        def seen(index: Index) -> Index:
            return index_of(request.scope, index)

        job = Job("embed" if action == "embed" else "scan", None if key is None else key.name)
        if action == "add":
            self._seen(request).permissions.require_all("add a collection")
            path = one(form, "path")
            operations.require_absolute(path)
            self.jobs.start(job, lambda index, job: upkeep.add(seen(index), job, path, form))
        elif action == "edit":
            self._seen(request).permissions.require_all("change what is indexed")
            for name in ("name", "new_name"):
                one(form, name)
            self.jobs.start(job, lambda index, job: upkeep.edit(seen(index), job, form))
        elif action == "scan":
            named = tuple(name for name in form.get("name", []) if name)
            self.jobs.start(job, lambda index, job: upkeep.scan(seen(index), job, named))
        else:
            self.jobs.start(job, lambda index, job: upkeep.embed(seen(index), job), models=True)

    def _seen(self, request: Request) -> Index:
        """Return the index as the sender of a request may see it, whose permissions hold everywhere."""
        return index_of(request.scope, self._host.index)

    def _visible_job(self, request: Request) -> Job | None:
        """Return the current job if the sender of a request may know of it."""
        job, key = self.jobs.current, key_of(request.scope)
        if self._seen(request).permissions.everything or (job and key and job.owner == key.name):
            return job
        return None

    async def _asset(self, request: Request) -> Response:
        found = pages.asset_answer(request, request.path_params["name"])
        if found is None:
            raise NotFoundError(f"There is no file {visible(request.url.path)[:200]}")
        return found

    def _error(self, request: Request, error: QmdError) -> Response:
        suggestions = error.suggestions if isinstance(error, DocumentNotFoundError) else ()
        return self._page(
            request, "error.html", status=error.http_status, error=error, suggestions=suggestions
        )


def _first_part(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]
