"""The models that are used, and the vectors that one of them made."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from qmd.config.settings import Settings
from qmd.engine.doctor.finding import Finding, failed, ok, problem, warning
from qmd.engine.embedding.active_vectors import in_order, percent, share
from qmd.engine.models.egress import allowed, local_only
from qmd.engine.models.provider import ModelProvider
from qmd.engine.models.usage import ModelUse, models
from qmd.errors import QmdError
from qmd.store.base import OnStep, Scope, Store
from qmd.types import Config

#: Vectors that are made again, and the cosine below which they are not what they were.
_SAMPLES, _SAME = 5, 0.99


def installed(
    settings: Settings, cache_dir: str, roles: ModelProvider, on_step: OnStep
) -> Generator[Finding, None, bool]:
    """Whether each role's model is here, unharmed, and works; returns whether the embedder does."""
    on_step("Checking the models")
    found = {use.role: (use, _model(use, roles)) for use in models(settings, cache_dir, thorough=True)}
    for _, finding in found.values():
        yield finding
    use, finding = found["embed"]
    return use.condition in ("ready", "remote") and finding.level != "problem"


def vectors(
    store: Store, config: Config, roles: ModelProvider, embeds: bool, on_step: OnStep
) -> Iterator[Finding]:
    """Whether every text has vectors, by the embedder in use, as it would make them now.

    `embeds`: it can be asked without preparing anything.
    """
    try:
        fingerprint = roles.fingerprint
        sent = allowed(config.collections, local_only(config, roles, "embed"))
        first = next(iter(in_order(store, config, fingerprint)), None)
        waiting = store.pending_count(first.fingerprint if first else fingerprint, Scope(sent))
        yield from _others(store, config, roles)
        if waiting:
            yield warning("vectors", f"{waiting:,} texts are not found by meaning", "run 'qmd embed'")
        # What a collection holds is not sent to another machine for the sake of a check.
        if store.has_vectors(fingerprint, Scope(sent)) and embeds and roles.server("embed") is None:
            yield _sampled(store, fingerprint, roles, on_step)
    except QmdError as error:
        yield failed("vectors", error)


def _others(store: Store, config: Config, roles: ModelProvider) -> Iterator[Finding]:
    """The sets of vectors that are not the configured model's: one that answers meanwhile, and the rest."""
    fingerprint, chunks = roles.fingerprint, store.chunk_counts()
    for at, each in enumerate(in_order(store, config, fingerprint)):
        if each.fingerprint == fingerprint:
            continue
        made = f"{chunks[each.fingerprint]:,} vectors by {each.name}"
        if at == 0:
            done = percent(share(store, config, roles, fingerprint))
            new = f"those by {roles.embedder.name}, of which {done} are here"
            yield warning("vectors", f"searches use {made} until there are all of {new}", "run 'qmd embed'")
        else:
            yield warning(
                "vectors",
                f"{made} were made for other settings, and are not used",
                "'qmd embed' replaces them, and 'qmd cleanup' throws them away",
            )


def _model(use: ModelUse, roles: ModelProvider) -> Finding:
    check, here = f"model {use.role}", use.installation
    if here is None:
        return ok(check, f"{use.role}: no model is set, and none is needed")
    said = f"{use.role}: {here.reason or use.name}"
    match here.condition:
        case "unprepared":
            return ok(check, f"{use.role}: {use.name} is here; {here.reason}")
        case "ready" if here.reason is not None:
            return warning(check, f"{use.role}: {use.name} works, but {here.reason}", here.hint or "")
        case "ready" | "remote":
            return _loaded(check, use, roles)
    return problem(check, said, here.hint)


def _loaded(check: str, use: ModelUse, roles: ModelProvider) -> Finding:
    try:
        match use.role:
            case "embed":
                roles.embedder.embed_queries(["a"])
            case "rerank":
                roles.reranker.score("a", ["a"])
            case "expand":
                pass  # answering takes long
    except QmdError as error:
        return failed(check, error)
    return ok(check, f"{use.role}: {use.name} works")


def _sampled(store: Store, fingerprint: str, roles: ModelProvider, on_step: OnStep) -> Finding:
    """Some vectors, made again."""
    on_step("Embedding samples again")
    samples = store.sample(fingerprint, _SAMPLES)
    made = roles.embedder.embed_documents([each.text for each in samples], [each.title for each in samples])
    cosines = [float(new @ each.vector) for new, each in zip(made, samples, strict=True)]
    if min(cosines, default=1.0) < _SAME:
        return problem(
            "vectors",
            f"of {len(cosines)} vectors made again, one has cosine {min(cosines):.3f} with what it was",
            "run 'qmd embed --force'",
        )
    return ok("vectors", f"{len(cosines)} vectors made again are as before")
