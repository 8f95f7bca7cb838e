"""The picker: a search in the terminal whose results follow each key. It needs the extra `pick`."""
