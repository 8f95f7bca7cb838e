"""`pack`: the evidence for a goal, within a number of tokens."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from qmd.cli import options
from qmd.cli.console import current
from qmd.cli.render.programs import dumps
from qmd.cli.search import note_what_is_missing, response_of
from qmd.cli.session import Session
from qmd.cli.show import plain_view, show_json
from qmd.cli.terminal import one_line, write
from qmd.cli.usage import Exit, fail
from qmd.config.paths import cache_dir
from qmd.errors import SourceError
from qmd.features.evidence import markdown
from qmd.features.evidence.given import GivenFiles
from qmd.features.evidence.markdown import MAX_BYTES
from qmd.features.evidence.packs import PackRequest
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.features.evidence.types import Pack

_VERIFY = "verify"


def pack(session: Session, /, text: tuple[str, ...], since: str | None, **arguments: Any) -> None:
    """Collect the passages for a question or a task in one text, for a language model."""
    if text[0] == _VERIFY and len(text) == 2:
        _verify(session, text[1])
        return
    if arguments["again"] and arguments["session"] is None:
        fail("--again needs --session ID")
    search = options.search_request(options.query_text(text), arguments)
    request = PackRequest(
        search, None if since is None else _earlier(since), arguments["session"], arguments["again"]
    )
    session.uses |= {"marks"}
    render = _as_json if options.chosen_format() == "json" else markdown.render
    _ = session.whole_index  # opened for a person, who may be asked for approval
    session.agent = not arguments["secrets"]
    made = session.index.run_pack(
        request,
        run=lambda search: response_of(session, "query", search, arguments),
        given=GivenFiles(cache_dir(current().environ)),
        render=render,
    )
    note_what_is_missing(session, made.stages, arguments)
    write(plain_view().shown(render(made)))
    session.abandoned |= any(stage.status == "timed_out" for stage in made.stages)


def _as_json(pack: Pack) -> str:
    return dumps(pack)


def _earlier(name: str) -> str:
    """Return the text of a file with a pack, or the id of a pack if there is no such file."""
    return _read(name) if name == "-" or os.path.exists(os.path.join(current().folder(), name)) else name


def _read(name: str) -> str:

    try:
        if name == "-":
            data = current().read(MAX_BYTES + 1)
        else:
            with open(os.path.join(current().folder(), name), "rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        hint = f"to look for these words, put them in quotes: qmd pack '{_VERIFY} {name}'"
        raise SourceError(f"cannot read {name}: {error.strerror}", hint) from error
    if len(data) > MAX_BYTES:
        raise SourceError(f"{name} is larger than {MAX_BYTES // 1_000_000} MB")
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _verify(session: Session, name: str) -> None:
    """Show what became of the passages of a pack, and exit with 1 unless all hold."""
    checks = session.index.verify_pack(_read(name))
    if options.chosen_format() == "json":
        show_json(checks)
    else:
        for check in checks:
            detail = f" -> {check.now}" if check.now else f": {check.difference}" if check.difference else ""
            write(one_line(f"[{check.number}] {check.standing} {check.address}{detail}") + "\n")
        counts = Counter(check.standing for check in checks)
        parts = ", ".join(f"{number:,} {standing}" for standing, number in counts.items()) or "none"
        write(f"{plural(len(checks), 'passage')}: {parts}.\n")
    if any(check.standing != "holds" for check in checks):
        raise Exit(1)
