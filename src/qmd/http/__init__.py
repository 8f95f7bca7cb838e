"""The HTTP API of an index, and MCP beside it."""
