"""Packs, which are passages for a goal within some tokens; and citations, checked against the documents."""
