"""The HTTP API: endpoints over an index, and MCP beside them. Texts and fields are those of `qmd.mcp`."""
