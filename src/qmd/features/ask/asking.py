"""`Index.ask`: an answer to a question, whose sentences were proven."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, Unpack, cast

from msgspec.structs import replace

from qmd.engine.access.rules import Rule
from qmd.engine.deadline import Deadline
from qmd.engine.models import egress
from qmd.engine.parts import Part
from qmd.engine.requests import HybridSearchOptions, SearchRequest, make_request
from qmd.engine.retrieval.filters import scope_of
from qmd.errors import ModelError, QmdError, TimedOutError, UsageError
from qmd.features.ask.draft import SYSTEM, Draft, DraftReader, prompt
from qmd.features.ask.support import LEAST_WORDS, is_supported
from qmd.features.ask.types import AnswerSentence, ProvenAnswer
from qmd.features.evidence.packs import PackRequest
from qmd.features.evidence.verbatim import VerbatimWords
from qmd.models.base import Writer
from qmd.types.cancelling import Cancelled
from qmd.types.search import Stage

if TYPE_CHECKING:
    from qmd.features.evidence.types import CitationCheck, Pack, PackedPassage

#: The tokens of the passages that a model is given, and the seconds of an answer, unless the caller says
#: otherwise.
TOKENS, SECONDS = 2_000, 60.0
#: The most tokens and characters that a model may write, and the most sentences of an answer.
_WRITTEN, _CHARACTERS, _SENTENCES = 700, 20_000, 20
#: Tokens of a window that passages leave for instructions and the answer.
_LEFT = _WRITTEN + 400
#: Seconds between two looks at whether anybody waits for the answer.
_LOOK = 0.1
NO_MODEL = "'qmd ask' needs a model of yours, and none is set"
HOW_TO = (
    "for a server such as Ollama, put two lines into index.yml: 'models:' and "
    "'  generate: openai:MODEL@http://localhost:11434/v1'; docs/ask.md has other models"
)


class _Index(Protocol):
    """The methods of the whole index that are needed."""

    def limited(self, *, agent: bool) -> _Index: ...

    def run_pack(
        self, request: PackRequest, *, render: Callable[[Pack], str], cancelled: Cancelled | None
    ) -> Pack: ...

    def quote_check(self, reference: str, quote: str) -> CitationCheck: ...


class AskMethods(Part):
    """The method of `Index` that answers questions."""

    _rules: Mapping[str, Rule] = {"ask": Rule()}

    def ask(
        self,
        question: str | SearchRequest,
        *,
        on_sentence: Callable[[AnswerSentence], None] | None = None,
        cancelled: Cancelled | None = None,
        **options: Unpack[HybridSearchOptions],
    ) -> ProvenAnswer:
        """Answer a question from the documents, by the model that the setting `models: generate` names.

        Each sentence has a quotation that stands in a document, and says no more than it. Secrets, and what
        is kept from agents, the model is not given.

        Args:
            question: The question.
            on_sentence: Called with each sentence as soon as it is proven.
            cancelled: Returns true as soon as nobody needs the answer.
            options: Those of `query`. `tokens` is the size of the passages, 2,000 unless given, and `timeout`
                the seconds of all, 60 unless given.

        Raises:
            UsageError: A value is out of range, or the question is empty.
            ModelError: No model is set, or it failed before its first sentence.
            TimedOutError: It wrote no sentence in time.
            CancelledError: The call was cancelled.
        """
        if isinstance(question, str):
            options = {"timeout": SECONDS, **options}
        request = make_request("query", question, options)
        if not request.query.strip() and not request.searches:
            raise UsageError("the question is empty")
        workspace = self._workspace
        writer = workspace.models.expander
        if writer is None:
            raise ModelError(NO_MODEL, HOW_TO)
        if not isinstance(writer, Writer):
            raise ModelError(f"the model '{writer.name}' rewrites queries only", HOW_TO)
        deadline = Deadline(request.timeout or SECONDS, cancelled)
        room = max(writer.window - _LEFT, 200) if writer.window else request.tokens or TOKENS
        request = replace(request, expand=False, tokens=min(request.tokens or TOKENS, room))
        request, private = self._without_private(request)
        # The model is an agent: it gets no secrets, and what it cites is looked for in what it may see.
        index = cast("_Index", self).limited(agent=True)
        pack = index.run_pack(PackRequest(request), render=prompt, cancelled=cancelled)
        stages = [*pack.stages, *private]
        if not pack.passages:
            return ProvenAnswer(pack.goal, False, (), 0, writer.name, tuple(stages))
        egress.disclose(workspace.store, workspace.models, "generate", "ask")
        proof = _Proof(index, pack)
        sentences: list[AnswerSentence] = []
        unsupported = 0
        drafts = _Drafts(writer, prompt(pack), deadline)
        for draft in drafts:
            found = proof.of(draft)
            if found is None:
                unsupported += 1
            elif found.text not in {each.text for each in sentences}:
                sentences.append(found)
                if on_sentence is not None:
                    on_sentence(found)
            if len(sentences) == _SENTENCES:
                drafts.stop("the answer is longer than an answer may be")
        if drafts.error is not None and not sentences:
            raise drafts.error
        stages.append(drafts.stage())
        return ProvenAnswer(
            pack.goal, bool(sentences), tuple(sentences), unsupported, writer.name, tuple(stages)
        )

    def _without_private(self, request: SearchRequest) -> tuple[SearchRequest, list[Stage]]:
        """Leave out collections whose text may not leave the machine, if the model is on another."""
        workspace = self._workspace
        config = workspace.config
        local = egress.local_only(config, workspace.models, "generate")
        if not local:
            return request, []
        names = scope_of(workspace.store, config, request).collections
        left = egress.allowed(names, local)
        if not left:
            raise UsageError(egress.explain_local(names), "ask a model on this machine")
        reason = egress.explain_local([name for name in names if name in local])
        stages = [] if left == names else [Stage("model", "skipped", reason)]
        return replace(request, collections=left), stages


class _Proof:
    """Finds the place of what a model quotes, and refuses what it does not support."""

    def __init__(self, index: _Index, pack: Pack) -> None:
        self._index = index
        self._pack = pack

    def of(self, draft: Draft) -> AnswerSentence | None:
        """Return a sentence with its proven quotation; None if there is none.

        A sentence without a quotation may be the words of a passage itself.
        """
        quote = draft.quote or draft.text
        if len(VerbatimWords(quote)) < LEAST_WORDS:
            return None
        # Models mistake numbers more often than words.
        cited = sorted(self._pack.passages, key=lambda each: each.number != draft.number)
        return next((found for each in cited if (found := self._in(each, draft.text, quote))), None)

    def _in(self, passage: PackedPassage, sentence: str, quote: str) -> AnswerSentence | None:
        if not passage.text or not is_supported(sentence, quote, passage.text, self._pack.goal):
            return None
        try:
            check = self._index.quote_check(passage.address, quote)
        except QmdError:  # the document is gone since the search: it proves nothing
            return None
        if check.standing != "holds" or check.address is None or check.file is None:
            return None
        lines = check.first_line or passage.first_line, check.last_line or passage.last_line
        return AnswerSentence(sentence, quote, check.address, check.file, *lines)


class _Drafts:
    """The sentences that a model writes, until the time is up or it has written enough."""

    def __init__(self, writer: Writer, text: str, deadline: Deadline) -> None:
        self._writer, self._text, self._deadline = writer, text, deadline
        self._pieces: queue.SimpleQueue[str | BaseException | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._reason = ""
        self.error: QmdError | None = None

    def stop(self, reason: str) -> None:
        """Let the model write no more."""
        self._reason = reason
        self._stopped.set()

    def stage(self) -> Stage:
        """Return how the writing ended."""
        if self.error is not None:
            late = isinstance(self.error, TimedOutError)
            return Stage("model", "timed_out" if late else "failed", self.error.message)
        return Stage("model", "ran", self._reason or None)

    def __iter__(self) -> Iterator[Draft]:
        # A server may be silent for a long time, so another thread waits for it.
        threading.Thread(target=self._write, daemon=True).start()
        reader, size = DraftReader(), 0
        try:
            while (piece := self._next()) is not None and not self._stopped.is_set():
                size += len(piece)
                yield from reader.read(piece)
                if size > _CHARACTERS:
                    self.stop("the model wrote more than an answer may have")
            if not self._stopped.is_set():
                yield from reader.read("", last=True)
        except QmdError as error:
            self._deadline.check()
            # The client of a server has the same limit, and may notice it first.
            self.error = self._late() if self._deadline.passed() else error
        finally:
            self._stopped.set()

    def _next(self) -> str | None:
        while not self._deadline.passed():
            try:
                piece = self._pieces.get(timeout=_LOOK)
            except queue.Empty:
                continue
            if isinstance(piece, BaseException):
                raise piece
            return piece
        self._deadline.check()
        raise self._late()

    def _late(self) -> TimedOutError:
        return TimedOutError(
            f"'{self._writer.name}' wrote no answer within {self._deadline.seconds:g} s",
            "raise the limit with --timeout, or use a faster model",
        )

    def _write(self) -> None:
        def take(piece: str) -> bool:
            self._pieces.put(piece)
            return self._stopped.is_set()

        end: BaseException | None = None
        try:
            left = self._deadline.remaining() or 0.001
            self._writer.write(SYSTEM, self._text, tokens=_WRITTEN, seconds=left, on_text=take)
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
            end = error
        self._pieces.put(end)
