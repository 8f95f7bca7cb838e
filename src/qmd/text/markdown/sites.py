"""What only other programs read: comments and code of Obsidian, MDX, Jekyll and Hugo, and their links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from qmd.text.regex import lazy
from qmd.text.spans import Closed

#: The end of a comment, by its beginning. One that is not closed is text.
_COMMENTS: Mapping[str, str] = {
    "{/*": "*/}",
    "{{/*": "*/}}",
    "{% comment %}": "{% endcomment %}",
    "%%": "%%",
}
#: The end of code, by its beginning.
_HIGHLIGHTED: Mapping[str, str] = {
    "{% highlight ": "{% endhighlight %}",
    "{%- highlight ": "endhighlight",
    "{{< highlight ": "{{< /highlight >}}",
    "{{<highlight ": "/highlight",
}
_SIGNS = "|".join(map(re.escape, [*_COMMENTS, *_HIGHLIGHTED]))
_BLOCK = lazy(rf"^[ \t>]*(?:[-*+][ \t]+)?(?P<mark>{_SIGNS})", re.M)
#: A comment inside a line.
_INLINE = lazy(r"\{/\*|\{\{/\*|\{% comment %\}|%%")


def may_have_blocks(text: str) -> bool:
    """Return whether a text may have comments or code of other programs."""
    return "%%" in text or ("{" in text and any(sign in text for sign in ("{/*", "comment %}", "highlight ")))


def blocks(text: str, closed: Closed) -> Iterator[tuple[Literal["fence", "comment"], int, int]]:
    """Yield comments and code that begin a line outside of some spans: kind, start and end."""
    done = 0
    for match in closed.matches(_BLOCK, text):
        mark, at = match["mark"], match.end()
        if match.start("mark") < done or closed.end(match.start("mark")) > match.start("mark"):
            continue
        line = text.rfind("\n", 0, match.start("mark")) + 1
        if ending := _HIGHLIGHTED.get(mark):
            end = text.find(ending, at)
            if end >= 0:
                feed = text.find("\n", end)
                done = feed if feed >= 0 else len(text)
                yield "fence", line, done
        elif (end := text.find(ending := _COMMENTS[mark], at)) >= 0:
            done = end + len(ending)
            yield "comment", line, done


def inline_comments(text: str, start: int, closed: Closed) -> list[tuple[int, int]]:
    """Return the [start, end) of comments inside lines, outside of some spans."""
    found: list[tuple[int, int]] = []
    at = start
    if "{" not in text and "%%" not in text:
        return found
    for match in closed.matches(_INLINE, text, start):
        if match.start() >= at:
            ending = _COMMENTS[match[0]]
            end = text.find(ending, match.end())
            if end >= 0:
                at = end + len(ending)
                found.append((match.start(), at))
    return found
