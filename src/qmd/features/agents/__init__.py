"""What agents have beside tools: hooks, skills, settings, sessions, and passages that answer a prompt."""
