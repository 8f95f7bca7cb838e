"""A downloaded archive of authors' posts, read as plain files without an index or models."""
