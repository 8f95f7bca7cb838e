"""The version, alone in its file so that reading it imports nothing."""

__version__ = "1.1.0"
