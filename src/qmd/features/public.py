"""The public names of `qmd` and the methods of `Index` that features add, imported on use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.plugins import Table

# isort: off
if TYPE_CHECKING:
    from qmd.features.archive.archive import (
        Archive as Archive,
        AuthorPosts as AuthorPosts,
        Match as Match,
        Matches as Matches,
        PostText as PostText,
        open_archive as open_archive,
    )
    from qmd.features.agents.sessions import SessionMethods
    from qmd.features.archive.posts import Post as Post, Section as Section
    from qmd.features.diagnosis.doctor import DoctorMethods
    from qmd.features.diagnosis.explainer import Why as Why
    from qmd.features.diagnosis.explainer import WhyMethods
    from qmd.features.evaluation.benchmarking import Benchmark as Benchmark
    from qmd.features.evaluation.benchmarking import EvaluationMethods
    from qmd.features.evaluation.modes import Evaluation as Evaluation
    from qmd.features.agents.recall import RecallMethods
    from qmd.features.evidence.citing import CitationMethods
    from qmd.features.evidence.packs import PackMethods
    from qmd.features.evidence.types import CitationCheck as CitationCheck, CitationReport as CitationReport
    from qmd.features.evidence.verify import VerificationMethods
    from qmd.features.grep.grepping import GrepMethods
    from qmd.features.lint.linting import LintMethods
    from qmd.features.lint.stale import StaleMethods
    from qmd.features.portable.copying import CopyMethods
    from qmd.features.portable.exporting import ExportMethods, Portable as Portable
    from qmd.features.portable.opening import open_index_file as open_index_file
    from qmd.features.saved.saving import SavedMethods
    from qmd.features.secrets.places import SecretMethods

    class Methods(
        CitationMethods,
        CopyMethods,
        DoctorMethods,
        EvaluationMethods,
        ExportMethods,
        GrepMethods,
        LintMethods,
        PackMethods,
        RecallMethods,
        SavedMethods,
        SecretMethods,
        SessionMethods,
        StaleMethods,
        VerificationMethods,
        WhyMethods,
    ):
        """The methods of `Index` that features have."""
# isort: on

_EXPORTS = Table("qmd.exports", {}, object)


def __getattr__(name: str) -> Any:
    value = None if name.startswith("_") else _EXPORTS.load(name)
    if value is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return value
