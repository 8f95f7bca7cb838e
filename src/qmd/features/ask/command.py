"""`ask`: print the answer to a question, sentence by sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.cli import options
from qmd.cli.command import command
from qmd.cli.console import current
from qmd.cli.session import Session
from qmd.cli.terminal import DIM, clean, painted, write
from qmd.search_options import OF_HITS
from qmd.text.wording import plural

if TYPE_CHECKING:
    from qmd.features.ask.types import AnswerSentence

#: As in `asking`, which help does not import.
_TOKENS, _SECONDS = 2_000, 60


@command("ask", if_unknown="a question that begins with '-' goes after '--'")
@options.argument("text", "QUESTION...", "typed")
@options.option(
    "--tokens N",
    options.whole(1, 1_000_000),
    f"Give the model passages of at most N tokens.  [default: {_TOKENS:,}]",
)
@options.option(
    "--timeout SECONDS",
    options.decimal(0.001, 86_400),
    f"Stop the search and the model after this time.  [default: {_SECONDS}]",
    default=_SECONDS,
)
@options.collection_option("Answer only from this collection (may be repeated).")
@options.options_of("query", without=(*OF_HITS, "tokens", "timeout", "expand"))
@options.json_option
def ask(session: Session, text: tuple[str, ...], **arguments: Any) -> None:
    """Let a model of yours answer QUESTION from your notes, with a quotation for each sentence.

    The model is that of 'models: generate' in index.yml: a GGUF file, or a server, which gets the question
    and passages of your notes. Each sentence is followed by words of a document and their place. They were
    looked up: they stand there. Sentences without such words, or that say more than these, are left out and
    counted. Secrets are masked. The exit code is 0 also if the notes do not say.

    Examples:
      qmd ask 'how do we roll back a release?'
      qmd ask 'wann läuft das Backup?' -c work
      qmd ask 'who approves a release?' --json
    """
    from qmd.cli.search import note_what_is_missing
    from qmd.cli.show import show_json
    from qmd.features.ask.types import NOTHING

    in_json = options.chosen_format() == "json"
    session.uses |= {"marks"}

    def show(sentence: AnswerSentence) -> None:
        head, _, quotation = sentence.lines.partition("\n")
        write(f"{clean(head)}\n{painted(clean(quotation), DIM)}\n")
        current().stdout.flush()

    request = options.search_request(options.query_text(text), arguments)
    answer = session.index.ask(request, on_sentence=None if in_json else show, cancelled=session.cancelled)
    if in_json:
        show_json(answer)
    elif not answer.answered:
        write(f"{NOTHING}\n")
    note_what_is_missing(session, answer.stages, arguments)
    session.note(*(each.reason for each in answer.stages if each.stage == "model" and each.reason))
    if answer.unsupported:
        session.note(f"left out {plural(answer.unsupported, 'sentence')} that no quotation supports")
    session.abandoned |= any(stage.status == "timed_out" for stage in answer.stages)
