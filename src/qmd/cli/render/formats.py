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
    "files": "only names, one per line",
}


def writer(name: str) -> Writer:
    """Return the writer of the format that `--format` calls `name`."""
    if name == "cli":
        from qmd.cli.render.cli import WRITER

        return WRITER
    from qmd.cli.render.programs import WRITERS

    return WRITERS[name]
