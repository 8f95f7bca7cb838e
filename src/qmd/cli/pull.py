"""`pull`: fetching the models that are not here."""

from __future__ import annotations

import click

from qmd.cli.command import Command
from qmd.cli.errors import Interrupted
from qmd.cli.progress import Bar
from qmd.cli.session import Session, pass_session
from qmd.cli.sizes import human_size
from qmd.cli.terminal import clean_name, say


@click.command(cls=Command)
@click.argument("models", nargs=-1, metavar="[ROLE|MODEL]...")
@pass_session
def pull(session: Session, models: tuple[str, ...]) -> None:
    """Fetch models that are not on this machine: of a role (embed, rerank, expand), or by name.

    Without an argument, those that the configuration names. Nothing else ever fetches a model. An interrupted
    download goes on where it stopped, and a file counts once its checksum is right. HF_ENDPOINT names a
    mirror of huggingface.co.

    \b
    Examples:
      qmd pull
      qmd pull embed
      qmd pull embeddinggemma-300M-Q8_0
      qmd pull hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf
    """
    found = session.index.pullable(models)
    if not found:
        say("Nothing to pull: the models in use come with the program, are your own files, or on a server.")
    for card in found:
        if card.license:
            session.note(f"{card.name}: licence {card.license}")
        try:
            with Bar(card.name, quiet=session.quiet) as bar:
                fetched = session.index.pull(
                    card,
                    on_bytes=lambda done, total, bar=bar: bar.update(  # type: ignore[misc]
                        done, total, f"{human_size(done)}{f' of {human_size(total)}' if total else ''}"
                    ),
                )
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted. What was fetched is kept; run 'qmd pull' to go on.") from error
        where = clean_name(str(fetched.path))
        if not fetched.fresh:
            say(f"{card.name} is here already: {where}")
            continue
        proof = f"SHA-256 {fetched.sha256[:12]}" if fetched.sha256 else "the server named no checksum"
        say(f"Fetched {card.name} ({human_size(fetched.size)}, {proof}): {where}")
