"""Folders and files of a collection: which belong to it, and what they say."""
