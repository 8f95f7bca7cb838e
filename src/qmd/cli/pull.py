"""`pull`: download missing models."""

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
    """Download missing models, named by role (embed, rerank, expand) or by name.

    Without an argument, the configured models. No other command downloads a model. An interrupted download
    continues where it stopped, and the checksum of each file is verified. HF_ENDPOINT names a mirror of
    huggingface.co.

    \b
    Examples:
      qmd pull
      qmd pull embed
      qmd pull embeddinggemma-300M-Q8_0
      qmd pull hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf
    """
    cards = session.index.pullable(models)
    if not cards:
        say("Nothing to pull: the models come with the program, are your own files, or on a server.")
    for card in cards:
        if card.license:
            session.note(f"{card.name}: licence {card.license}")
        try:
            with Bar(card.name, quiet=session.quiet) as bar:
                download = session.index.pull(
                    card,
                    on_bytes=lambda done, total, bar=bar: bar.update(  # type: ignore[misc]
                        done, total, f"{human_size(done)}{f' of {human_size(total)}' if total else ''}"
                    ),
                )
        except KeyboardInterrupt as error:
            raise Interrupted(
                "Interrupted. The downloaded part is saved; run 'qmd pull' to continue."
            ) from error
        path = clean_name(str(download.path))
        if not download.fresh:
            say(f"{card.name} is already installed: {path}")
            continue
        checksum = f"SHA-256 {download.sha256[:12]}" if download.sha256 else "the server gave no checksum"
        say(f"Downloaded {card.name} ({human_size(download.size)}, {checksum}): {path}")
