"""Explain the ranking of a result, and the stages of a search, to people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.cli.render.cells import plain, program_text
from qmd.cli.terminal import columns, one_line, width_of

if TYPE_CHECKING:
    from qmd.cli.render.view import View
    from qmd.types import SearchResponse, Stage, ValueCount

_TIERS = {"all": "all words", "any": "some words", "longer": "longer words"}
#: Stages whose reason is a sentence for the user.
_TELLING = ("filter", "answer")
_HEADINGS = ("list", "rank", "score", "weight", "gives")


def breakdown(explain: Mapping[str, Any], width: int) -> list[str]:
    """Return a hit's `explain` as lines: a table of the lists, then the blend with the reranker.

    A table that is wider than `width` columns is written row by row.
    """
    lines = []
    if (lexical := explain.get("lexical")) is not None:
        tier = _TIERS.get(lexical["tier"], lexical["tier"])
        lines.append(f"BM25  {lexical['bm25']:.2f} of at most {lexical['bound']:.2f}, {tier}")
    if (vector := explain.get("vector")) is not None:
        lines.append(f"vector  cosine {vector['cosine']:.3f}")
    if (fused := explain.get("fused")) is not None:
        rows = [_HEADINGS, *map(_share, explain.get("lists", ())), *_fused(fused)]
        if (score := explain.get("rerank")) is not None:
            rows.append(("rerank", "", f"{score:.3f}", "", ""))
        lines += _table(rows, width)
    if (blend := explain.get("blend")) is not None:
        lines.append(f"blend  {_blend(blend, explain)}")
    return [*lines, *_adjustments(explain)]


def _adjustments(explain: Mapping[str, Any]) -> list[str]:
    """Return what changed the score or the place of a result, in lines."""
    lines = []
    if (likelihood := explain.get("likelihood")) is not None:
        lines.append(f"likelihood  of {_signals(likelihood)}; raw score {likelihood['raw']:.3f}")
    if (adjusted := explain.get("adjusted")) is not None:
        for name, factor in adjusted["factors"].items():
            lines.append(f"{name}  odds x {factor['factor']:.3f}: {one_line(factor['reason'])}")
        lines.append(f"adjusted  from {adjusted['score']:.3f}")
    if explain.get("pinned"):
        lines.append("pinned  to this query, so it comes first")
    if (copies := explain.get("copies")) is not None:
        lines.append(f"folded  with {copies} other document(s) of the same text")
    if (date := explain.get("date")) is not None:
        lines.append(f"sorted  by date: {date}")
    return lines


def _signals(likelihood: Mapping[str, Any]) -> str:
    """Return the signals with their leads over the background: `meaning 0.871 (+0.052)`."""
    signals, background = likelihood["signals"], likelihood["background"]
    return ", ".join(
        f"{name} {value:.3f} ({value - background[name]:+.3f})" for name, value in signals.items()
    )


def _table(rows: Sequence[tuple[str, ...]], width: int) -> list[str]:
    lines = columns(rows, right=frozenset({1, 2, 3, 4}))
    if max(map(len, lines)) <= width:
        return lines
    labelled = ((name, zip(_HEADINGS[1:], cells, strict=True)) for name, *cells in rows[1:])
    return [
        f"{name}  {', '.join(f'{heading} {cell}' for heading, cell in cells if cell)}"
        for name, cells in labelled
    ]


def _share(share: Mapping[str, Any]) -> tuple[str, ...]:
    weight, gives = f"{share['weight']:.3g}", f"{share['contribution']:.4f}"
    return one_line(share["list"]), str(share["rank"]), f"{share['score']:.3f}", weight, gives


def _fused(fused: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the rows for the bonus of top ranks, and for the sum of all contributions."""
    bonus = [("top ranks", "", "", "", f"{fused['bonus']:.4f}")] if fused.get("bonus") else []
    total = fused.get("rrf", fused["score"])
    return [*bonus, ("fused", str(fused["rank"]), f"{fused['score']:.3f}", "", f"{total:.4f}")]


def _blend(blend: Mapping[str, float], explain: Mapping[str, Any]) -> str:
    if "most" in explain:
        parts = " + ".join(f"{name} {value:.3f}" for name, value in blend.items())
        total = sum(blend.values())
        return f"{parts} = {total:.3f} of at most {explain['most']:.2f}"
    fused, rerank = explain["fused"]["score"], explain["rerank"]
    total = blend["fused"] * fused + blend["rerank"] * rerank
    return f"{blend['fused']:.2f} x fused + {blend['rerank']:.2f} x rerank = {total:.3f}"


def facets(response: SearchResponse, view: View) -> str:
    """Return the most frequent values of each facet, under a heading that says what was counted."""
    from qmd.cli.render.passage import labelled

    stage = response.stage("facets")
    heading = f"Facets ({stage.reason}):" if stage is not None and stage.reason else "Facets:"
    widest = max(map(width_of, map(one_line, response.facets)))
    lines = labelled("", heading, view)
    for name, counts in response.facets.items():
        label = f"  {one_line(name)}:{' ' * (widest - width_of(one_line(name)))} "
        lines += labelled(label, values(counts) or "none", view)
    return "\n".join(lines) + "\n"


def values(counts: Iterable[ValueCount]) -> str:
    """Return values with their numbers of documents: `work 12, home 3`."""
    return ", ".join(f"{one_line(program_text(plain(count.value)))} {count.documents:,}" for count in counts)


def stages(found: Sequence[Stage]) -> str:
    """Return a table of the stages: status, time and reason."""
    rows = [
        (
            stage.stage,
            stage.status.replace("_", " "),
            "" if stage.milliseconds is None else f"{stage.milliseconds:.1f} ms",
            one_line(stage.reason or ""),
        )
        for stage in found
    ]
    return "\n".join(["Stages:", *(f"  {line}" for line in columns(rows, right=frozenset({2})))]) + "\n"


def unexpected(found: Sequence[Stage]) -> list[str]:
    """Return a line for each stage that the user should know of."""
    return [
        stage.reason
        if stage.stage in _TELLING and stage.reason
        else f"{stage.stage} {stage.status.replace('_', ' ')}: {stage.reason or 'no reason given'}"
        for stage in found
        if stage.notable
    ]
