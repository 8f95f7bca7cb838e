"""How good the searches are, by questions whose answers are known: `qmd bench`."""
