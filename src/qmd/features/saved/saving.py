"""The methods of `Index` for saved searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from qmd.engine.access.rules import Rule
from qmd.engine.parts import Part
from qmd.errors import NotFoundError, UsageError
from qmd.features.saved import saved_file
from qmd.features.saved.saved_file import SavedSearch
from qmd.text.regex import lazy
from qmd.text.wording import visible

_NAME = lazy(r"\w[\w.-]{0,60}")


class SavedMethods(Part):
    """Methods of `Index` that keep searches under names."""

    _rules: Mapping[str, Rule] = {
        "saved_searches": Rule(action="see saved searches"),
        "save_search": Rule(changes=True, action="save searches"),
        "remove_saved_search": Rule(changes=True, action="save searches"),
        "newly_found": Rule(changes=True, action="save searches"),
    }

    def saved_searches(self) -> list[SavedSearch]:
        """List the saved searches, by name."""
        locations = self._workspace.locations
        if locations.portable:
            return []
        return [*saved_file.read(saved_file.saved_path(locations)).values()]

    def save_search(
        self, name: str, command: str, words: Sequence[str], query: str, seen: Sequence[str]
    ) -> None:
        """Keep a search under a name, in place of another with that name.

        Args:
            name: Its name: letters, digits, `.`, `_` and `-`.
            command: The command that runs it: `search`, `vsearch` or `query`.
            words: The words after the command.
            query: The query with its filters as they are typed.
            seen: The documents that it has found, by display path.

        Raises:
            UsageError: The name has other characters.
        """
        if not _NAME.fullmatch(name):
            told = f"'{visible(name)[:100]}' is no name of a saved search"
            raise UsageError(told, "use letters, digits, '.', '_' and '-'")
        with saved_file.changed(saved_file.saved_path(self._workspace.locations)) as saved:
            saved[name] = SavedSearch(name, command, tuple(words), query, tuple(seen))

    def remove_saved_search(self, name: str) -> None:
        """Forget a saved search. Raises `NotFoundError` if there is none of that name."""
        with saved_file.changed(saved_file.saved_path(self._workspace.locations)) as saved:
            if name not in saved:
                hint = "'qmd saved' lists them" if saved else None
                raise NotFoundError(f"there is no saved search '{visible(name)[:100]}'", hint)
            del saved[name]

    def newly_found(self, name: str, files: Sequence[str]) -> set[str]:
        """Return those of some documents that a saved search has not found before, and remember all of them.

        Raises `NotFoundError` if it was removed meanwhile.
        """
        with saved_file.changed(saved_file.saved_path(self._workspace.locations)) as saved:
            if name not in saved:
                raise NotFoundError(f"there is no saved search '{visible(name)[:100]}'")
            seen = saved[name].seen
            saved[name] = replace(saved[name], seen=tuple(dict.fromkeys((*seen, *files))))
        return {*files}.difference(seen)
