"""Names that people and agents guess for options, arguments and fields, by their meaning."""

from __future__ import annotations

from collections.abc import Iterable

#: Names of one thing in each line, without hyphens and capitals; the names that qmd itself uses come first.
_SYNONYMS = """
limit n k top topk topn num number count max maxresults numresults results size pagesize first
maxlines lines l n count head num linecount
maxtokens tokens budget tokenbudget tokenlimit
minscore threshold score cutoff minimum scorethreshold
collection collections c in scope source dataset namespace index
format output f o as outputformat
query q text question prompt search searchquery querytext input keywords terms goal
file path filepath filename doc document docid documentid id uri url ref reference name
pattern globpattern mask glob files paths docs documents patterns refs ids include
fromline from start startline offset line
after since newer startdate fromdate
before until older enddate todate
tag tags label labels topic
author by creator user
path folder dir directory prefix subfolder
pattern file path uri document
filter where tag tags path folder ext extension lang language state status current
contextlines context surrounding
passages snippets chunks
full whole complete content body fulltext
ignore exclude skip
quiet silent s noprogress
version v ver
debug verbose trace v
force f overwrite y yes
yes y force
timeout deadline maxtime
workers j jobs threads processes parallel
port p
host bind address listen
daemon d background detach
client target agent editor app for
target client agent editor app for
linenumbers numbers lineno
fullpath absolute absolutepath abs
where field fields metadata meta condition filter
sort order orderby sortby
explain reasons details
dryrun simulate whatif
recent newest latest
newname name to
"""
_GROUPS = tuple(line.split() for line in _SYNONYMS.split("\n"))


def meant(given: str, names: Iterable[str]) -> str | None:
    """Return the name that means the same as `given`, in any style of spelling; None if there is none."""
    plain = _plain(given)
    by_plain = {_plain(name): name for name in names}
    groups = [[plain], *(group for group in _GROUPS if plain in group)]
    return next((by_plain[word] for group in groups for word in group if word in by_plain), None)


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()
