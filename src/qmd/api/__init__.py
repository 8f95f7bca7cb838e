"""The wire layer: the arguments and answers that HTTP, MCP and the web page share."""
