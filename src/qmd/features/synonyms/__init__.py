"""Words of the user's own: a search for one also finds others, which count less."""
