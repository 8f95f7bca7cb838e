"""The table of features: what hangs on the core and could be taken away, and what each adds to it.

A feature is a folder with all its floors: pure functions, parts of the engine, operations, commands, pages.
The core imports none of them. It finds their parts here, for the tables of `qmd.plugins`.
If the folder of a feature is taken away, its rows count as missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

#: By feature and group of `qmd.plugins`: the parts by name, as `module:attribute`, "" for the package itself.
FEATURES: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    # An archive of authors' posts, read as plain files without an index.
    "archive": {
        "qmd.commands": {"archive": "commands:archive"},
        "qmd.exports": {
            **{
                name: f"archive:{name}"
                for name in ("Archive", "AuthorPosts", "Match", "Matches", "PostText", "open_archive")
            },
            **{name: f"posts:{name}" for name in ("Post", "Section")},
        },
    },
    # The quality of searches, measured on questions with known answers.
    "evaluation": {
        "qmd.commands": {"bench": "command:bench"},
        "qmd.exports": {"Benchmark": "benchmarking:Benchmark", "Evaluation": "modes:Evaluation"},
        "qmd.parts": {"evaluate": "benchmarking:EvaluationMethods"},
    },
    # The collections of tobi/qmd.
    "migration": {"qmd.commands": {"migrate": "command:migrate"}},
    # The page in the browser.
    "page": {"qmd.pages": {"page": ""}},
    # The store for several machines.
    "milvus": {"qmd.stores": dict.fromkeys(("milvus", "milvus+tls"), "store:MilvusStore")},
}
#: The commands of features: section of the help, the command that stands before it there, its traits as
#: `qmd.cli.commands` has them, and its description.
COMMANDS: Mapping[str, tuple[str, str, str, str]] = {
    "bench": ("Search", "why", "", "Measure search quality on questions with known answers."),
    "archive": ("Read", "cite", "no-index agents", "Read and search an archive of authors' posts."),
    "migrate": ("Index", "restore", "", "Take over the collections of tobi/qmd."),
}
_HERE = os.path.dirname(__file__)


def is_here(feature: str) -> bool:
    """Return whether the folder of a feature is part of this installation."""
    return os.path.isdir(os.path.join(_HERE, feature))


def rows(group: str) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a group: feature, name of the part, and `module:attribute`."""
    for feature, groups in FEATURES.items():
        for name, target in groups.get(group, {}).items():
            yield feature, name, f"{__name__}.{feature}.{target}".rstrip(".")


def commands() -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield the commands of features: name, target, section, the command before, traits, and description."""
    for feature, name, target in rows("qmd.commands"):
        if is_here(feature):
            yield name, target, *COMMANDS[name]
