"""An expander whose weights are behind a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.models import answers, lines
from qmd.models.base import Variant

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qmd.models.catalog import ModelCard
    from qmd.models.served import Service


class ServedExpander:
    """Rewrites a query by asking a model that chats. `extra` goes into each request as it is."""

    def __init__(self, card: ModelCard, service: Service, extra: Mapping[str, Any] | None = None) -> None:
        self._card = card
        self._service = service
        self._extra = extra or {}

    @property
    def name(self) -> str:
        return self._card.name

    def expand(self, query: str, *, intent: str | None = None) -> list[Variant]:
        """Variants with a tie to the query. Raises `ModelError` where the model wrote none."""
        asked = f"{query}\nQuery intent: {intent}" if intent else query
        messages = [{"role": "user", "content": self._card.query_prompt.replace("{text}", asked)}]
        if self._card.system_prompt:
            messages.insert(0, {"role": "system", "content": self._card.system_prompt})
        payload = {"model": self._card.model, "messages": messages, **self._extra}
        answer = answers.message(self._service.post("/chat/completions", payload), self.name)
        return lines.variants(answer, query, self.name, intent)
