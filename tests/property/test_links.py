"""Links: the fast paths have the results of the full ones."""

from __future__ import annotations

from hypothesis import given, strategies as st

from qmd.text.link_targets import LinkTargets, names_of
from tests.markdown import blocks, fences

LINES = st.sampled_from(
    ["```", "````sh", "~~~", "   ```", "# a", "a", "", "---", "<!--", "-->", "    ```", "x\n===", "``` `"]
)
PATHS = st.lists(
    st.lists(st.sampled_from(["a", "B", "b", "c d", "a.md"]), min_size=1, max_size=3).map("/".join),
    unique=True,
).map(lambda paths: [f"{path}.md" for path in paths])
TARGETS = st.lists(st.sampled_from(["a", "b", "B", "..", ".", "c d", "a.md", "", "#h"]), max_size=4).map(
    "/".join
)


@given(st.lists(LINES, max_size=12).map("\n".join))
def test_fences_equal_the_fence_blocks(text: str) -> None:
    expected = [(block.start, block.end) for block in blocks(text) if block.kind == "fence"]
    assert fences(text) == expected


@given(PATHS, TARGETS, st.booleans(), st.sampled_from(["n.md", "a/n.md", "a/b/n.md"]))
def test_resolve_needs_only_documents_with_the_names_of_the_target(
    paths: list[str], target: str, wikilink: bool, source: str
) -> None:
    documents = [(path, ("Alias",) if "d" in path else ()) for path in paths]
    among = LinkTargets.of(documents, names_of([target]))
    expected = LinkTargets.of(documents).resolve(target, source, wikilink=wikilink)
    assert among.resolve(target, source, wikilink=wikilink) == expected
