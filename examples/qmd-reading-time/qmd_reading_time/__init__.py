"""How long a document takes to read: the smallest feature of qmd."""

from qmd.text.tokens import is_unspaced, words

#: Words that people read in a minute, and characters of scripts that do not space words.
WORDS, CHARACTERS = 230, 400


def minutes(text):
    """Return how many minutes a text takes to read, at least 1."""
    unspaced = spaced = 0
    for word in words(text):
        if is_unspaced(word):
            unspaced += len(word)
        else:
            spaced += 1
    return max(1, round(spaced / WORDS + unspaced / CHARACTERS))
