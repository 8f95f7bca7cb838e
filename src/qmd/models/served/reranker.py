"""A reranker whose weights are behind a service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from qmd.models import answers
from qmd.models.served import RefusedError

if TYPE_CHECKING:
    from qmd.models.base import Cancelled
    from qmd.models.catalog import ModelCard
    from qmd.models.served import Service

#: Passages in one request: all the candidates of a search, most often.
BATCH = 64
#: How servers say that they do not know the form of a request.
_NOT_UNDERSTOOD = frozenset({400, 415, 422})


class ServedReranker:
    """Scores by asking. TEI calls the passages `texts`, all others `documents`."""

    def __init__(self, card: ModelCard, service: Service) -> None:
        self._card = card
        self._service = service
        self._speaks_tei = False

    @property
    def name(self) -> str:
        return self._card.name

    def score(
        self,
        query: str,
        passages: Sequence[str],
        *,
        frequencies: Callable[[Sequence[int]], tuple[int, Sequence[int]]] | None = None,
        cancelled: Cancelled | None = None,
    ) -> list[float]:
        """Relevance of each passage, 0..1, in the order given.

        Once `cancelled` is true, of the first ones only. Raises `ModelError`.
        """
        found: list[float] = []
        for start in range(0, len(passages), BATCH):
            if cancelled is not None and cancelled():
                break
            batch = list(passages[start : start + BATCH])
            found += answers.scores(self._ask(query, batch), len(batch), self.name)
        return answers.to_relevance(found)

    def _ask(self, query: str, passages: list[str]) -> Any:
        if not self._speaks_tei:
            try:
                return self._service.post(
                    "/rerank",
                    {
                        "model": self._card.model,
                        "query": query,
                        "documents": passages,
                        "top_n": len(passages),
                    },
                )
            except RefusedError as error:
                if error.status not in _NOT_UNDERSTOOD:
                    raise
                answer = self._ask_tei(query, passages, error)
                self._speaks_tei = True
                return answer
        return self._service.post("/rerank", {"query": query, "texts": passages})

    def _ask_tei(self, query: str, passages: list[str], refusal: RefusedError) -> Any:
        try:
            return self._service.post("/rerank", {"query": query, "texts": passages})
        except RefusedError:
            # Neither form is taken: the first refusal says why.
            raise refusal from None
