"""docs/limits.md states the limits of the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from qmd import search_options
from qmd.api import arguments
from qmd.config import index_yml, marks_file, validate, yaml_nodes
from qmd.engine import requests
from qmd.engine.embedding import batches
from qmd.server import body_limit, connections
from qmd.sources import clone, git_history
from qmd.sources.formats import base
from qmd.text import filters, front_matter, globs, query, tokens
from qmd.text.markdown import links

PAGE = (Path(__file__).parents[3] / "docs" / "limits.md").read_text(encoding="utf-8")
LIMITS = {
    "a query": [search_options.MAX_QUERY],
    "lines of a query document; typed searches of a request": [query.MAX_LINES, search_options.MAX_SEARCHES],
    "words of a query": [query.MAX_TERMS],
    "a word": [tokens.MAX_TERM],
    "candidates to rerank, `-C`": [search_options.MAX_CANDIDATES],
    "passages of a result; lines around each": [
        search_options.MAX_PASSAGES,
        search_options.MAX_CONTEXT_LINES,
    ],
    "facets of a search": [search_options.MAX_FACETS],
    "conditions of a filter; their depth": [filters.MAX_NODES, filters.MAX_DEPTH],
    "a glob; those that its braces stand for": [globs.MAX_LENGTH, globs.MAX_ALTERNATIVES],
    "time of `vsearch` and `query`": [search_options.DEFAULT_TIMEOUT],
    "a document in `multi-get`": [requests.DEFAULT_MAX_BYTES / 1024],
    "the text that is read from one file of another format": [base.MAX_TEXT],
    "front matter: characters; keys; values of a key": [
        front_matter.MAX_CHARACTERS,
        front_matter.MAX_KEYS,
        front_matter.MAX_VALUES,
    ],
    "links of a document; tags": [links.MAX_LINKS, links.MAX_TAGS],
    "`index.yml`; its depth": [index_yml.MAX_BYTES, yaml_nodes.MAX_DEPTH],
    "the file of pins and marks": [marks_file.MAX_BYTES],
    "name of a collection": [validate.MAX_COLLECTION_NAME],
    "body of a request": [body_limit.MAX_BODY],
    "bodies above 64 kB of all requests together": [body_limit.MAX_BODIES],
    "results of a request": [arguments.MAX_LIMIT],
    "texts of a request to `/embed`": [batches.MAX_TEXTS],
    "connections of a server": [connections.MAX_CONNECTIONS],
    "answers that wait for slow clients, together": [connections.MAX_UNREAD],
    "`git pull`": [clone.PULL_TIMEOUT],
    "the history of a file in git: its list of commits": [git_history.GIT_TIMEOUT, git_history.MAX_LIST],
}
ROWS = dict(re.findall(r"^\| (.+?) \| (.+?) \| .+ \|$", PAGE, re.MULTILINE)[1:])


def test_limits_page_lists_exactly_the_checked_limits() -> None:
    assert set(ROWS) - {"---"} == set(LIMITS)


@pytest.mark.parametrize("what", LIMITS)
def test_limits_page_states_the_limits_of_the_program(what: str) -> None:
    told = [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", ROWS[what])]
    assert told == LIMITS[what]
