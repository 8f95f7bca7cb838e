"""`ocr`: recognize the text in pictures and scanned pages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from qmd.cli.command import command
from qmd.cli.options import chosen_format, collection_option, collections_argument, flag, json_option
from qmd.cli.progress import Bar
from qmd.cli.session import Session
from qmd.cli.show import show_json
from qmd.cli.terminal import one_line, say, write
from qmd.text.wording import duration, plural, time_left

if TYPE_CHECKING:
    from qmd.features.ocr.recognizing import OcrProgress


@command("ocr")
@collections_argument
@flag("--failed", help="Read pages again that could not be read, or took too long.")
@flag("--no-embed", help="Do not make vectors.")
@collection_option("Read only this collection (may be repeated).")
@json_option
def ocr(
    session: Session, names: tuple[str, ...], failed: bool, no_embed: bool, collections: tuple[str, ...]
) -> None:
    """Recognize the text in pictures and scanned pages, of collections with 'ocr: true' in index.yml.

    Pages of PDF files without text are read, and pictures: .png, .jpg, .webp and .tiff. That takes some
    seconds of processor time for a page, at the lowest priority. You can interrupt it: each page is kept, and
    the next run continues from there. A page that takes too long is left out.

    It needs the extra 'ocr', whose models are in its package: nothing is downloaded later.

    Examples:
      qmd collection set papers --ocr
      qmd ocr
      qmd ocr papers --failed
    """
    index = session.index  # it may ask for approval: open it before the bar is drawn
    with Bar(
        "Reading", session, "Interrupted. Pages that were read are kept; run 'qmd ocr' to continue."
    ) as bar:

        def on_progress(progress: OcrProgress) -> None:
            done = f"{progress.done:,} of {plural(progress.total, 'page')}"
            told = ", ".join(filter(None, (done, time_left(progress.seconds_left))))
            share = progress.done / progress.total if progress.total else 1.0
            bar.update(0, None, told, counted=False, share=share)

        report = index.recognize((*names, *collections), failed=failed, on_progress=on_progress)
    if chosen_format() == "json":
        show_json(report)
    else:
        if report.pages or report.files:
            read = plural(report.pages, "page")
            say(f"Read {read} in {duration(report.seconds)}; {plural(report.files, 'file')} indexed.")
        else:
            say("Nothing to read: every page has its text.")
        write("".join(f"{one_line(reason)}\n" for _, reason in report.problems), sys.stderr)
    if report.files and not no_embed:
        from qmd.cli.indexing import make_missing

        make_missing(session, (*names, *collections))
