"""The version, alone in its file so that reading it imports nothing."""

__version__ = "1.0.0"
