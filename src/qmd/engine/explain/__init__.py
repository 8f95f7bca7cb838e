"""Explain why a document is a result, or is not: `qmd why`."""
