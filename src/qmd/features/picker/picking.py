"""`pick`: the screen of the picker, and what its keys do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from qmd.cli.candidates import typed
from qmd.cli.render.view import Highlights, address
from qmd.cli.search import missing_vectors
from qmd.cli.session import Session
from qmd.cli.show import highlights_of
from qmd.cli.terminal import can_ask, clean, clean_name, is_terminal, one_line, say, takes_escapes
from qmd.cli.usage import Exit
from qmd.engine.requests import SearchRequest
from qmd.errors import QmdError, UsageError, VectorIndexMissingError
from qmd.features.picker.opening import copying, open_document
from qmd.installation import install_command
from qmd.processes import python, run
from qmd.text.query import as_typed
from qmd.text.wording import plural
from qmd.types import Anchor, Document, Hit
from qmd.types.cancelling import CancelledError

try:
    from prompt_toolkit.application import Application, get_app
    from prompt_toolkit.auto_suggest import AutoSuggest, Suggestion, ThreadedAutoSuggest
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.data_structures import Point
    from prompt_toolkit.document import Document as Typed
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import create_input
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.key_binding.bindings.auto_suggest import load_auto_suggest_bindings
    from prompt_toolkit.key_binding.key_bindings import merge_key_bindings
    from prompt_toolkit.layout import (
        AnyContainer,
        BufferControl,
        Dimension,
        DynamicContainer,
        FormattedTextControl,
        HSplit,
        Layout,
        VSplit,
        Window,
    )
    from prompt_toolkit.layout.processors import AppendAutoSuggestion, BeforeInput
    from prompt_toolkit.output import create_output
    from prompt_toolkit.styles import Style
except ImportError as error:
    raise QmdError("the picker needs the extra 'pick'", install_command("pick")) from error

if TYPE_CHECKING:
    from qmd.engine.index import Index

#: What is searched, by the name on the screen.
_SOURCES = {"words": "search", "meaning": "vsearch", "both": "query"}
#: The columns of their names.
_WIDTH = sum(len(name) + 2 for name in _SOURCES)
#: The most rows of the list.
_RESULTS = 50
#: From so many columns on, the text is beside the list.
_BESIDE = 100
#: Lines of the text above the passage, and those that Page Down moves on.
_ABOVE, _PAGE = 2, 10
_KEYS = "Enter edit   Ctrl-Y copy   Ctrl-O page   Tab {next}   Esc end"
_STYLE = Style.from_dict(
    {
        "chosen": "bold reverse",
        "score": "ansigreen",
        "path": "ansibrightblack",
        "passage": "ansiyellow",
        "word": "bold ansired",
        "keys": "ansibrightblack",
        "source": "reverse",
        "told": "ansiyellow",
        "auto-suggestion": "ansibrightblack",
    }
)


class _Choice(NamedTuple):
    """A line of the list: a document, the lines of its passage, and where that is in the source file."""

    item: Hit | Document
    line: int = 1
    passage: range = range(0)
    anchor: Anchor | None = None
    score: str = ""

    @property
    def address(self) -> str:
        """The address of the passage."""
        return f"{address(self.item.file)}:{self.line}" if self.line > 1 else address(self.item.file)


class _Results(NamedTuple):
    """The rows of the list, what is marked in their texts, and a message."""

    rows: list[_Choice]
    marks: Highlights = lambda _: []
    told: str = ""


def pick(session: Session, text: tuple[str, ...], collections: tuple[str, ...]) -> None:
    """Show the picker; open, or print, what is picked."""
    if not (can_ask() and takes_escapes(sys.stderr)):
        raise UsageError("the picker needs a terminal", "in a script, run 'qmd search' or 'qmd query'")
    session.uses |= {"marks"}
    index = session.index
    # Notes of searches would be written over the screen.
    quiet, session.quiet = session.quiet, True
    picked = Picker(session, index, " ".join(text), collections).run()
    session.quiet = quiet
    if not is_terminal(sys.stdout):
        if picked is None:
            raise Exit(1)
        say(picked.address)
    elif picked is not None:
        open_document(session, picked.item, picked.line, picked.anchor)


class Picker:
    """A line to type in, a list of results, and the text of the one that is chosen."""

    def __init__(self, session: Session, index: Index, text: str, collections: tuple[str, ...]) -> None:
        self._session, self._index, self._collections = session, index, collections
        self._source = "words"
        self._results = _Results([])
        self._chosen = self._scrolled = 0
        #: The line of the document that is shown first.
        self._first = 1
        self._told = ""
        #: What the rows are to show; a search for anything else is given up.
        self._wanted: tuple[str, str] | None = None
        self._pool = ThreadPoolExecutor(1)
        self._text = lru_cache(64)(self._read)
        self._buffer = Buffer(
            document=Typed(text),
            auto_suggest=ThreadedAutoSuggest(_Filters(session)),
            on_text_changed=lambda _: self._search(),
            multiline=False,
        )
        self._app: Application[_Choice | None] = Application(
            Layout(self._screen(), focused_element=self._buffer),
            style=_STYLE,
            key_bindings=merge_key_bindings([load_auto_suggest_bindings(), self._keys()]),
            full_screen=True,
            # A pipe gets nothing but the address.
            input=create_input(sys.stdin),
            output=create_output(sys.stderr),
        )
        self._app.ttimeoutlen = 0.05  # after Esc

    def run(self) -> _Choice | None:
        """Show the screen; return what was picked."""
        try:
            return self._app.run(pre_run=self._search)
        finally:
            self._wanted = None
            self._pool.shutdown(cancel_futures=True)

    def _search(self) -> None:
        self._wanted = self._buffer.text, self._source
        self._pool.submit(self._find, self._wanted).add_done_callback(self._found)

    def _find(self, wanted: tuple[str, str]) -> _Results | None:
        """Return what is wanted, unless something else is wanted by now."""
        text, source = wanted
        if wanted != self._wanted:
            return None
        try:
            if not text.strip():
                return _Results([_Choice(each) for each in self._index.recent(_RESULTS)])
            # The last word may not be complete.
            text = as_typed(text) if source == "words" else text
            request = SearchRequest(text, _RESULTS, collections=self._collections)
            response = self._index.run(_SOURCES[source], request, cancelled=lambda: wanted != self._wanted)
        except CancelledError:
            return None
        except VectorIndexMissingError:
            return _Results([], told=missing_vectors(self._session, {"collections": self._collections}))
        except QmdError as error:
            return _Results([], told=self._session.addressed(error.in_one_line()))
        told = next((each.reason for each in response.stages if each.notable and each.reason), "")
        rows = [*map(_row, response.hits)]
        marks = highlights_of(text, response.unknown_fields, self._index.config)
        return _Results(rows, marks, told or ("" if rows else "No results found."))

    def _found(self, done: Future[_Results | None]) -> None:
        """Show what a search has found. A fault of the program ends the picker, and is shown as any other."""
        if done.cancelled():
            return
        if (error := done.exception()) is not None:
            assert self._app.loop is not None
            self._app.loop.call_soon_threadsafe(partial(self._app.exit, exception=error))
        elif (found := done.result()) is not None:
            self._results, self._told = found, found.told
            self._chosen = self._scrolled = 0
            self._app.invalidate()

    def _read(self, file: str) -> list[str]:
        try:
            return self._index.get(address(file)).text.split("\n")
        except QmdError as error:  # it was removed since
            return [error.in_one_line()]

    @property
    def _row(self) -> _Choice | None:
        return self._results.rows[self._chosen] if self._results.rows else None

    # The screen.

    def _screen(self) -> AnyContainer:
        prompt = BufferControl(self._buffer, [BeforeInput("> ", "bold"), AppendAutoSuggestion()])
        found = FormattedTextControl(self._list, get_cursor_position=lambda: Point(0, self._chosen))
        rows = Window(found, always_hide_cursor=True)
        shown = FormattedTextControl(self._preview)
        text = Window(shown, wrap_lines=True, get_line_prefix=lambda at, _: self._margin(at))
        # The sizes are shares, so that a terminal of any size has both.
        rows.width = rows.height = Dimension(weight=2)
        text.width = text.height = Dimension(weight=3)
        beside = VSplit([rows, Window(width=1, char="│", style="class:path"), text])
        below = HSplit([rows, Window(height=1, char="─", style="class:path"), text])
        return HSplit(
            [
                VSplit([Window(prompt), Window(FormattedTextControl(self._sources), width=_WIDTH)], height=1),
                DynamicContainer(lambda: beside if get_app().output.get_size().columns >= _BESIDE else below),
                Window(FormattedTextControl(self._status), height=1),
            ]
        )

    def _list(self) -> StyleAndTextTuples:
        lines: StyleAndTextTuples = []
        for at, row in enumerate(self._results.rows):
            title = one_line(row.item.title)
            if at == self._chosen:
                lines.append(("class:chosen", f"> {row.score} {title}  {_place(row)}"))
            else:
                lines += [("", "  "), ("class:score", row.score), ("", f" {title}  ")]
                lines.append(("class:path", _place(row)))
            lines.append(("", "\n"))
        return lines[:-1]

    def _preview(self) -> StyleAndTextTuples:
        """Return the text of the chosen document from above the passage on, as much as may be seen."""
        row = self._row
        if row is None:
            return []
        lines = self._text(row.item.file)
        above = (row.passage.start or row.line) - _ABOVE
        first = self._first = min(max(above + self._scrolled, 1), len(lines))
        shown: StyleAndTextTuples = []
        for number in range(first, min(first + get_app().output.get_size().rows, len(lines) + 1)):
            shown += [*_marked(clean(lines[number - 1]), self._results.marks), ("", "\n")]
        return shown

    def _margin(self, at: int) -> StyleAndTextTuples:
        """Return what stands before a line of the text, also before the rest of a long one."""
        is_marked = self._row is not None and self._first + at in self._row.passage
        return [("class:passage", "▌ " if is_marked else "  ")]

    def _status(self) -> StyleAndTextTuples:
        told = self._told or plural(len(self._results.rows), "result")
        style = "class:told" if self._told else ""
        keys = _KEYS.format(next=self._next_source())
        return [(style, clean_name(told)), ("class:keys", f"   {keys}")]

    def _sources(self) -> StyleAndTextTuples:
        return [("class:source" if name == self._source else "", f" {name} ") for name in _SOURCES]

    def _next_source(self, step: int = 1) -> str:
        names = [*_SOURCES]
        return names[(names.index(self._source) + step) % len(names)]

    # The keys.

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()

        def on(*names: str) -> Callable[[Callable[[], None]], None]:
            def add(act: Callable[[], None]) -> None:
                for name in names:
                    keys.add(name, eager=True)(lambda _: act())

            return add

        def move(step: int) -> Callable[[], None]:
            def act() -> None:
                self._chosen = min(max(self._chosen + step, 0), max(len(self._results.rows) - 1, 0))
                self._scrolled = 0

            return act

        def scroll(step: int) -> Callable[[], None]:
            def act() -> None:
                self._scrolled += step

            return act

        def take_source(step: int) -> Callable[[], None]:
            def act() -> None:
                self._source = self._next_source(step)
                self._told = f"searching by {self._source} ..."
                self._search()

            return act

        for names, act in (
            (("down", "c-n"), move(1)),
            (("up", "c-p"), move(-1)),
            (("pagedown",), scroll(_PAGE)),
            (("pageup",), scroll(-_PAGE)),
            (("tab",), take_source(1)),
            (("s-tab",), take_source(-1)),
            (("enter",), lambda: self._row and self._app.exit(result=self._row)),
            (("escape", "c-c", "c-d"), lambda: self._app.exit(result=None)),
            (("c-y",), self._copy),
            (("c-o",), self._open_page),
        ):
            on(*names)(act)
        return keys

    def _copy(self) -> None:
        if self._row is not None:
            self._app.output.write_raw(copying(self._row.address))
            self._app.output.flush()
            self._told = f"copied: {self._row.address}"

    def _open_page(self) -> None:
        """Open the page in the browser, by a command of its own: it may have to start a server."""
        if self._row is None:
            return
        self._told = "opening the page ..."
        words = python("qmd", *self._session.options(), "open", self._row.address)

        def opened() -> None:
            done = run(words, folder=os.getcwd())
            self._told = one_line(done.stdout or done.stderr)
            self._app.invalidate()

        self._app.create_background_task(_in_thread(opened))


async def _in_thread(work: Callable[[], None]) -> None:
    from asyncio import to_thread

    await to_thread(work)


class _Filters(AutoSuggest):
    """Offers the value of a filter that is being typed, as the shell completes it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_suggestion(self, buffer: Buffer, document: Typed) -> Suggestion | None:
        word = document.text.rpartition(" ")[2]
        offers = (item.value for item in typed(self._session, (), word)) if word and document.text else ()
        offer = next((each for each in offers if each.casefold().startswith(word.casefold())), word)
        return Suggestion(offer[len(word) :]) if offer != word else None


def _row(hit: Hit) -> _Choice:
    first = hit.snippet.first_line
    passage = range(first, first + hit.snippet.text.count("\n") + 1)
    return _Choice(hit, hit.line, passage, hit.anchor, f"{hit.percent:>3}%")


def _place(row: _Choice) -> str:
    place = row.anchor.address if row.anchor else str(row.line) if row.line > 1 else ""
    return clean_name(":".join(filter(None, (row.item.file, place))))


def _marked(line: str, marks: Highlights) -> Iterator[tuple[str, str]]:
    """Yield a line in parts, those with words of the query in their style."""
    at = 0
    for start, end in marks(line):
        yield "", line[at:start]
        yield "class:word", line[start:end]
        at = end
    yield "", line[at:]
