"""The text in pictures and scanned pages, recognized page by page and kept beside the index."""
