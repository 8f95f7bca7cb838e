"""`grep`: the lines of the indexed texts that match a regular expression."""
