"""The methods of `Index` that features add, as type checkers see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qmd.features.agents.recall import RecallMethods
    from qmd.features.agents.sessions import SessionMethods
    from qmd.features.ask.asking import AskMethods
    from qmd.features.diagnosis.doctor import DoctorMethods
    from qmd.features.diagnosis.explainer import WhyMethods
    from qmd.features.evaluation.benchmarking import EvaluationMethods
    from qmd.features.evidence.citing import CitationMethods
    from qmd.features.evidence.packs import PackMethods
    from qmd.features.evidence.verify import VerificationMethods
    from qmd.features.grep.grepping import GrepMethods
    from qmd.features.lint.linting import LintMethods
    from qmd.features.lint.stale import StaleMethods
    from qmd.features.ocr.recognizing import OcrMethods
    from qmd.features.portable.copying import CopyMethods
    from qmd.features.portable.exporting import ExportMethods
    from qmd.features.saved.saving import SavedMethods
    from qmd.features.secrets.places import SecretMethods
    from qmd.features.synonyms.editing import SynonymMethods

    class Methods(
        AskMethods,
        CitationMethods,
        CopyMethods,
        DoctorMethods,
        EvaluationMethods,
        ExportMethods,
        GrepMethods,
        LintMethods,
        OcrMethods,
        PackMethods,
        RecallMethods,
        SavedMethods,
        SynonymMethods,
        SecretMethods,
        SessionMethods,
        StaleMethods,
        VerificationMethods,
        WhyMethods,
    ):
        """The methods of `Index` that features have."""
