"""Retrieval quality measured on questions with known answers: `qmd bench`."""
