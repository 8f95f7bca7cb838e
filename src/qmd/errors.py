"""The error tree. Every failure a user can meet is a `QmdError` with a way out.

Each kind knows its exit code on the command line and its status over HTTP; edges translate, nothing else
prints.
"""

from __future__ import annotations

from typing import ClassVar


class QmdError(Exception):
    """A failure to be shown to the user in one line.

    `message` says what is wrong, `hint` what to do about it.
    """

    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message

    def in_one_line(self) -> str:
        """Message and hint together."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(QmdError):
    """The request itself is wrong: a bad number, an unknown option, a malformed query document."""

    exit_code = 2
    http_status = 400


class TooManyError(UsageError):
    """More was asked for at once than there may be."""

    http_status = 413


class QueryError(QmdError):
    """A query that cannot be read; the message names the line."""

    http_status = 400


class ConfigError(QmdError):
    """The configuration file is broken or contradicts itself."""

    http_status = 503


class NotFoundError(QmdError):
    """Something named by the user does not exist."""

    http_status = 404


class CollectionNotFoundError(NotFoundError):
    """No collection of that name."""


class DocumentNotFoundError(NotFoundError):
    """No document answers to the reference; `suggestions` are similar paths, best first."""

    def __init__(self, message: str, suggestions: tuple[str, ...] = (), hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.suggestions = suggestions


class AmbiguousReferenceError(QmdError):
    """A reference answers to several documents; `candidates` lists them."""

    http_status = 400

    def __init__(self, message: str, candidates: tuple[str, ...], hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.candidates = candidates


class ConflictError(QmdError):
    """A name or a path that is already taken."""

    http_status = 400


class SourceError(QmdError):
    """A folder or a file of a collection that cannot be read."""

    http_status = 400


class ForbiddenError(QmdError):
    """Something that whoever asks may not do."""

    http_status = 403


class StoreError(QmdError):
    """The index cannot be opened, read or written."""

    http_status = 503


class ForeignIndexError(StoreError):
    """The file was made by another program, or by a newer qmd; it is never touched."""


class ModelError(QmdError):
    """A model that is missing, broken or of the wrong kind."""

    http_status = 503


class VectorIndexMissingError(QmdError):
    """Vector search was asked for and there are no vectors."""

    http_status = 503

    def __init__(self) -> None:
        super().__init__("Vector index not found. Run 'qmd embed' first to create embeddings.")


class TimedOutError(QmdError):
    """Nothing that a search depends on was ready in time."""

    http_status = 503


class BusyError(QmdError):
    """Another process holds what is needed."""

    http_status = 503


class AlreadyRunningError(BusyError):
    """Another process is doing the same work for the same index."""
