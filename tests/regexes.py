"""A matcher of regular expressions that works like `re` and counts its steps."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from re import (
    _constants as ops,  # type: ignore[attr-defined]
    _parser as parser,  # type: ignore[attr-defined]
)
from typing import Any

#: Repetitions above this count are limited, and count as this many.
_FEW = 8
_CATEGORIES = {
    ops.CATEGORY_DIGIT: r"\d",
    ops.CATEGORY_NOT_DIGIT: r"\D",
    ops.CATEGORY_SPACE: r"\s",
    ops.CATEGORY_NOT_SPACE: r"\S",
    ops.CATEGORY_WORD: r"\w",
    ops.CATEGORY_NOT_WORD: r"\W",
}
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)
#: What matches one character.
_SINGLE = {ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN, ops.RANGE, ops.CATEGORY}
_SAMPLES = "a1 \tA_-/:.`[]()<>{}|=#*!'\"\\@%~^$&;,?+é数\n\u0301\x00\ue000"

Nodes = Sequence[tuple[Any, Any]]
Continue = Callable[[int], bool]


class Steps:
    """A counter of the steps of an expression."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.nodes: Nodes = list(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
        self.flags = int(pattern.flags)
        self._fits = dict[tuple[int, str], bool]()

    def count(self, text: str, *, search: bool) -> int:
        """Return the steps of matching at the beginning, or of finding all matches."""
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 20_000))
        self.text, self.steps, self.groups = text, 0, dict[int, tuple[int, int]]()
        at = 0
        while at <= len(text):
            ends: list[int] = []
            self._match(self.nodes, 0, at, lambda end, ends=ends: ends.append(end) or True)
            if not search:
                break
            at = max(ends[0], at + 1) if ends else at + 1
        return self.steps

    def _match(self, nodes: Nodes, index: int, at: int, then: Continue) -> bool:
        self.steps += 1
        if index == len(nodes):
            return then(at)
        op, value = nodes[index]
        if op in _SINGLE:
            here = at < len(self.text) and self._is_fitting(nodes[index], self.text[at])
            return here and self._match(nodes, index + 1, at + 1, then)

        def rest(end: int) -> bool:
            return self._match(nodes, index + 1, end, then)

        if op in _REPEATS:
            return self._repeat(op, value, at, rest)
        if op is ops.BRANCH:
            return any(self._match(one.data, 0, at, rest) for one in value[1])
        if op is ops.SUBPATTERN:
            return self._group(value, at, rest)
        if op is ops.ATOMIC_GROUP:
            end = self._end(value.data, at)
            return end is not None and rest(end)
        if op in (ops.ASSERT, ops.ASSERT_NOT):
            width = value[1].getwidth()[0] if value[0] < 0 else 0
            held = at >= width and self._end(value[1].data, at - width) is not None
            return held is (op is ops.ASSERT) and rest(at)
        if op is ops.AT:
            return self._at(value, at) and rest(at)
        if op is ops.GROUPREF:
            start, end = self.groups.get(value, (0, -1))
            again = self.text[start:end] if end >= 0 else None
            return again is not None and self.text.startswith(again, at) and rest(at + len(again))
        assert op is ops.GROUPREF_EXISTS
        group, yes, no = value
        return self._match(list(yes if group in self.groups else no or ()), 0, at, rest)

    def _is_fitting(self, node: tuple[Any, Any], character: str) -> bool:
        """Return what `fits` says, which is asked for the same over and over."""
        key = id(node), character
        if (known := self._fits.get(key)) is None:
            known = self._fits[key] = fits(*node, character, self.flags)
        return known

    def _end(self, nodes: Nodes, at: int) -> int | None:
        ends: list[int] = []
        self._match(nodes, 0, at, lambda end: ends.append(end) or True)
        return ends[0] if ends else None

    def _group(self, value: Any, at: int, rest: Continue) -> bool:
        group, *_, nodes = value
        before = self.groups.get(group)

        def close(end: int) -> bool:
            self.groups[group] = at, end
            return rest(end)

        if self._match(nodes.data, 0, at, close):
            return True
        if before is None:
            self.groups.pop(group, None)
        else:
            self.groups[group] = before
        return False

    def _repeat(self, op: Any, value: Any, at: int, rest: Continue) -> bool:
        low, high, body = value
        high = high if high is ops.MAXREPEAT else min(high, _FEW)
        low = min(low, _FEW)
        nodes = body.data
        if op is ops.POSSESSIVE_REPEAT:
            done = 0
            while done < high and (end := self._end(nodes, at)) is not None and (end > at or done < low):
                at, done = end, done + 1
            return done >= low and rest(at)

        def more(done: int, at: int) -> bool:
            def again(end: int) -> bool:
                return (end > at or done < low) and more(done + 1, end)

            if op is ops.MIN_REPEAT and done >= low and rest(at):
                return True
            if done < high and self._match(nodes, 0, at, again):
                return True
            return op is ops.MAX_REPEAT and done >= low and rest(at)

        return more(0, at)

    def _at(self, kind: Any, at: int) -> bool:
        multiline = bool(self.flags & re.M)
        if kind is ops.AT_BEGINNING and multiline:
            return at == 0 or self.text[at - 1] == "\n"
        if kind in (ops.AT_BEGINNING, ops.AT_BEGINNING_STRING):
            return at == 0
        if kind is ops.AT_END:
            return at == len(self.text) or (self.text[at] == "\n" and (multiline or at == len(self.text) - 1))
        if kind is ops.AT_END_STRING:
            return at == len(self.text)
        sides = [0 <= place < len(self.text) and self.text[place].isalnum() for place in (at - 1, at)]
        return (sides[0] is not sides[1]) is (kind is ops.AT_BOUNDARY)


def fits(op: Any, value: Any, character: str, flags: int) -> bool:
    """Return whether a node for one character matches it."""
    if flags & re.I and op in (ops.LITERAL, ops.NOT_LITERAL, ops.IN):
        forms = {character, character.lower(), character.upper()}
        return any(fits(op, value, form[0], flags & ~re.I) for form in forms)
    if op is ops.LITERAL:
        return ord(character) == value
    if op is ops.NOT_LITERAL:
        return ord(character) != value
    if op is ops.ANY:
        return bool(flags & re.S) or character != "\n"
    if op is ops.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    if op is ops.CATEGORY:
        return re.fullmatch(_CATEGORIES[value], character, flags & re.A) is not None
    assert op is ops.IN
    negated = value[0][0] is ops.NEGATE
    return any(fits(*item, character, flags) for item in value[negated:]) is not negated


def attacks(pattern: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (prefix, part to repeat, suffix) of texts that an expression may be slow for."""
    nodes: Nodes = list(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    parts = {("", _sample(nodes[:end], pattern.flags)) for end in range(1, len(nodes) + 1)}
    parts |= set(_repeated(nodes, "", pattern.flags))
    for prefix, part in sorted(parts):
        if part:
            yield from ((prefix, part, suffix) for suffix in ("\ue000", "\n", "é"))


def _repeated(nodes: Nodes, before: str, flags: int) -> Iterator[tuple[str, str]]:
    """Yield the parts that can be repeated, with a text before each that leads to it, and without."""
    for index, (op, value) in enumerate(nodes):
        here = before + _sample(nodes[:index], flags)
        inner: list[Any] = []
        if op in _REPEATS:
            part = _sample(list(value[2]), flags)
            yield from ((here, part), ("", part))
            inner = [value[2]]
        elif op is ops.BRANCH:
            inner = value[1]
        elif op is ops.SUBPATTERN:
            inner = [value[3]]
        elif op is ops.ATOMIC_GROUP:
            inner = [value]
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            inner = [value[1]]
        for one in inner:
            yield from _repeated(list(one), here, flags)


def _sample(nodes: Nodes, flags: int) -> str:
    """Return a text that the nodes match, except if lookarounds forbid it."""
    text = ""
    for op, value in nodes:
        if op in _REPEATS:
            text += _sample(list(value[2]), flags) * max(1, min(value[0], _FEW))
        elif op is ops.BRANCH:
            text += _sample(list(value[1][0]), flags)
        elif op is ops.SUBPATTERN:
            text += _sample(list(value[3]), flags)
        elif op is ops.ATOMIC_GROUP:
            text += _sample(list(value), flags)
        elif op is ops.LITERAL:
            text += chr(value)
        elif op in (ops.NOT_LITERAL, ops.ANY, ops.IN):
            text += next((one for one in _SAMPLES if fits(op, value, one, flags)), "")
            if not text and op is ops.IN and value[0][0] in (ops.LITERAL, ops.RANGE):
                text += chr(value[0][1] if value[0][0] is ops.LITERAL else value[0][1][0])
    return text
