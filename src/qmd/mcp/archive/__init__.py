"""The second profile of the server: four tools over an archive of authors' posts (A1)."""
