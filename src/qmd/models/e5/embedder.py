"""The default embedder: multilingual-e5-small (Wang et al. 2024, https://arxiv.org/abs/2402.05672)."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

from qmd.errors import ModelError
from qmd.installation import package_command
from qmd.models.base import CancelledError
from qmd.models.catalog import MULTILINGUAL_E5_SMALL as CARD
from qmd.models.e5 import convert
from qmd.models.e5.package import locate_weights
from qmd.models.e5.tokenizer import BOS, EOS, PAD, Tokenizer
from qmd.processes import processors

if TYPE_CHECKING:
    import numpy as np
    import onnxruntime
    from numpy.typing import NDArray

    from qmd.models.base import Cancelled, Probe

Kind = Literal["query", "document"]

#: The inputs of the graph: int64 of shape (batch, tokens), padded on the right, and int32 of shape (batch,),
#: the number of tokens in each row without padding. Its output: float32 of shape (batch, tokens, hidden),
#: undefined for padding.
INPUT_IDS, LENGTHS, HIDDEN_STATES = "input_ids", "lengths", "hidden_states"

_PROMPTS: dict[Kind, str] = {"query": CARD.query_prompt, "document": CARD.document_prompt}

#: The maximum number of tokens in a batch, padding included; a longer text is a batch of its own. Larger
#: batches are not faster (texts of 64 tokens on one thread: 4,700 tokens a second in batches of 1,024, 5,000
#: in batches of 256) and have more padding, which was a quarter of the reranker's tokens.
_BATCH_TOKENS = 256
#: The queries whose states are kept: the reranker reads those of the vector search.
_RECENT_QUERIES = 8
_MOST_THREADS = 4

_shared: WeakValueDictionary[tuple[Path, int], E5Embedder] = WeakValueDictionary()
_shared_lock = threading.Lock()


def load_embedder(
    cache_dir: Path, threads: int | None = None, progress: Callable[[str], None] | None = None
) -> E5Embedder:
    """Return the process's only embedder for a cache directory and a number of threads.

    Its weights load at the first use. Raises `ModelError` if they are missing.
    """
    if not convert.is_ready(cache_dir):
        locate_weights(cache_dir)
    key = (cache_dir.resolve(), threads or min(processors(), _MOST_THREADS))
    with _shared_lock:
        embedder = _shared.get(key)
        if embedder is None:
            embedder = _shared[key] = E5Embedder(*key, progress)
        return embedder


def check_installed() -> None:
    """Raise `ModelError` if the package that runs the model is not installed."""
    if find_spec("onnxruntime") is None:
        raise ModelError(
            f"{CARD.name} needs the package 'onnxruntime', which is not installed",
            f"{package_command('onnxruntime')}; docs/platforms.md says where it cannot be installed",
        )


class E5Embedder:
    """Returns the mean of a text's last hidden states, scaled to length 1. Safe to call from several threads.

    A vector depends on its own text only, not on the rest of the batch. Files are read at the first use.
    """

    name = CARD.name
    fingerprint = f"{CARD.name}-{convert.FINGERPRINT}"
    dimension = CARD.dimension
    window = CARD.window
    chunk_tokens = CARD.chunk_tokens
    chunk_overlap = CARD.chunk_overlap

    def __init__(self, cache_dir: Path, threads: int, progress: Callable[[str], None] | None) -> None:
        self._cache_dir = cache_dir
        self._threads = threads
        self._progress = progress
        self._lock = threading.RLock()
        self._recent: OrderedDict[tuple[int, ...], NDArray[np.float32]] = OrderedDict()

    @property
    def loaded(self) -> bool:
        """True if the weights are in memory. Does not wait for a load in progress."""
        return "_session" in self.__dict__

    @property
    def tokenizer(self) -> Tokenizer:
        with self._lock:
            return self._tokenizer

    def embed_documents(
        self, texts: Sequence[str], titles: Sequence[str] | None = None
    ) -> NDArray[np.float32]:
        """Embed passages: float32 of shape (n, 384), rows of length 1. Titles are not used by this model.

        Raises `ModelError` if a text is longer than the window.
        """
        ids = [self.token_ids(text) for text in texts]
        capacity = self._capacity("document")
        for index, row in enumerate(ids):
            if len(row) > capacity:
                raise ModelError(
                    f"Text {index + 1} of {len(texts)} has {len(row)} tokens; {CARD.name} reads {capacity}",
                    "use smaller chunks",
                )
        return self._embed(ids, "document")

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed queries: float32 of shape (n, 384), rows of length 1.

        A query that is longer than the window is truncated.
        """
        capacity = self._capacity("query")
        return self._embed([self.token_ids(text)[:capacity] for text in texts], "query")

    def probes(self, texts: Sequence[str]) -> list[Probe]:
        """Embed queries, and return the probe of each."""
        from qmd.models.e5.common import centred

        return [centred(text, vector) for text, vector in zip(texts, self.embed_queries(texts), strict=True)]

    def encode_tokens(
        self, texts: Sequence[str], kind: Kind, *, cancelled: Cancelled | None = None
    ) -> tuple[list[NDArray[np.float32]], list[list[int]]]:
        """Return the vectors and the ids of the tokens of each text, for late interaction.

        Vectors are float32 of shape (tokens, 384), neither centred nor scaled; special tokens and the prompt
        are left out. A text that is longer than the window is read in consecutive windows. Raises
        `CancelledError` if `cancelled` returned True.
        """
        import numpy as np

        ids = [self.token_ids(text) for text in texts]
        capacity, skip = self._capacity(kind), len(self._prompt_ids(kind))
        windows = [
            (index, row[start : start + capacity])
            for index, row in enumerate(ids)
            for start in range(0, len(row), capacity)
        ]
        parts: dict[int, NDArray[np.float32]] = {}
        for window, states in self._hidden_states([row for _, row in windows], kind, cancelled):
            parts[window] = states[skip:-1]
        if len(parts) < len(windows):
            raise CancelledError
        vectors = [[np.zeros((0, CARD.dimension), np.float32)] for _ in texts]
        for window, (owner, _) in enumerate(windows):
            vectors[owner].append(parts[window])
        return [np.concatenate(rows) for rows in vectors], ids

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return the span (start, end) of every token in order. They cover everything except white space."""
        return self.tokenizer.offsets(text)

    def token_ids(self, text: str) -> list[int]:
        """Return the ids of the tokens of `text`, without special tokens and without the prompt."""
        return self.tokenizer.ids(text)

    def _embed(self, ids: Sequence[Sequence[int]], kind: Kind) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.empty((len(ids), CARD.dimension), np.float32)
        for index, states in self._hidden_states(ids, kind):
            pooled = states.mean(axis=0)
            vectors[index] = pooled / np.linalg.norm(pooled)
        return vectors

    def _prompt_ids(self, kind: Kind) -> list[int]:
        """Return the tokens before the text: `<s>` and the prompt."""
        return [BOS, *self.token_ids(_PROMPTS[kind].format(text=""))]

    def _capacity(self, kind: Kind) -> int:
        """Return how many tokens of text fit into the window with the prompt and two special tokens."""
        return CARD.window - len(self._prompt_ids(kind)) - 1

    def _hidden_states(
        self, ids: Sequence[Sequence[int]], kind: Kind, cancelled: Cancelled | None = None
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Run texts, given as token ids, in batches of similar length.

        Yields (index into `ids`, float32 of shape (tokens, dimension)) in no particular order. The rows are
        `<s>`, the prompt, the text and `</s>`. Stops early if `cancelled` returns True.
        """
        import numpy as np

        prompt = self._prompt_ids(kind)
        sequences = [(*prompt, *row, EOS) for row in ids]
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]), reverse=True)
        if kind == "query":
            recent = {index: self._recent.get(sequences[index]) for index in order}
            yield from ((index, states) for index, states in recent.items() if states is not None)
            order = [index for index in order if recent[index] is None]
        while order:
            if cancelled and cancelled():
                return
            width = len(sequences[order[0]])
            count = max(1, _BATCH_TOKENS // width)
            batch, order = order[:count], order[count:]
            tokens = np.full((len(batch), width), PAD, np.int64)
            lengths = np.array([len(sequences[index]) for index in batch], np.int32)
            for row, index in enumerate(batch):
                tokens[row, : lengths[row]] = sequences[index]
            states = self._run(tokens, lengths)
            for row, index in enumerate(batch):
                rows = states[row, : lengths[row]]
                if kind == "query":
                    self._remember(sequences[index], rows)
                yield index, rows

    def _remember(self, query: tuple[int, ...], states: NDArray[np.float32]) -> None:
        with self._lock:
            self._recent[query] = states
            while len(self._recent) > _RECENT_QUERIES:
                self._recent.popitem(last=False)

    def _run(self, tokens: NDArray[np.int64], lengths: NDArray[np.int32]) -> NDArray[np.float32]:
        with self._lock:
            session = self._session
        states: NDArray[np.float32]
        (states,) = session.run([HIDDEN_STATES], {INPUT_IDS: tokens, LENGTHS: lengths})
        return states

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        import numpy as np

        folder = convert.prepare(self._cache_dir, self._progress)
        pieces = (folder / convert.PIECES).read_bytes()
        return Tokenizer(pieces, np.fromfile(folder / convert.SCORES, "<f4"))

    @cached_property
    def _session(self) -> onnxruntime.InferenceSession:
        try:
            return self._open()
        except ModelError:
            raise
        except Exception as error:
            if not convert.is_intact(self._cache_dir):
                convert.discard(self._cache_dir)
                return self._open()
            raise ModelError(f"onnxruntime cannot run {CARD.name}: {error}") from error

    def _open(self) -> onnxruntime.InferenceSession:
        # Some builds of onnxruntime report to their maker from their import on, and keep a store for it.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        check_installed()
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = 3
        # Waiting threads sleep: a spinning one takes the processor from whoever it waits for.
        for pool in ("intra_op", "inter_op"):
            options.add_session_config_entry(f"session.{pool}.allow_spinning", "0")
        # tools/make_e5_graph.py says why.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        path = convert.prepare(self._cache_dir, self._progress) / convert.MODEL
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
