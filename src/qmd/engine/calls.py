"""The calls of the methods of `Index`: what they are given, and which of them run."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, partial, wraps
from typing import Any, NoReturn, TypeVar, cast

from qmd.errors import BusyError, ClosedError, NotEnoughMemoryError, UsageError

Function = TypeVar("Function", bound=Callable[..., Any])
#: Tells whether a value is of a type, and the words for such a value.
_Type = tuple[Callable[[Any], bool], str]


class Calls:
    """Counts the calls that run, inside a `with` each, so that closing can wait for them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: dict[int, int] = {}  # by thread
        self.closed = False

    def __enter__(self) -> None:
        thread = threading.get_ident()
        with self._changed:
            depth = self._running.get(thread, 0)
            if self.closed and not depth:
                raise ClosedError("the index has been closed", "open it again with 'qmd.open_index'")
            self._running[thread] = depth + 1

    def __exit__(self, *error: object) -> None:
        thread = threading.get_ident()
        with self._changed:
            self._running[thread] -= 1
            if not self._running[thread]:
                del self._running[thread]
                self._changed.notify_all()

    def close(self) -> None:
        """Refuse new calls, and wait for the others. Raises `BusyError` inside of a call."""
        with self._changed:
            if threading.get_ident() in self._running:
                raise BusyError("a call of this index is running here", "close the index after the call")
            self.closed = True
            self._changed.wait_for(lambda: not self._running)


def call(method: Function) -> Function:
    """Let a method or property of a part check its arguments, and let closing wait for it."""

    if getter := getattr(method, "fget", None):
        return cast("Function", property(call(getter)))

    @wraps(method)
    def counted(self: Any, *arguments: Any, **options: Any) -> Any:
        check_arguments(method, arguments, options)
        with self._calls:
            try:
                return method(self, *arguments, **options)
            except MemoryError as error:
                raise NotEnoughMemoryError from error

    return cast("Function", counted)


def check_arguments(method: Callable[..., Any], arguments: Iterable[Any], options: Mapping[str, Any]) -> None:
    """Raise `UsageError` if an argument of a method is of another type than it says."""
    code = getattr(method, "__wrapped__", method).__code__
    names = code.co_varnames[1 : code.co_argcount]
    check_values(method.__annotations__, {**dict(zip(names, arguments, strict=False)), **options})


def check_values(annotations: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Raise `UsageError` if a value is of another type than its annotation says.

    Annotations are read as text, because the names in them need not have been imported.
    """
    for name, value in values.items():
        annotation = annotations.get(name)
        types = annotation and _types(getattr(annotation, "__forward_arg__", annotation))
        if types and not any(fits(value) for fits, _ in types):
            words = " or ".join([words for _, words in types])
            raise UsageError(f"{name} must be {words}, not {_kind(value)}")


def not_copied(index: object) -> NoReturn:
    """Refuse to pickle or copy an index."""
    raise UsageError(
        "an index cannot be pickled or copied",
        "call 'qmd.open_index' in each process, and share it by threads",
    )


def _is_named(name: str, value: object) -> bool:
    return any(each.__name__ == name for each in type(value).__mro__)


_TYPES: Mapping[str, _Type] = {
    "None": (lambda value: value is None, "None"),
    "str": (lambda value: isinstance(value, str), "a text"),
    "int": (lambda value: hasattr(value, "__index__"), "a whole number"),
    "float": (lambda value: hasattr(value, "__float__"), "a number"),
    "os.PathLike[str]": (lambda value: hasattr(value, "__fspath__"), "a path"),
    **{
        name: (partial(_is_named, name), f"a {name}")
        for name in ("SearchRequest", "TypedSearch", "Benchmark", "PackRequest", "Document")
    },
}
_LISTS = ("Sequence", "Collection", "Iterable", "tuple")
_ALTERNATIVES = re.compile(r" \| (?![^\[]*\])")


@cache
def _types(annotation: str) -> list[_Type]:
    """Return the types that an annotation names; empty if it has another."""
    try:
        return [_type(name) for name in _ALTERNATIVES.split(annotation)]
    except KeyError:
        return []


def _type(annotation: str) -> _Type:
    outer, _, inner = annotation.removesuffix("]").partition("[")
    if outer == "Literal":
        return re.findall(r"[\w-]+", inner).__contains__, f"one of {inner}"
    if outer not in _LISTS:
        return _TYPES[annotation]
    fits, words = _TYPES.get(inner.removesuffix(", ..."), (lambda value: True, "a value"))

    def all_fit(value: Any) -> bool:
        if isinstance(value, Collection):
            return not isinstance(value, (str, bytes)) and all(fits(each) for each in value)
        return outer == "Iterable" and isinstance(value, Iterable)

    return all_fit, f"a list of {words.partition(' ')[2]}s"


def _kind(value: object) -> str:
    """Return a text itself, and of another value what it is."""
    if isinstance(value, str):
        return f"{value!r:.50}"
    if isinstance(value, Collection) and not isinstance(value, bytes):
        kinds = sorted({type(each).__name__ for each in value})
        return f"a {type(value).__name__} of {', '.join(kinds)}"
    return type(value).__name__.removesuffix("Type")
