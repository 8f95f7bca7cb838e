"""The output formats. The modules that write them are imported when a format is chosen."""

from __future__ import annotations

from qmd.cli.render.rows import Writer

#: Descriptions for the help, by the name that `--format` takes. To add a format, add a row here and in
#: `programs.WRITERS`.
FORMATS = {
    "cli": "text for people",
    "json": "JSON",
    "csv": "CSV with a header row",
    "md": "Markdown",
    "xml": "XML",
    "files": "docids, scores, addresses and contexts, a line each",
    "names": "only addresses, or paths with --full-path, a line each",
    "vimgrep": "FILE:LINE:COLUMN:TEXT, a line each, with paths on disk",
    "short": "ADDRESS:LINE, title and passage, a line each, with tabs between them",
}


def writer(name: str) -> Writer:
    """Return the writer of the format that `--format` calls `name`."""
    if name == "cli":
        from qmd.cli.render.cli import WRITER

        return WRITER
    from qmd.cli.render.programs import WRITERS

    return WRITERS[name]
