"""Commands of the user's other processes, run in a server; `client` is their side."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from contextvars import copy_context
from io import StringIO, TextIOBase
from typing import IO, TYPE_CHECKING, cast

from msgspec import Struct

from qmd._version import __version__
from qmd.cli import console
from qmd.cli.client import COMMANDS, NEEDS_INPUT, state_of
from qmd.cli.running import understood
from qmd.cli.session import Session
from qmd.cli.usage import Exit, MisuseError, NotInServerError
from qmd.config.paths import config_dir
from qmd.config.settings import Settings, resolve
from qmd.engine.access.project_trust import VARIABLE
from qmd.engine.index import Index
from qmd.engine.opening import find_locations, unknown_keys
from qmd.errors import ConflictError, DocumentNotFoundError, QmdError, UsageError
from qmd.store.sqlite.opening import is_database

if TYPE_CHECKING:
    from qmd.types.cancelling import Cancelled

_REFUSAL = "the server has another index, configuration, version or time zone: restart it"
_NOT_HERE = "the server does not run this command as it is written"


class InputNeededError(Exception):
    """The command reads stdin, which the call does not have."""


class Call(Struct, frozen=True):
    """A command of another process: its input, and where its output goes."""

    version: str
    file: str  #: The device and inode of the index file; "" if it is missing
    folder: str
    index_name: str | None
    portable_file: str | None
    terminals: tuple[bool, bool, bool]  #: Whether stdin, stdout and stderr are terminals
    width: int
    environ: Mapping[str, str]
    words: tuple[str, ...]
    input: bytes | None  #: The content of stdin; None if it was not read


def unpack(body: bytes) -> Call:
    """Return the call that `client` has packed. Raises `UsageError` if it is none."""
    try:
        *fixed, number, rest = body.split(b"\0", 8)
        *variables, number_of_words, rest = rest.split(b"\0", int(number) + 1)
        *words, data = rest.split(b"\0", int(number_of_words))
        version, file, folder, index_name, portable_file, terminals, width = map(os.fsdecode, fixed)
        stdin, stdout, stderr = (each == "1" for each in terminals)
        return Call(
            version,
            file,
            folder,
            index_name or None,
            portable_file or None,
            (stdin, stdout, stderr),
            int(width),
            {name: value for name, _, value in (os.fsdecode(each).partition("=") for each in variables)},
            tuple(word.decode() for word in words),
            data[1:] if data.startswith(b"\0") else None,
        )
    except ValueError as error:
        raise UsageError("not a request of this version's command line") from error


class Commands:
    """Runs commands in a server, for the index file that existed at the first one."""

    def __init__(self) -> None:
        self._file = ""

    def answer(self, index: Index, body: bytes, cancelled: Cancelled) -> bytes:
        """Return the output of a command, and its exit code.

        Raises `ConflictError` if the command would write anything else in its own process, or may do so.
        """
        call = unpack(body)
        served = _Console(call)
        session = _Session(index, call, cancelled)
        # In a context of its own, in which the console is that of the command.
        code = copy_context().run(self._run, call, session, served)
        return b"%b\n%b" % (code.encode(), b"".join(served.written()))

    def _run(self, call: Call, session: _Session, served: _Console) -> str:
        console.use(served)
        try:
            work = understood(call.words, session)
        except (MisuseError, Exit) as error:
            raise ConflictError(_NOT_HERE) from error
        self._check(call, session)
        try:
            work()
        except InputNeededError:
            served.pieces.clear()
            return NEEDS_INPUT
        except (NotInServerError, MisuseError) as error:
            raise ConflictError(_NOT_HERE) from error
        except Exit as done:
            return str(done.exit_code)
        except QmdError as error:
            if isinstance(error, DocumentNotFoundError) and "get" in session.path:
                # The name may be that of a file in the folder of the command.
                raise ConflictError(_NOT_HERE) from error
            from qmd.cli.errors import show

            return str(show(error, session))
        return "0"

    def _check(self, call: Call, session: _Session) -> None:
        """Raise `ConflictError` if the command would use another index, configuration, version or zone."""
        index = session.index_of_server
        if not self._file:
            self._file = state_of(index.locations.index)
        name = session.path.removeprefix("qmd ")
        files = ",".join((*session.words, (call.input or b"").decode("utf-8", "replace")))
        alike = (
            call.version == __version__
            and name in COMMANDS
            and (session.index_name, session.portable_file) == (call.index_name, call.portable_file)
            and call.file == self._file
            # References that may be paths in the folder of the command.
            and not (("get" in name or "link:" in files) and ("./" in files or "~" in files))
            and (_own_index(index, call, session) if call.portable_file is None else _is_open(index, call))
            and call.environ.get("TZ") == os.environ.get("TZ")  # in which days begin
            and _answers(session.settings) == _answers(index.settings)
            and not unknown_keys(index.config)
        )
        if not alike:
            raise ConflictError(_REFUSAL)


def _own_index(index: Index, call: Call, session: Session) -> bool:
    """Tell whether a call names the index of the server, and trusts the same of its project."""
    with suppress(QmdError):
        found = find_locations(call.environ, session.index_name, store=session.store, folder=call.folder)
        ours = index.locations
        same = (found.config, found.project, found.store) == (ours.config, ours.project, ours.store)
        trust = [
            (config_dir(environ), environ.get(VARIABLE, "").strip()) for environ in (call.environ, os.environ)
        ]
        return same and (found.project is None or trust[0] == trust[1])
    return False


def _is_open(index: Index, call: Call) -> bool:
    """Tell whether a call names the portable file of the server, and needs no passphrase for it."""
    path = os.path.join(call.folder, call.portable_file or "")
    return os.path.realpath(path) == os.path.realpath(index.locations.index) and is_database(path)


def _answers(settings: Settings) -> tuple[str | None, ...]:
    """Return the settings that an answer depends on."""
    models = (settings.embed_model, settings.rerank_model, settings.generate_model)
    return settings.ranking, settings.scores, *models


class _Stream(TextIOBase):
    """Stdout or stderr of a command: keeps the output, in the order of both."""

    def __init__(self, number: int, pieces: list[tuple[int, str]], terminal: bool) -> None:
        self._number, self._pieces, self._terminal = number, pieces, terminal

    def write(self, text: str) -> int:
        self._pieces.append((self._number, text))
        return len(text)

    def isatty(self) -> bool:
        return self._terminal


class _Input(StringIO):
    """Stdin of a command, which may be a terminal. Nobody can be asked."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    def readline(self, _: int | None = -1, /) -> str:  # type: ignore[override] # as of `StringIO`
        raise NotInServerError


class _Console(console.Console):
    """The console of a command in another process."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self._call = call
        self.pieces: list[tuple[int, str]] = []
        stdin, stdout, stderr = call.terminals
        self._stdin = _Input(stdin)
        self._streams = _Stream(1, self.pieces, stdout), _Stream(2, self.pieces, stderr)

    @property
    def stdin(self) -> IO[str]:
        return self._stdin

    @property
    def stdout(self) -> IO[str]:
        return cast("IO[str]", self._streams[0])

    @property
    def stderr(self) -> IO[str]:
        return cast("IO[str]", self._streams[1])

    @property
    def environ(self) -> Mapping[str, str]:
        return self._call.environ

    def folder(self) -> str:
        return self._call.folder

    def width(self) -> int:
        return self._call.width

    def read(self, limit: int = -1) -> bytes:
        if self._call.input is None:
            raise InputNeededError
        return self._call.input if limit < 0 else self._call.input[:limit]

    def written(self) -> list[bytes]:
        """Return the pieces, each after a line with its stream and length."""
        encoded = ((number, text.encode("utf-8", "surrogatepass")) for number, text in self.pieces)
        return [b"%d %d\n%b" % (number, len(text), text) for number, text in encoded if text]


class _Session(Session):
    """The run of a command in a server. The index is that of the server, and stays open."""

    refusal = None

    def __init__(self, index: Index, call: Call, cancelled: Cancelled) -> None:
        self.index_of_server = index
        self.cancelled = cancelled
        self._environ = call.environ
        self._notes_shown = len(index.notes)

    def _open(self) -> Index:
        return self.index_of_server

    def _show_notes(self) -> None:
        """Show none: notes of the server are not about this run."""

    @property
    def settings(self) -> Settings:
        return resolve(self.index_of_server.config, self._environ)
