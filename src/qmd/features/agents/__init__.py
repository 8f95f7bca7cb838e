"""What agents have beside tools: hooks, skills, settings, sessions, and passages that may answer a prompt."""
