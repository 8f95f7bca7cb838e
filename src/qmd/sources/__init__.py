"""Find and read the files of a collection."""
