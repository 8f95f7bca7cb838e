"""Hooks, skills, settings and sessions of agents, and passages that may answer their prompts."""
