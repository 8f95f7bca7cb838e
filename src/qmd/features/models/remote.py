"""Models behind an OpenAI-compatible interface: a server, or llama.cpp in this process."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from qmd.errors import ModelError
from qmd.features.models import replies
from qmd.features.models.expansion import parse_variants
from qmd.models.base import Variant
from qmd.text.digest import sha256

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from qmd.models.base import Cancelled, Frequencies
    from qmd.models.catalog import ModelCard

#: Texts in a request for embeddings.
EMBED_BATCH = 32
#: Passages in a request for scores; usually all candidates of a search.
RERANK_BATCH = 64
#: An estimate of a token of any tokenizer: up to four letters of the Latin script, one character of another
#: script, or a mark. It counts a third too many tokens in English, and rarely too few in any script.
_TOKEN = re.compile(r"[A-Za-z]{1,4}|\d{1,3}|[^\W\d_A-Za-z]|[^\w\s]|_+")
#: Error messages for a text with more tokens than the model reads.
_TOO_LONG = re.compile(r"too (?:large|long|many)|context|maximum|exceed", re.IGNORECASE)
#: Characters that fit into any model.
_SHORT = 64
#: HTTP statuses of a server that does not know the form of a request.
_WRONG_FORM = frozenset({400, 415, 422})


class RemoteService(Protocol):
    """An OpenAI-compatible interface; `loaded` is True if weights are in this process's memory."""

    @property
    def loaded(self) -> bool: ...

    def post(self, path: str, payload: Mapping[str, Any]) -> Any:
        """Return the reply to a request as parsed JSON. Raises `ModelError`."""
        ...

    def stream(
        self, path: str, payload: Mapping[str, Any], seconds: float, on_part: Callable[[Any], bool]
    ) -> None:
        """Give the parts of a reply to `on_part`, as parsed JSON, until it returns true.

        A part may take `seconds`. Raises `ModelError`.
        """
        ...


class RefusedError(ModelError):
    """The service rejected the request with this HTTP status."""

    def __init__(self, message: str, hint: str | None, status: int) -> None:
        super().__init__(message, hint)
        self.status = status


def load(
    card: ModelCard, service: RemoteService, chat_options: Mapping[str, Any] | None = None
) -> RemoteModel:
    """Return the model for the card's role. `chat_options` are added to every chat request."""
    match card.role:
        case "embed":
            return RemoteEmbedder(card, service)
        case "rerank":
            return RemoteReranker(card, service)
        case "generate":
            return RemoteExpander(card, service, chat_options or {})


class RemoteEmbedder:
    """Embeds texts through a service. Its tokenizer is not known, so token counts are estimates.

    Methods that send requests raise `ModelError`.
    """

    def __init__(self, card: ModelCard, service: RemoteService) -> None:
        self.name = card.name
        self.window = card.window
        self.chunk_tokens = card.chunk_tokens
        self.chunk_overlap = card.chunk_overlap
        self._card = card
        self._service = service
        self._lock = threading.Lock()
        self._dimension = card.dimension

    @property
    def fingerprint(self) -> str:
        """Identify the model by its name, source and prompts, without a request to the service."""
        card = self._card
        prompts = (card.query_prompt, card.document_prompt, *filter(None, (card.pooling,)))
        recipe = (card.name, card.source, card.size, *prompts)
        return f"{card.backend}-{sha256(repr(recipe).encode())[:16]}"

    @property
    def dimension(self) -> int:
        """Return the dimension of the card or, if it has none, that of the first reply."""
        if not self._dimension:
            self.embed_queries(["a"])
        return self._dimension

    @property
    def loaded(self) -> bool:
        return self._service.loaded

    def embed_documents(
        self, texts: Sequence[str], titles: Sequence[str] | None = None
    ) -> NDArray[np.float32]:
        prompt = self._card.document_prompt
        titles = titles or [""] * len(texts)
        return self._embed(
            [_fill(prompt, text, title or "none") for text, title in zip(texts, titles, strict=True)]
        )

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._embed([_fill(self._card.query_prompt, text) for text in texts])

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the estimated character span (start, end) of every token, in order."""
        return [match.span() for match in _TOKEN.finditer(text)]

    def token_ids(self, text: str) -> list[int]:
        """Return no ids, because no reranker uses the tokens of this model."""
        return []

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        starts = range(0, len(texts), EMBED_BATCH)
        batches = [self._embed_batch(texts[start : start + EMBED_BATCH]) for start in starts]
        return np.concatenate(batches) if batches else np.zeros((0, self._dimension), np.float32)

    def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        payload = {"model": self._card.model, "input": list(texts), "encoding_format": "float"}
        try:
            reply = self._service.post("/embeddings", payload)
        except RefusedError as error:
            if not _TOO_LONG.search(error.message):
                raise
            return self._embed_in_parts(texts, error)
        vectors = replies.vectors(reply, len(texts), self.name)
        with self._lock:
            self._dimension = self._dimension or vectors.shape[1]
            if vectors.shape[1] != self._dimension:
                raise ModelError(
                    f"'{self.name}' returned vectors of {vectors.shape[1]} numbers, not {self._dimension}",
                    "the server now runs another model under this name: "
                    "configure that model's own name, or run 'qmd embed --force'",
                )
        return vectors

    def _embed_in_parts(self, texts: Sequence[str], refusal: RefusedError) -> NDArray[np.float32]:
        """Embed the halves of a text that is too long, and return their mean.

        Token counts are estimates, so a chunk can have too many tokens for some tokenizers.
        """
        import numpy as np

        if len(texts) > 1:
            return np.concatenate([self._embed_batch([text]) for text in texts])
        (text,) = texts
        if len(text) < _SHORT:
            raise refusal
        middle = text.rfind(" ", 0, len(text) // 2 + 1) + 1 or len(text) // 2
        halves = [self._embed_batch([text[:middle]]), self._embed_batch([text[middle:]])]
        mean = np.concatenate(halves).mean(axis=0)
        return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)[None, :]


class RemoteReranker:
    """Scores passages through a service. TEI names the passages `texts`, other servers `documents`."""

    def __init__(self, card: ModelCard, service: RemoteService) -> None:
        self.name = card.name
        self._card = card
        self._service = service
        self._is_tei = False

    def score(
        self,
        query: str,
        passages: Sequence[str],
        *,
        frequencies: Frequencies | None = None,
        cancelled: Cancelled | None = None,
    ) -> list[float]:
        """Score the passages as `Reranker.score` says, in requests of `RERANK_BATCH`. Raises `ModelError`."""
        scores: list[float] = []
        for start in range(0, len(passages), RERANK_BATCH):
            if cancelled is not None and cancelled():
                break
            batch = list(passages[start : start + RERANK_BATCH])
            scores += replies.scores(self._post(query, batch), len(batch), self.name)
        return replies.to_relevance(scores)

    def _post(self, query: str, passages: list[str]) -> Any:
        tei = {"query": query, "texts": passages}
        if self._is_tei:
            return self._service.post("/rerank", tei)
        payload = {"query": query, "documents": passages, "top_n": len(passages)}
        try:
            return self._service.post("/rerank", {"model": self._card.model, **payload})
        except RefusedError as refusal:
            if refusal.status not in _WRONG_FORM:
                raise
            try:
                reply = self._service.post("/rerank", tei)
            except RefusedError:
                # The server rejects both forms: its first reply gives the reason.
                raise refusal from None
            self._is_tei = True
            return reply


class RemoteExpander:
    """Rewrites queries with a chat model, and writes other texts.

    `window` is the most tokens that the model reads and writes, 0 if it is not known.
    """

    def __init__(self, card: ModelCard, service: RemoteService, options: Mapping[str, Any]) -> None:
        self.name = card.name
        self.window = card.window
        self._card = card
        self._service = service
        self._options = options

    def expand(self, query: str, *, intent: str | None = None) -> list[Variant]:
        """Return variants that share a word with the query. Raises `ModelError` if there are none."""
        text = f"{query}\nQuery intent: {intent}" if intent else query
        messages = [{"role": "user", "content": self._card.query_prompt.replace("{text}", text)}]
        if self._card.system_prompt:
            messages.insert(0, {"role": "system", "content": self._card.system_prompt})
        payload = {"model": self._card.model, "messages": messages, **self._options}
        output = replies.message(self._service.post("/chat/completions", payload), self.name)
        return parse_variants(output, query, self.name, intent)

    def write(
        self, system: str, prompt: str, *, tokens: int, seconds: float, on_text: Callable[[str], bool]
    ) -> None:
        """Give the pieces of an answer to `on_text`; see `Writer`."""
        roles = (("system", system), ("user", prompt))
        messages = [{"role": role, "content": content} for role, content in roles]
        options = {name: value for name, value in self._options.items() if name != "grammar"}
        options |= {"temperature": 0, "max_tokens": tokens}
        payload = {"model": self._card.model, "messages": messages, **options, "stream": True}
        self._service.stream(
            "/chat/completions", payload, seconds, lambda part: on_text(replies.piece(part, self.name))
        )


RemoteModel: TypeAlias = RemoteEmbedder | RemoteReranker | RemoteExpander


def _fill(prompt: str, text: str, title: str = "") -> str:
    # str.format would also replace braces in the title.
    before, _, after = prompt.partition("{text}")
    return before.replace("{title}", title) + text + after
