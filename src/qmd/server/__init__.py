"""What HTTP and MCP servers share: the open index, access control, connections and background processes."""
