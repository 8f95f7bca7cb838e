"""The loaded model: one tokenizer and one onnxruntime session, shared within the process."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

from qmd.errors import ModelError
from qmd.models.catalog import MULTILINGUAL_E5_SMALL as CARD
from qmd.models.e5 import convert

if TYPE_CHECKING:
    import numpy as np
    import onnxruntime
    from numpy.typing import NDArray

    from qmd.models.base import Cancelled
    from qmd.models.e5.tokenizer import Tokenizer

Kind = Literal["query", "document"]

_PROMPTS: dict[Kind, str] = {"query": CARD.query_prompt, "document": CARD.document_prompt}

#: The maximum number of tokens in a batch, padding included. Larger batches are no faster on a few threads,
#: and a cancelled call only stops after a batch.
_BATCH_TOKENS = 1024
_MOST_THREADS = 4

_shared: WeakValueDictionary[tuple[Path, int], E5Model] = WeakValueDictionary()
_shared_lock = threading.Lock()


def shared_model(
    cache_dir: Path, threads: int | None = None, progress: Callable[[str], None] | None = None
) -> E5Model:
    """Return the process's only model for a cache directory and a number of threads."""
    key = (Path(cache_dir).resolve(), threads or default_threads())
    with _shared_lock:
        model = _shared.get(key)
        if model is None:
            model = _shared[key] = E5Model(*key, progress)
        return model


def default_threads() -> int:
    """Return the number of processors that this process may use, at most four."""
    try:
        available = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        available = os.cpu_count() or 1
    return min(available, _MOST_THREADS)


class E5Model:
    """Turns texts into hidden states. Files are read at the first use. Safe to call from several threads."""

    def __init__(self, cache_dir: Path, threads: int, progress: Callable[[str], None] | None = None) -> None:
        self._cache_dir = cache_dir
        self._threads = threads
        self._progress = progress
        self._lock = threading.RLock()

    @property
    def tokenizer(self) -> Tokenizer:
        with self._lock:
            return self._tokenizer

    @property
    def session(self) -> onnxruntime.InferenceSession:
        with self._lock:
            return self._session

    @property
    def loaded(self) -> bool:
        """True if the weights are in memory. Does not wait for a load in progress."""
        return "_session" in self.__dict__

    def prompt_ids(self, kind: Kind) -> list[int]:
        """Return the tokens before the text: `<s>` and the prompt."""
        from qmd.models.e5.tokenizer import BOS

        return [BOS, *self.tokenizer.ids(_PROMPTS[kind].format(text=""))]

    def capacity(self, kind: Kind) -> int:
        """Return how many tokens of text fit into the window with the prompt and two special tokens."""
        return CARD.window - len(self.prompt_ids(kind)) - 1

    def hidden_states(
        self, ids: Sequence[Sequence[int]], kind: Kind, cancelled: Cancelled | None = None
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Run texts, given as token ids, in batches of similar length.

        Yields:
            (index into `ids`, float32 of shape (tokens, dimension)) in no particular order. The rows are
            `<s>`, the prompt, the text and `</s>`. Stops early if `cancelled` returns True.
        """
        import numpy as np

        from qmd.models.e5.tokenizer import EOS, PAD

        prompt = self.prompt_ids(kind)
        order = sorted(range(len(ids)), key=lambda index: len(ids[index]), reverse=True)
        overhead = len(prompt) + 1
        for batch in _batches(order, [len(row) + overhead for row in ids]):
            if cancelled and cancelled():
                return
            width = len(ids[batch[0]]) + overhead
            tokens = np.full((len(batch), width), PAD, np.int64)
            lengths = np.empty(len(batch), np.int32)
            for row, index in enumerate(batch):
                sequence = [*prompt, *ids[index], EOS]
                tokens[row, : len(sequence)] = sequence
                lengths[row] = len(sequence)
            states = self._run(tokens, lengths)
            for row, index in enumerate(batch):
                yield index, states[row, : lengths[row]]

    def _run(self, tokens: NDArray[np.int64], lengths: NDArray[np.int32]) -> NDArray[np.float32]:
        from qmd.models.e5.graph import HIDDEN_STATES, INPUT_IDS, LENGTHS

        states: NDArray[np.float32]
        (states,) = self.session.run([HIDDEN_STATES], {INPUT_IDS: tokens, LENGTHS: lengths})
        return states

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        import numpy as np

        from qmd.models.e5.tokenizer import Tokenizer

        folder = convert.prepare(self._cache_dir, self._progress)
        pieces = (folder / convert.PIECES).read_text(encoding="utf-8").split("\n")
        return Tokenizer(pieces, np.fromfile(folder / convert.SCORES, "<f4").tolist())

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
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.log_severity_level = 3
        # Waiting threads sleep: a spinning one takes the processor from whoever it waits for.
        for pool in ("intra_op", "inter_op"):
            options.add_session_config_entry(f"session.{pool}.allow_spinning", "0")
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC  # see graph.py
        path = convert.prepare(self._cache_dir, self._progress) / convert.MODEL
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Split `order` (longest first) so that rows × longest row is at most `_BATCH_TOKENS`."""
    start = 0
    while start < len(order):
        rows = max(1, _BATCH_TOKENS // lengths[order[start]])
        yield list(order[start : start + rows])
        start += rows
