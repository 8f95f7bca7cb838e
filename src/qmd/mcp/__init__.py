"""The Model Context Protocol: tools, a resource and a prompt for AI agents, over stdio and HTTP."""
