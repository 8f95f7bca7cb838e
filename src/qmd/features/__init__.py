"""The table of features, which hang on the core and could be taken away, with the parts that each adds.

A feature is a folder with all its floors: pure functions, parts of the engine, operations, commands, pages.
The core imports none of them. It finds their parts here, for the tables of `qmd.plugins`.
If the folder of a feature is taken away, its rows count as missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

_BINARY, _OFFICE = "isolated binary", "application/vnd.openxmlformats-officedocument."
#: The formats of features: module, suffixes, and what else `qmd.sources.formats.registry.Row` has: the media
#: type of the files, what holds for them, the extra, and its packages.
_FILES: Mapping[str, tuple[str, str, str, str, str, str]] = {
    "rst": ("rst", "rst rest", "text/x-rst", "", "", ""),
    "asciidoc": ("asciidoc", "adoc asciidoc asc", "text/asciidoc", "", "", ""),
    "org": ("org", "org", "text/org", "", "", ""),
    "tiddlywiki": ("tiddlywiki", "tid", "text/vnd.tiddlywiki", "", "", ""),
    "latex": ("latex", "tex latex ltx", "text/x-tex", "isolated", "", ""),
    "bibliography": ("bibliography", "bib", "text/x-bibtex", "isolated", "", ""),
    "table": ("table", "csv tsv tab", "text/csv", "isolated", "", ""),
    "subtitles": ("subtitles", "srt vtt", "text/vtt", "isolated", "", ""),
    "calendar": ("calendar", "ics", "text/calendar", "isolated", "", ""),
    "drawing": ("drawing", "canvas excalidraw", "application/json", "isolated", "", ""),
    "notebook": ("notebook", "ipynb", "application/x-ipynb+json", "isolated", "", ""),
    "mail": ("mail", "eml", "message/rfc822", "isolated", "", ""),
    "mailbox": ("mailbox", "mbox", "application/mbox", "isolated container", "", ""),
    "pdf": ("pdf", "pdf", "application/pdf", _BINARY, "formats", "pypdfium2"),
    "docx": ("docx", "docx docm", f"{_OFFICE}wordprocessingml.document", _BINARY, "formats", "docx"),
    "odt": ("odt", "odt", "application/vnd.oasis.opendocument.text", _BINARY, "formats", "lxml"),
    "rtf": ("rtf", "rtf", "application/rtf", _BINARY, "formats", "striprtf"),
    "pptx": ("pptx", "pptx pptm", f"{_OFFICE}presentationml.presentation", _BINARY, "formats", "pptx"),
    "xlsx": (
        *("spreadsheet", "xlsx xlsm xlsb xls ods", f"{_OFFICE}spreadsheetml.sheet"),
        *(_BINARY, "formats", "python_calamine"),
    ),
    "html": ("html", "html htm xhtml", "text/html", "isolated", "formats", "lxml"),
    "epub": ("epub", "epub", "application/epub+zip", _BINARY, "formats", "lxml"),
    "code": (
        *("code", "py pyi js mjs cjs jsx ts mts cts tsx go rs java c h cc cpp cxx hpp hh cs", "text/plain"),
        *("isolated", "code"),
        "tree_sitter tree_sitter_python tree_sitter_javascript tree_sitter_typescript tree_sitter_go "
        "tree_sitter_rust tree_sitter_java tree_sitter_c tree_sitter_cpp tree_sitter_c_sharp",
    ),
}
_TRANSCRIPTS: Mapping[str, tuple[str, str, str, str, str, str]] = {
    "transcript": ("transcript", "jsonl", "application/jsonl", "isolated grows", "", ""),
    "transcript-json": ("transcript", "json", "application/json", "isolated named grows", "", ""),
    "opencode": (
        *("opencode", "db", "application/vnd.sqlite3"),
        *(f"isolated container named grows beside=-wal max_bytes={256 << 20}", "", ""),
    ),
}
_PICTURES: Mapping[str, tuple[str, str, str, str, str, str]] = {
    "picture": ("picture", "png jpg jpeg webp tiff tif", "", f"{_BINARY} named pictures", "ocr", "rapidocr"),
}
FORMATS = {**_TRANSCRIPTS, **_FILES, **_PICTURES}


def _suffixes(formats: Mapping[str, tuple[str, str, str, str, str, str]]) -> Mapping[str, str]:
    return {suffix: row[0] for row in formats.values() for suffix in row[1].split()}


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
    # Packs, which are passages for a goal, and citations with their checks.
    "evidence": {
        "qmd.commands": {"pack": "commands:pack", "cite": "commands:cite"},
        "qmd.exports": {name: f"types:{name}" for name in ("CitationCheck", "CitationReport")},
        "qmd.parts": {
            **dict.fromkeys(("pack", "run_pack"), "packs:PackMethods"),
            "verify_pack": "verify:VerificationMethods",
            **dict.fromkeys(("cite_check", "quote_check"), "citing:CitationMethods"),
        },
        "qmd.operations": {"POST /pack": "operations:PACK", "POST /cite": "operations:CITE"},
        "qmd.arguments": {"query.pack": "tools:PACK", "get.quote": "tools:QUOTE"},
    },
    # Answers of a model of the user, with proven quotations.
    "ask": {
        "qmd.commands": {"ask": "command:ask"},
        "qmd.exports": {name: f"types:{name}" for name in ("AnswerSentence", "ProvenAnswer")},
        "qmd.parts": {"ask": "asking:AskMethods"},
        "qmd.operations": {"POST /ask": "operations:ASK"},
    },
    # Hooks, skills, settings and sessions of the programs of AI agents.
    "agents": {
        "qmd.commands": {
            "agent": "commands:agent",
            "skill": "commands:skill",
            "hook": "commands:hook",
            "hook run": "commands:hook_run",
            "mcp install": "commands:install_mcp",
            "mcp uninstall": "commands:uninstall_mcp",
        },
        "qmd.formats": _suffixes(_TRANSCRIPTS),
        "qmd.parts": {"add_sessions": "sessions:SessionMethods", "recall": "recall:RecallMethods"},
        "qmd.operations": {"POST /recall": "operations:RECALL"},
        "qmd.checks": {"agents": "checks:checks"},
        "qmd.notes": {"session": "session_notes:SESSION"},
    },
    # The quality of searches, measured on questions with known answers.
    "evaluation": {
        "qmd.commands": {"bench": "command:bench"},
        "qmd.exports": {"Benchmark": "benchmarking:Benchmark", "Evaluation": "modes:Evaluation"},
        "qmd.parts": {"evaluate": "benchmarking:EvaluationMethods"},
    },
    # Files beside Markdown and plain text: PDF, Office, mail, notebooks, source code.
    "formats": {
        "qmd.formats": _suffixes(_FILES),
    },
    # Why a document is where it is among the results, and what is wrong with an installation.
    "diagnosis": {
        "qmd.commands": {"why": "why:why", "doctor": "doctor_command:doctor"},
        "qmd.exports": {"Why": "explainer:Why"},
        "qmd.parts": {"why": "explainer:WhyMethods", "doctor": "doctor:DoctorMethods"},
    },
    # The collections of tobi/qmd.
    "migration": {"qmd.commands": {"store migrate": "command:migrate"}},
    # Faults of a wiki: orphans, broken links, stubs, twins, contradictions.
    "lint": {
        "qmd.commands": {"lint": "command:lint"},
        "qmd.parts": {"lint": "linting:LintMethods", "stale": "stale:StaleMethods"},
        "qmd.operations": {"POST /lint": "operations:LINT"},
    },
    # Masks for agents in place of secrets.
    "secrets": {
        "qmd.agents": {"masks": "agent_store"},
        "qmd.parts": {"secrets": "places:SecretMethods"},
    },
    # The lines that match a regular expression.
    "grep": {
        "qmd.commands": {"grep": "command:grep"},
        "qmd.parts": {"grep": "grepping:GrepMethods"},
        "qmd.operations": {"POST /grep": "operations:GREP"},
    },
    # Searches that are kept under a name.
    "saved": {
        "qmd.commands": {"saved": "command:saved"},
        "qmd.parts": dict.fromkeys(
            ("saved_searches", "save_search", "remove_saved_search", "newly_found"), "saving:SavedMethods"
        ),
        "qmd.saved": {"search": "command:search"},
    },
    # Words of the user's own, which find other words.
    "synonyms": {
        "qmd.commands": {"synonyms": "command:synonyms"},
        "qmd.parts": dict.fromkeys(("synonyms", "add_synonyms", "remove_synonyms"), "editing:SynonymMethods"),
        "qmd.words": {"synonyms": "adding:with_synonyms"},
    },
    # The text in pictures and scanned pages.
    "ocr": {
        "qmd.commands": {"ocr": "command:ocr"},
        "qmd.formats": _suffixes(_PICTURES),
        "qmd.parts": {"recognize": "recognizing:OcrMethods"},
        "qmd.recognized": {"ocr": "kept:recognized_in"},
    },
    # A search in the terminal whose results follow each key.
    "picker": {"qmd.commands": {"pick": "command:pick"}, "qmd.home": {"pick": "command:home"}},
    # The page in the browser.
    "page": {"qmd.pages": {"page": ""}},
    # One file of an index for other machines, and copies between stores.
    "portable": {
        "qmd.exports": {"Portable": "exporting:Portable", "open_index_file": "opening:open_index_file"},
        "qmd.parts": {"export": "exporting:ExportMethods", "copy_store": "copying:CopyMethods"},
    },
    # Models beyond the built-in ones: GGUF files, and servers.
    "models": {"qmd.models": {"llama": "llama.backend", "openai": "openai.backend"}},
    # The store for several machines.
    "milvus": {"qmd.stores": dict.fromkeys(("milvus", "milvus+tls"), "store:MilvusStore")},
}
#: The commands of features: section of the help, the command that stands before it there, and its
#: description. Commands of groups describe themselves.
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "pack": ("Search", "similar", "Collect the passages for a goal, for a language model."),
    "ask": ("More", "archive", "Answer a question by a model of yours, with proven quotations."),
    "cite": ("Read", "fields", "Check what a text cites and quotes."),
    "why": ("Search", "pack", "Explain why a document is in the results, or why not."),
    "doctor": ("Index", "status", "Look for problems and suggest how to fix them."),
    "pick": ("Search", "similar", "Search while you type, and open what you pick."),
    "grep": ("Search", "similar", "Print the lines that match a pattern, of all formats."),
    "ocr": ("More", "embed", "Recognize the text in pictures and scanned pages."),
    "saved": ("More", "archive", "List and remove saved searches."),
    "synonyms": ("More", "saved", "List, add and remove synonyms."),
    "lint": ("Read", "links", "Report orphans, broken links, stubs, twins and contradictions."),
    "bench": ("More", "models", "Measure search quality on questions with known answers."),
    "archive": ("More", "history", "Read and search an archive of authors' posts."),
    "agent": ("Serve", "mcp", "Let Claude Code, Codex and others use your notes."),
    "skill": ("More", "project", "Print or install the skill for agents."),
    "hook": ("More", "skill", "Print or install the hooks that give agents passages."),
}
#: Those that use no index, or only that of the current folder's project.
WITHOUT_INDEX = ("archive", "skill")
#: Older names of their commands, each with the words that it stands for.
OLDER_COMMANDS: Mapping[str, str] = {"migrate": "store migrate"}
#: The pages of docs/ that describe each feature.
PAGES: Mapping[str, tuple[str, ...]] = {
    "archive": ("archive",),
    "evidence": ("evidence",),
    "ask": ("ask",),
    "agents": ("agents", "hooks", "sessions"),
    "evaluation": ("evaluation",),
    "formats": ("source-formats",),
    "migration": ("from-tobi-qmd",),
    "diagnosis": ("usage",),
    "portable": ("portable",),
    "models": ("usage",),
    "lint": ("lint",),
    "secrets": ("secrets",),
    "page": ("web",),
    "picker": ("terminal",),
    "saved": ("usage",),
    "synonyms": ("usage",),
    "grep": ("usage",),
    "ocr": ("source-formats",),
    "milvus": ("stores",),
}
#: The features that a feature imports.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "agents": ("evidence",),
    "ask": ("evidence",),
    "ocr": ("formats",),
}
_HERE = os.path.dirname(__file__)


def is_here(feature: str) -> bool:
    """Return whether a feature, with those that it needs, is part of this installation."""
    return os.path.isdir(os.path.join(_HERE, feature)) and all(map(is_here, NEEDS.get(feature, ())))


def rows(group: str) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of a group: feature, name of the part, and `module:attribute`."""
    for feature, groups in FEATURES.items():
        for name, target in groups.get(group, {}).items():
            yield feature, name, f"{__name__}.{feature}.{target}".rstrip(".")


def commands() -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the commands of features: name, target, section, the command before, and description."""
    for feature, name, target in rows("qmd.commands"):
        if is_here(feature) and name in COMMANDS:
            yield name, target, *COMMANDS[name]


def format_rows() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the formats of features, also of missing ones: name, target, and the rest of the row."""
    targets = {suffix: target for _, suffix, target in rows("qmd.formats")}
    for name, (_, suffixes, *others) in FORMATS.items():
        yield name, targets[suffixes.split()[0]], (suffixes, *others)
