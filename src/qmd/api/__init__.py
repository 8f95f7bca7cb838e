"""The wire layer: the arguments, operations and results that HTTP and MCP share."""
