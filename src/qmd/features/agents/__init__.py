"""What agents are given: passages that answer a prompt."""
