"""Formats of files beside Markdown and plain text: each module reads one; see `qmd.sources.formats.base`."""
