"""Searches that are kept under a name, with what they have found."""
