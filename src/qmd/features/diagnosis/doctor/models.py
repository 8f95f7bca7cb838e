"""Checks of the models and of the vectors."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from qmd.config.settings import Settings
from qmd.engine.embedding.active_vectors import by_priority, embeddable, embedded_share, percent
from qmd.engine.finding import Finding, failed, ok, problem, warning
from qmd.engine.models.provider import ModelProvider
from qmd.engine.models.usage import ModelUse, models
from qmd.errors import QmdError
from qmd.store.base import Store
from qmd.store.values import OnStep
from qmd.types import Config

#: The number of vectors to recompute, and the lowest cosine at which they count as unchanged.
_SAMPLES, _SAME_COSINE = 5, 0.99


def installed(
    settings: Settings, cache_dir: str, provider: ModelProvider, on_step: OnStep
) -> Generator[Finding, None, bool]:
    """Check that each role's model is installed and works; returns True if the embedder is ready.

    What is wrong with several roles for one reason is one problem.
    """
    on_step("Checking the models")
    embeds = False
    problems: dict[tuple[str, str | None], list[str]] = {}
    for use in models(settings, cache_dir, thorough=True):
        finding = _model(use, provider)
        if use.role == "embed":
            embeds = use.condition in ("ready", "remote") and finding.level != "problem"
        if finding.level == "problem":
            told = finding.message.removeprefix(f"{use.role}: ")
            problems.setdefault((told, finding.hint), []).append(use.role)
        else:
            yield finding
    for (told, hint), roles in problems.items():
        yield problem(f"model {roles[0]}", f"{', '.join(roles)}: {told}", hint)
    return embeds


def vectors(
    store: Store, config: Config, provider: ModelProvider, embeds: bool, on_step: OnStep
) -> Iterator[Finding]:
    """Check that every text has vectors that the configured embedder would still make.

    `embeds`: True if the embedder works without preparing anything first.
    """
    try:
        fingerprint = provider.fingerprint
        sent = embeddable(config, provider)
        first = next(iter(by_priority(store, config, fingerprint)), None)
        waiting = store.pending.count(first.fingerprint if first else fingerprint, sent)
        yield from _others(store, config, provider, fingerprint)
        if waiting:
            message = f"{waiting:,} texts have no vectors, so only words find them"
            yield warning("vectors", message, "run 'qmd embed'")
        # A check must not send the text of documents to another machine.
        if store.vectors.exist(fingerprint, sent) and embeds and provider.server("embed") is None:
            yield _recompute(store, fingerprint, provider, on_step)
    except QmdError as error:
        yield failed("vectors", error)


def _others(store: Store, config: Config, provider: ModelProvider, fingerprint: str) -> Iterator[Finding]:
    """Report vectors of other models: the set that searches use for now, and unused sets."""
    chunks = store.vector_sets.chunk_counts()
    for index, vector_set in enumerate(by_priority(store, config, fingerprint)):
        if vector_set.fingerprint == fingerprint:
            continue
        older = f"{chunks[vector_set.fingerprint]:,} vectors by {vector_set.name}"
        if index == 0:
            done = percent(embedded_share(store, config, provider, fingerprint))
            new = f"all vectors by {provider.embedder.name} are made ({done} so far)"
            yield warning("vectors", f"searches use {older} until {new}", "run 'qmd embed'")
        else:
            yield warning(
                "vectors",
                f"{older} were made with other settings and are not used",
                "'qmd embed' replaces them, and 'qmd store compact' deletes them",
            )


def _model(use: ModelUse, provider: ModelProvider) -> Finding:
    check, installation = f"model {use.role}", use.installation
    if installation is None:
        return ok(check, f"{use.role}: no model is set, and none is needed")
    reason, hint = installation.reason, installation.hint
    match installation.condition:
        case "unprepared":
            return ok(check, f"{use.role}: {use.name} is installed; {reason}")
        case "ready" if reason is not None:
            return warning(check, f"{use.role}: {use.name} works, but {reason}", hint or "")
        case "ready" | "remote":
            return _loaded(check, use, provider)
    return problem(check, f"{use.role}: {reason or use.name}", hint)


def _loaded(check: str, use: ModelUse, provider: ModelProvider) -> Finding:
    """Use a model once. An expansion takes too long for a check."""
    try:
        if use.role == "embed":
            provider.embedder.embed_queries(["a"])
        elif use.role == "rerank":
            provider.reranker.score("a", ["a"])
    except QmdError as error:
        return failed(check, error)
    return ok(check, f"{use.role}: {use.name} works")


def _recompute(store: Store, fingerprint: str, provider: ModelProvider, on_step: OnStep) -> Finding:
    """Compare a sample of the stored vectors with vectors made now."""
    on_step("Recomputing sample vectors")
    samples = store.vectors.sample(fingerprint, _SAMPLES)
    texts, titles = [sample.text for sample in samples], [sample.title for sample in samples]
    vectors = provider.embedder.embed_documents(texts, titles)
    cosines = [float(new @ sample.vector) for new, sample in zip(vectors, samples, strict=True)]
    lowest = min(cosines, default=1.0)
    if lowest < _SAME_COSINE:
        differs = f"one differs from the stored one (cosine {lowest:.3f})"
        message = f"of {len(cosines)} recomputed vectors, {differs}"
        return problem("vectors", message, "run 'qmd embed --force'")
    return ok("vectors", f"{len(cosines)} recomputed vectors equal the stored ones")
