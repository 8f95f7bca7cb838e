"""The base of HTTP and MCP servers: the open index, access control, connections and background processes."""
