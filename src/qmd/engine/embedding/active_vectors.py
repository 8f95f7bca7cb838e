"""Sets of vectors: while the one of a new model is being made, the old one goes on answering (E12)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from qmd.engine.models.egress import allowed, explain_local, local_only
from qmd.engine.models.provider import ModelProvider
from qmd.errors import ModelError, VectorIndexMissingError
from qmd.models.registry import remote_host
from qmd.store.base import Scope, Store, VectorSet
from qmd.types import Config

if TYPE_CHECKING:
    from qmd.engine.embedding.batches import EmbedReport
    from qmd.models.base import Embedder


@dataclass(frozen=True, slots=True)
class ActiveVectors:
    """The set to search by, and the model that queries are put to.

    `configured`: it is the one that the settings name. `note` says why it is not, or how little of the texts
    it has, where its like is still being made.
    """

    fingerprint: str
    embedder: Embedder
    configured: bool
    note: str | None = None


def choose(store: Store, config: Config, roles: ModelProvider, scope: Scope) -> ActiveVectors:
    """The set that answers for a scope: of the sets that have vectors there, the first `in_order`.

    One whose model cannot be had any more is passed over. Raises `VectorIndexMissingError` where nothing is
    left, and `ModelError` where that is for want of the configured model.
    """
    failure: ModelError | None = None
    wanted = ""
    try:
        wanted = roles.fingerprint
    except ModelError as error:
        failure = error
    passed_over: str | None = None
    for each in in_order(store, config, wanted):
        if not store.has_vectors(each.fingerprint, scope):
            continue
        if each.fingerprint == wanted:
            note = f"{passed_over}; in use: {_progress(store, config, roles)}" if passed_over else None
            return ActiveVectors(wanted, roles.embedder, True, note)
        try:
            embedder = _earlier(config, roles, scope, each)
        except ModelError as error:
            passed_over = f"vectors of {each.name} cannot be used: {error.in_one_line()}"
            continue
        if failure is not None:
            reason = f": {failure.in_one_line()}"
        else:
            reason = f" until 'qmd embed' has finished {_progress(store, config, roles)}"
        return ActiveVectors(each.fingerprint, embedder, False, f"vectors of {each.name}{reason}")
    raise failure or VectorIndexMissingError()


def in_order(store: Store, config: Config, wanted: str) -> list[VectorSet]:
    """The sets, in the order in which they are to answer; `wanted` is the configured one's fingerprint.

    A set that was complete once goes before those that never were: what it lacks are new texts. Of those that
    never were, the one that lacks the fewest texts goes first. Otherwise the configured one does. To a
    restricted index none was ever complete, for that is said of all collections together.
    """
    sets = store.vector_sets()
    if config.restricted:
        sets = [replace(each, complete=False) for each in sets]
    everything = Scope(tuple(config.collections))
    partial = [each for each in sets if not each.complete]

    def rank(each: VectorSet) -> tuple[bool, int, bool]:
        lacking = (
            0 if each.complete or len(partial) < 2 else store.pending_count(each.fingerprint, everything)
        )
        return not each.complete, lacking, each.fingerprint != wanted

    return sorted(sets, key=rank)


def share(store: Store, config: Config, roles: ModelProvider, fingerprint: str) -> float:
    """How much of the texts that the configured embedder may read a set has, 0..1; 1 where there are none."""
    everything = Scope(allowed(config.collections, local_only(config, roles, "embed")))
    total = store.pending_count("", everything)
    return 1.0 if not total else 1.0 - store.pending_count(fingerprint, everything) / total


def finish(
    store: Store, config: Config, seen: Config, roles: ModelProvider, report: EmbedReport
) -> EmbedReport:
    """Have the configured set answer from now on, if it has every text that it may, and forget the others.

    `config` is all that is configured, whoever asks; `seen` is as much of it as the caller may see. Returns
    the report with what became of the sets.
    """
    fingerprint = roles.fingerprint
    everything = Scope(allowed(config.collections, local_only(config, roles, "embed")))
    replaced = store.activate_vectors(fingerprint, everything)
    if replaced is not None:
        roles.forget_earlier()
        # Vectors are only replaced when every text has new ones, those that the caller may not see included.
        return report if seen.restricted else replace(report, replaced=tuple(replaced))
    visible = Scope(allowed(seen.collections, local_only(seen, roles, "embed")))
    left = store.pending_count(fingerprint, visible)
    if seen.restricted and not left:
        return report
    first = next(iter(in_order(store, seen, fingerprint)), None)
    still = first.name if first is not None and first.fingerprint != fingerprint else None
    return replace(report, still=still, left=left)


def _earlier(config: Config, roles: ModelProvider, scope: Scope, made: VectorSet) -> Embedder:
    """The embedder of a set that is not the configured one's. Raises `ModelError`."""
    private = [name for name, each in config.collections.items() if not each.remote]
    if remote_host(made.source) is not None and set(private).issuperset(scope.collections):
        raise ModelError(explain_local(scope.collections))
    return roles.earlier(made)


def _progress(store: Store, config: Config, roles: ModelProvider) -> str:
    """The configured embedder, and how far its set is."""
    return f"{roles.embedder.name}: {percent(share(store, config, roles, roles.fingerprint))}"


def percent(part: float) -> str:
    """A share in words; all of it only where nothing is lacking."""
    return f"{int(100 * part)}%"
