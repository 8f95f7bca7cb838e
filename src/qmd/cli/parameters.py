"""Options and arguments of commands, as data: words are read, help is made and shells complete by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from qmd.cli.usage import MisuseError

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Parameter:
    """An option, or an argument if it has no `names`. Called with a function, it adds itself to its command.

    Args:
        names: The spellings of an option.
        kind: A function that makes the value of the text, and raises `MisuseError`; a tuple of the words that
            are allowed; None for text.
        off: The spellings that say no, of a flag that may say so.
        to: The name of the value; by default it comes from the longest spelling.
        flag: Whether it takes no value.
        multiple: Whether an option may be repeated, or an argument takes all words.
        required: Whether it must be given.
        default: The value if it is not given.
        goes: Where the value goes: to the function (argument), the session, the choice of the `format`, or it
            is an `answer` instead of the command.
        complete: The name of the function of `candidates` that completes it.
        section: The title below which a long help shows it.
        agents: Whether agents may give it.
    """

    def __init__(
        self,
        names: Sequence[str] = (),
        kind: Any = None,
        help: str = "",
        *,
        off: Sequence[str] = (),
        to: str | None = None,
        metavar: str | None = None,
        flag: bool = False,
        multiple: bool = False,
        required: bool = False,
        default: Any = None,
        goes: str = "argument",
        complete: str | None = None,
        section: str = "",
        agents: bool = True,
    ) -> None:
        self.names = tuple(names)
        self.off = tuple(off)
        self.to = to or max(names, key=len).lstrip("-").replace("-", "_")
        self.kind = kind
        self.help = help
        self.metavar = metavar
        self.flag = flag
        self.multiple = multiple
        self.required = required
        if default is None:
            # A flag that cannot say no is off.
            default = () if multiple else False if flag and not off else None
        self.default = default
        self.goes = goes
        self.complete = complete
        self.section = section
        self.agents = agents

    def __call__(self, decorated: Decorated) -> Decorated:
        """Add the parameter to the function of a command. Decorators are applied from below."""
        vars(decorated).setdefault("parameters", []).insert(0, self)
        return decorated

    @property
    def shown(self) -> str:
        """The longest name of an option, or how the usage shows an argument."""
        return max(self.names, key=len, default=self.metavar or "")

    def value(self, text: str) -> Any:
        """Return the value of a text. Raises `MisuseError`."""
        if isinstance(self.kind, tuple):
            if text not in self.kind:
                raise MisuseError(f"must be one of {', '.join(self.kind)}, not '{text}'")
            return text
        return text if self.kind is None else self.kind(text)


def option(spelling: str, kind: Any, help: str, *, to: str | None = None, **attributes: Any) -> Parameter:
    """Make an option that is spelled as the help shows it: `-C, --candidate-limit N`.

    `to` is the name of the argument, by default that of the longest name. See `Parameter` for the others.
    """
    *names, last = spelling.split(", ")
    name, _, metavar = last.partition(" ")
    return Parameter((*names, name), kind, help, to=to, metavar=metavar, **attributes)


def flag(*names: str, help: str, **attributes: Any) -> Parameter:
    """Make an option without a value, or with its opposite: `--fold/--no-fold`. A name may be `to`."""
    spelled = [name for name in names if name.startswith("-")]
    to = next((name for name in names if not name.startswith("-")), None)
    on, *off = spelled[-1].split("/")
    return Parameter((*spelled[:-1], on), None, help, off=off, to=to, flag=True, **attributes)


def argument(
    to: str,
    metavar: str,
    complete: str | None = None,
    kind: Any = None,
    *,
    multiple: bool | None = None,
    required: bool | None = None,
    default: Any = None,
) -> Parameter:
    """Make an argument as the usage shows it: `NAME`, `[NAME]` if it is optional, `NAME...` for all words."""
    return Parameter(
        (),
        kind,
        to=to,
        metavar=metavar,
        multiple="..." in metavar if multiple is None else multiple,
        required=not metavar.startswith("[") if required is None else required,
        default=default,
        complete=complete,
    )


#: Accepted before and after a command's name, and therefore stored in the session.
GLOBAL = (
    option(
        "--index NAME",
        None,
        "Use the index with this name.",
        to="index_name",
        goes="session",
        complete="indexes",
    ),
    option("--store URL", None, "Keep the index in this store: milvus://HOST:PORT/DB.", goes="session"),
    option(
        "--index-file FILE",
        None,
        "Read this portable index file, made by 'qmd store backup --portable'.",
        to="portable_file",
        goes="session",
        complete="files",
    ),
    flag(
        "--agent",
        help="Print for an AI agent: without secrets, and without what is kept from agents.",
        goes="session",
    ),
    flag("-q", "--quiet", help="Do not show notes, hints and progress.", goes="session"),
    flag("--no-pager", help="Show all on the terminal at once, without a pager.", goes="session"),
    flag("--debug", help="Show the traceback of an error.", goes="session"),
)
HELP = flag("-h", "--help", help="Show this message and exit.", goes="answer")
#: Shows the whole of a help; without one, it is no option.
ALL = flag("--all", help="With --help, show everything.", goes="all")
