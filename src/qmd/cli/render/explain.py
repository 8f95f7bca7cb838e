"""How a result came to its place, in lines for people; and what became of each stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from qmd.cli.terminal import columns

if TYPE_CHECKING:
    from qmd.types import Stage

#: Reasons for skipping that only say what was asked for, or that there was nothing to do.
EXPECTED = frozenset(
    {
        "not asked for",
        "searches were given",
        "no expansion model is set",
        "the keywords alone find one document far ahead of the others",
        "no vec: or hyde: search was given",
        "nothing to rerank",
    }
)
_TIERS = {"all": "all words", "any": "some words", "longer": "longer words"}


def breakdown(explain: Mapping[str, Any]) -> list[str]:
    """A hit's `explain`, in indented lines."""
    rows: list[tuple[str, ...]] = []
    if (lexical := explain.get("lexical")) is not None:
        tier = _TIERS.get(lexical["tier"], lexical["tier"])
        rows.append(("BM25", f"{lexical['bm25']:.2f} of at most {lexical['bound']:.2f}, {tier}"))
    if (vector := explain.get("vector")) is not None:
        rows.append(("vector", f"cosine {vector['cosine']:.3f}"))
    rows += [(share["list"], _share(share)) for share in explain.get("lists", ())]
    if (fused := explain.get("fused")) is not None:
        bonus = f", {fused['bonus']:.2f} of it for top ranks" if fused.get("bonus") else ""
        rows.append(("fused", f"rank {fused['rank']}, {fused['score']:.3f}{bonus}"))
    if (score := explain.get("rerank")) is not None:
        rows.append(("rerank", f"{score:.3f}"))
    if (blend := explain.get("blend")) is not None:
        rows.append(("blend", _blend(blend, explain)))
    return [f"  {line}" for line in columns(rows)]


def _share(share: Mapping[str, Any]) -> str:
    place = f"rank {share['rank']}, score {share['score']:.3f}, weight {share['weight']:.3g}"
    return f"{place}, gives {share['contribution']:.4f}"


def _blend(blend: Mapping[str, float], explain: Mapping[str, Any]) -> str:
    if "most" not in explain:
        return f"{blend['fused']:.2f} x fused + {blend['rerank']:.2f} x rerank"
    parts = " + ".join(f"{name} {value:.3f}" for name, value in blend.items())
    return f"{parts} = {sum(blend.values()):.3f} of at most {explain['most']:.2f}"


def stages(found: Sequence[Stage]) -> str:
    """What each stage did and how long it took, aligned."""
    rows = [
        (
            stage.stage,
            stage.status.replace("_", " "),
            "" if stage.milliseconds is None else f"{stage.milliseconds:.1f} ms",
            stage.reason or "",
        )
        for stage in found
    ]
    return "\n".join(["Stages:", *(f"  {line}" for line in columns(rows, right=frozenset({2})))]) + "\n"


def worth_telling(found: Sequence[Stage]) -> list[str]:
    """What a user should know of stages that did not run, a line each."""
    return [
        f"{stage.stage} {stage.status.replace('_', ' ')}: {stage.reason or 'no reason given'}"
        for stage in found
        if stage.status in ("failed", "timed_out")
        or (stage.status == "skipped" and stage.reason not in EXPECTED)
    ]
