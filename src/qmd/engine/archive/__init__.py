"""A downloaded archive of authors' posts, read as plain files: no index, no models."""
