"""Exceptions. Every failure that a user can cause or see is a `QmdError` with a message and a hint.

Each class has an exit code for the command line and an HTTP status. Only the user interfaces print errors.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class QmdError(Exception):
    """A failure with a message for the user.

    Args:
        message: what happened, in one line.
        hint: a remedy for the user, in one line.
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the fields, because subclasses have other arguments. Processes send each other errors."""
        return type(self).__new__, (type(self), *self.args), vars(self)

    def __str__(self) -> str:
        return self.message

    def in_one_line(self) -> str:
        """Return the message and the hint in one line."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(QmdError):
    """The request is invalid: for example a number out of range or an unknown option."""

    exit_code = 2
    http_status = 400


class TokensError(UsageError):
    """An answer cannot have as few tokens as the request says. `least` is how many it needs."""

    def __init__(self, message: str, hint: str | None = None, *, least: int = 0) -> None:
        super().__init__(message, hint)
        self.least = least


class TooManyError(UsageError):
    """The request has more items than the limit."""

    http_status = 413


class QueryError(QmdError):
    """A query cannot be parsed. The message names the line."""

    http_status = 400


class ConfigError(QmdError):
    """The configuration is broken or contradicts itself."""

    http_status = 503


class NotFoundError(QmdError):
    """Something that the user named does not exist."""

    http_status = 404


class CollectionNotFoundError(NotFoundError):
    """There is no collection of this name."""


class FieldNotFoundError(UsageError):
    """No document has the field. The hint names the nearest one."""

    http_status = 404


class DocumentNotFoundError(NotFoundError):
    """No document matches the reference. `suggestions` are similar paths, best first."""

    def __init__(self, message: str, suggestions: tuple[str, ...] = (), hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.suggestions = suggestions


class AmbiguousReferenceError(QmdError):
    """Several documents match the reference. `candidates` lists their paths."""

    http_status = 400

    def __init__(self, message: str, candidates: tuple[str, ...], hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.candidates = candidates


class ConflictError(QmdError):
    """A name or path is already in use."""

    http_status = 400


class SourceError(QmdError):
    """A folder or file of a collection cannot be read."""

    http_status = 400


class ForbiddenError(QmdError):
    """The caller lacks a permission."""

    http_status = 403


class StoreError(QmdError):
    """The index cannot be opened, read or written."""

    http_status = 503


class ForeignIndexError(StoreError):
    """The index file was made by another program or a newer version. It is never modified."""


class OutdatedError(ForeignIndexError):
    """A newer version has written the index, perhaps while this process had it open."""


class ClosedError(StoreError):
    """The index has been closed."""


class PluginError(QmdError):
    """A part that an installed package adds cannot be loaded. The message names the package."""

    http_status = 503


class ModelError(QmdError):
    """A model is missing, broken or of the wrong kind."""

    http_status = 503


class VectorIndexMissingError(QmdError):
    """A vector search was requested, but the index has no vectors."""

    http_status = 503
    #: The message of every such error.
    MESSAGE = "Vector index not found. Run 'qmd embed' first to create embeddings."

    def __init__(self) -> None:
        super().__init__(self.MESSAGE)


class NotEnoughMemoryError(QmdError):
    """The system refuses this process more memory."""

    http_status = 503
    #: The hint of every such error.
    HINT = "allow more, as with 'ulimit -v unlimited', or close other programs"

    def __init__(self, message: str = "there is not enough memory", hint: str | None = HINT) -> None:
        super().__init__(message, hint)


class TimedOutError(QmdError):
    """No part of a search finished before the deadline."""

    http_status = 503


class BusyError(QmdError):
    """Another process holds a lock or lease that is needed."""

    http_status = 503


class AlreadyRunningError(BusyError):
    """Another process is doing the same work for the same index."""
