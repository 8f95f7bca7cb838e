"""A second MCP server: four tools over an archive of authors' posts."""
