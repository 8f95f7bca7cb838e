"""Explain the ranking of a result, and the stages of a search, to people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from qmd.cli.render.passage import labelled
from qmd.cli.terminal import columns, one_line, width_of
from qmd.ranking.fusion import SCATTERED
from qmd.text.values import shown
from qmd.text.wording import plural
from qmd.types.traces import (
    Adjustment,
    ContractBlend,
    DateOrder,
    Fold,
    Fusion,
    KeywordMatch,
    Likelihood,
    ListShare,
    Pin,
    Succession,
    Trace,
    TunedBlend,
    VectorMatch,
)

if TYPE_CHECKING:
    from qmd.cli.render.view import View
    from qmd.types import SearchResponse, Stage, ValueCount

_TIERS = {"all": "all words", "any": "some words", "longer": "longer words"}
#: The work of a search without a stage. The reasons of other stages are sentences for the user.
_WITHOUT = {
    "vector": "not searched by meaning",
    "vector variants": "variants not searched by meaning",
    "lexical variants": "variants not searched by words",
    "longer words": "not searched for longer words",
    "rerank": "not reranked",
    "expand": "searched without variants",
    "cache": "not kept for the next time",
    "marks": "pins and marks do not count",
}
_WITHOUT_WORDS = "not searched by words"
_HEADINGS = ("list", "rank", "score", "weight", "gives")


def breakdown(steps: Sequence[Trace], width: int) -> list[str]:
    """Return a hit's traces as lines: a table of the lists, the blend with the reranker, adjustments.

    A table that is wider than `width` columns is written row by row.
    """
    reranked = [
        ("rerank", "", f"{step.rerank:.3f}", "", "")
        for step in steps
        if isinstance(step, ContractBlend | TunedBlend)
    ]
    lines = []
    for step in steps:
        match step:
            case Fusion():
                rows = [_HEADINGS, *map(_share, step.lists), *_fused(step), *reranked]
                lines += _table(rows, width)
            case Adjustment(score, factors):
                for name, factor in factors.items():
                    lines.append(f"{name}  odds x {factor.value:.3f}: {one_line(factor.reason)}")
                lines.append(f"adjusted  from {score:.3f}")
            case _:
                lines += _line(step)
    return lines


def _line(step: Trace) -> Iterator[str]:
    match step:
        case KeywordMatch(bm25, bound, tier, scattered):
            yield f"BM25  {bm25:.2f} of at most {bound:.2f}, {_TIERS[tier]}"
            if scattered:
                lost = f"{SCATTERED * scattered:.3f} less"
                yield f"place  {lost}: its best place lacks {scattered:.0%} of the query, which its text has"
        case VectorMatch(cosine):
            yield f"vector  cosine {cosine:.3f}"
        case ContractBlend(rerank, fused, share):
            total = share * fused + (1.0 - share) * rerank
            yield f"blend  {share:.2f} x fused + {1.0 - share:.2f} x rerank = {total:.3f}"
        case TunedBlend(most=most):
            parts = " + ".join(f"{name} {value:.3f}" for name, value in step.parts.items())
            yield f"blend  {parts} = {sum(step.parts.values()):.3f} of at most {most:.2f}"
        case Likelihood(raw):
            yield f"likelihood  of {_signals(step)}; raw score {raw:.3f}"
        case Pin():
            yield "pinned  to this query, so it comes first"
        case Succession(file, score):
            found = f"from {score:.3f} " if score else ""
            yield f"raised  {found}above {one_line(file)}, which it replaces"
        case Fold(copies):
            yield f"folded  with {plural(copies, 'other document')} of the same text"
        case DateOrder(date):
            yield f"sorted  by date: {date}"


def _signals(likelihood: Likelihood) -> str:
    """Return the signals, and their leads over those of unrelated documents: `rerank 0.571 (+0.271)`."""
    return ", ".join(
        f"{name} {value:.3f} ({value - likelihood.background[name]:+.3f})"
        for name, value in likelihood.signals.items()
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


def _share(share: ListShare) -> tuple[str, ...]:
    weight, gives = f"{share.weight:.3g}", f"{share.contribution:.4f}"
    return one_line(share.list), str(share.rank), f"{share.score:.3f}", weight, gives


def _fused(fusion: Fusion) -> list[tuple[str, ...]]:
    """Return the rows for the bonus of top ranks, and for the sum of all contributions."""
    bonus = [("top ranks", "", "", "", f"{fusion.bonus:.4f}")] if fusion.bonus else []
    return [*bonus, ("fused", str(fusion.rank), f"{fusion.score:.3f}", "", f"{fusion.total:.4f}")]


def facets(response: SearchResponse, view: View) -> str:
    """Return the most frequent values of each facet, under a heading that says what was counted."""
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
    return ", ".join(f"{one_line(shown(count.value))} {count.documents:,}" for count in counts)


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
    lines = []
    for stage in found:
        if stage.notable:
            without = _WITHOUT.get(stage.stage, "")
            if stage.stage == "lexical" and stage.status != "skipped":  # else the query has no words
                without = _WITHOUT_WORDS
            lines.append(": ".join(filter(None, (without, stage.reason or without or stage.stage))))
    return lines
