"""Commands that people guess, and the right ones by meaning. Loaded only after a wrong word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile

from qmd.cli.session import Session
from qmd.cli.terminal import shell_words
from qmd.cli.usage import MisuseError
from qmd.text.similar import nearest

_MONTH_AGO = (datetime.now(UTC) - timedelta(days=30)).date()

#: The right words for an unknown command, by the group in which it is unknown; `|` divides commands.
#: Words in capitals stand for the user's own, with `...` for all that are left. If there are none, those in
#: brackets are left out, and `CLIENT=claude` is `claude`. `*` is for a word that is not like any command. A
#: text after `=` stands for itself.
_COMMANDS: Mapping[str, Mapping[str, str]] = {
    "": {
        "find fd locate lookup select s": "search QUERY... | query QUERY...",
        "egrep rg ripgrep rga ag ack pdfgrep": "grep PATTERN",
        "keyword keywords fulltext fts bm25": "search QUERY...",
        "chat rag answer question q hybrid": "query QUERY... | pack QUERY...",
        "semantic vector vectors semantic-search knn nearest": "vsearch QUERY...",
        "recent latest newest new-notes today timeline":
            f"search --recent QUERY... | search after:{_MONTH_AGO}",
        "context-pack bundle gather collect": "pack QUERY...",
        "explain": "why QUERY... DOC",
        "list dir tree files documents docs ls-files random": "ls [COLLECTION]",
        "show cat read view print head less more file doc document copy cp": "get DOC",
        "edit vim vi nano editor": "open DOC | collection set COLLECTION",
        "toc headings sections structure": "outline DOC",
        "backlinks refs references": "links --backlinks DOC",
        "orphans orphan unlinked": "links --orphans",
        "linter check-links linkcheck wiki-lint stubs twins contradictions": "lint",
        "broken-links broken unresolved dangling deadlinks dead-links deadends": "links --unresolved",
        "related like see-also more-like-this neighbors neighbours duplicates dupes": "similar DOC",
        "checkout log blame commits changes revisions versions diff": "history DOC",
        "undo rollback revert recover": "history DOC | store restore FILE",
        "frontmatter front-matter properties property metadata meta attributes props tables":
            "fields [NAME]",
        "tag label labels": "tags | search tag:NAME",
        "authors people address addresses": "ls --authors",
        "quote quotes citation citations verify-citations": "cite check FILE",
        "new create import ingest load setup track clone": "add FOLDER",
        "remove rm delete del drop forget": "collection remove NAME",
        "rename mv": "collection rename OLD NEW",
        "collections folders sources cols vault vaults": "collection list",
        "describe annotate contexts": "context add PATH TEXT | context list",
        "reindex rebuild reset": "update [COLLECTION...] | embed --force [COLLECTION...]",
        "sync refresh scan crawl": "update [COLLECTION...] | watch",
        "fetch git-pull": "update --pull [COLLECTION...]",
        "embeddings embedding vectorize encode": "embed [COLLECTION...]",
        "follow monitor auto watcher service autostart": "watch --install | watch",
        "sessions conversations transcripts": "add --sessions",
        "stats info state about count size ps jobs where which path wordcount": "status",
        "config configure settings preferences conf": "status | doctor",
        "check verify validate health diagnose test repair fix fsck troubleshoot debug plugins": "doctor",
        "stale outdated expired": "doctor --stale",
        "secrets leaks": "doctor --secrets",
        "clean prune gc vacuum purge clear optimize compact": "store compact",
        "export dump save snapshot": "store backup --portable FILE",
        "model": "models",
        "download": "pull [MODEL]",
        "web ui browser gui browse page": "open [QUERY...]",
        "fuzzy fzf picker interactive": "pick [QUERY...]",
        "log-file logs tail journal": "server status | server --log-queries",
        "serve start http daemon api run": "server --daemon",
        "stop kill quit shutdown": "server stop",
        "restart": "server --daemon --replace",
        "install integrate": "agent install AGENT=claude",
        "uninstall deinstall": "agent uninstall AGENT=claude | watch --uninstall",
        "upgrade self-update selfupdate":
            "=it is upgraded by {upgrade}; your files are read anew by 'qmd update'",
        "skills": "skill show",
        "hooks": "hook status",
        "key token tokens login auth": "server keys list | server keys add NAME",
        "evaluate eval benchmark": "bench FIXTURE",
        "bookmark star favorite": "mark pin QUERY DOC",
        "approve allow": "project trust",
        "man usage manual commands": "help [COMMAND]",
        "version ver": "--version",
        "completions shell": "completion SHELL=bash",
        "*": "query QUERY...",
    },
    "collection": {
        "ls all": "collection list",
        "new create": "add FOLDER",
        "delete del drop": "collection remove NAME",
        "update scan index reindex": "update [COLLECTION...]",
        "get": "collection show NAME",
        "*": "collection show NAME",
    },
    "context": {"ls show": "context list", "delete del": "context rm PATH", "set *": "context add PATH TEXT"},
    "cite": {"verify fix *": "cite check FILE"},
    "server keys": {
        "new create *": "server keys add NAME",
        "ls show": "server keys list",
        "rm delete revoke": "server keys remove NAME",
    },
    "agent": {"add *": "agent install AGENT=claude", "remove rm": "agent uninstall AGENT=claude"},
    "mcp": {
        "serve start run": "mcp",
        "add *": "mcp install --client CLIENT=claude",
        "remove rm": "mcp uninstall --client CLIENT=claude",
    },
    "server": {"start run": "server --daemon", "restart": "server --daemon --replace", "kill": "server stop"},
    "skill": {
        "add *": "skill install --target AGENT=claude",
        "remove rm": "skill uninstall --target AGENT=claude",
    },
    "hook": {
        "add *": "hook install --target AGENT=claude",
        "remove rm": "hook uninstall --target AGENT=claude",
    },
    "store": {"move export *": "store copy FROM TO"},
}  # fmt: skip
#: The right words for a command with one word too many.
_WORDS: Mapping[str, str] = {
    "status": "collection show NAME",
    "tags": "tags -c NAME",
    "watch": "watch",
    "doctor": "collection show NAME",
    "models": "pull [MODEL]",
    "init": "add FOLDER",
}


#: The substitutes for options of other programs that has no name here, by commands.
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "search vsearch query": {
        "--regex --regexp --pattern --extended-regexp --perl-regexp -e -E -G -P":
            "there are no patterns: a word matches in all its forms, and perf* by its beginning",
        "--word-regexp --line-regexp --fixed-strings --literal --exact --phrase -w -x -F":
            'words match whole, and "a phrase" in quotes word by word',
        "--fuzzy --approximate": "'qmd query' also finds other words of the same meaning",
        "--ignore-case --case-insensitive --smart-case --case-sensitive --case -i -s -S": "case is ignored",
        "--page --skip --start --cursor": "--offset N shows the results after the first N",
        "--after-context --before-context -A -B -C": "--context-lines N shows lines around the match",
        "--files-with-matches --files-without-match --name-only --list -l -L": "--names prints names only",
        "--max-count -m": "-n N shows at most N results",
        "--invert-match --not --without -v": "a word after -- and - is left out: -- WORD -OTHER",
        "--recursive --hidden --no-ignore --follow -r -R -u":
            "folders are searched whole; 'qmd collection show NAME' says what is left out",
        "--and --or --any --operator": "documents with all words come first, then those with some of them",
        "--semantic --vector --hybrid --embedding":
            "'qmd vsearch' searches by meaning, and 'qmd query' by words and meaning",
        "--model --embedding-model": "'qmd models' shows the models, and index.yml names others",
        "--jsonl --ndjson --pretty": "--json prints JSON",
        "--count --total":
            "--facets F counts the values of a field, and --all --names prints a line for each result",
        "--web --open --browser --gui": "'qmd open QUERY' shows them in a browser",
    },
    "update index": {
        "--force --full --rebuild --reindex -f":
            "changes are found anyway: 'qmd embed --force' makes all vectors again, 'qmd update --failed' "
            "reads files again that could not be read",
        "--all -a": "all collections are updated if none is named",
    },
    "add": {
        "--recursive -r -R": "a folder is added with all folders in it",
        "--force --update -f": "--yes changes a collection that exists, without asking",
    },
    "ls": {
        "--long --human-readable -l": "sizes and dates are always shown",
        "--recursive -a -R -1": "all files of a collection are listed, with those in its folders",
        "--sort --reverse -t -S -r": "'qmd search --sort date WORDS' begins with the newest",
    },
    "search vsearch query ls": {
        "--language --locale": "--lang de finds documents in a language",
        "--type --extension --filetype --glob --include --iglob -t -g":
            "--ext pdf takes a kind of file, --path '*.md' takes paths, --tag T takes a tag",
    },
    "get multi-get": {
        "--context -A -B -C": "DOC:9:4 prints four lines from line 9",
        "--page --pages": "DOC:p12 is page 12",
    },
    "*": {
        "--color --colour --colors --no-color --no-colour --nocolor --plain":
            "NO_COLOR=1 turns colours off, and FORCE_COLOR=1 on; a pipe has none",
    },
    "get": {"--rev --revision --commit --version --date": "--as-of DATE prints the document of that day"},
}  # fmt: skip


def suggestion(error: MisuseError, session: Session) -> tuple[str, str | None]:
    """Return the end of the error for an unknown command of a group, and its hint."""
    words = error.words
    lines = _COMMANDS.get(_below_qmd(error.path), {})
    table = {name: line for guessed, line in lines.items() for name in guessed.split()}
    guessed = words[0].lower()
    if guessed in table:
        return "", _hint(session, table[guessed], words[1:])
    # Several words in quotes are a question.
    if " " not in guessed and (close := nearest(guessed, [*error.names])):
        return f". Did you mean '{close}'?", None
    return "", _hint(session, table["*"], words) if "*" in table else None


def without_words(session: Session) -> str | None:
    """Return a hint for a command that takes fewer words than it was given; None without a guess."""
    words = session.words
    lines = _WORDS.get(_below_qmd(session.path))
    if lines and [*words[:1]] == lines.split()[:1]:
        words = words[1:]  # `qmd models pull`
    return _hint(session, lines, words) if lines else None


def _below_qmd(path: str | None) -> str:
    return " ".join((path or "").split()[1:])


def instead_of_option(command: str, option: str, words: Sequence[str]) -> str | None:
    """Return the substitute for an option that a command lacks; None without a guess.

    `words` are those that the user typed: `-t` of `-testing` may be meant as text, `-tn` hardly.
    """
    if len(option) == 2 and not any(word.startswith(option) and len(word) <= 3 for word in words):
        return None
    tables = (table for commands, table in _OPTIONS.items() if {command, "*"} & {*commands.split()})
    return next((text for table in tables for names, text in table.items() if option in names.split()), None)


def _hint(session: Session, lines: str, words: Sequence[str]) -> str:
    if lines.startswith("="):
        from qmd.installation import upgrade_command

        return lines[1:].format(upgrade=f"'{upgrade_command()}'")
    before = session.options(absolute=False)
    filled = (_filled(line.split(), words) for line in lines.split("|"))
    return "use " + ", or ".join(f"qmd {shell_words(*before, *line)}" for line in filled)


def _is_option(word: str) -> bool:
    return word[:1] == "-" and word != "-"


def _filled(line: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return a command with the words before the first option in the places of those in capitals."""
    left = [*takewhile(lambda word: not _is_option(word), words)]
    filled: list[str] = []
    for each in line:
        noun, _, default = each.strip("[].").partition("=")
        prefix, colon, noun = noun.rpartition(":")
        if not noun.isupper():
            filled.append(each)
        elif left:
            taken = left if "..." in each else left[:1]
            filled += [f"{prefix}{colon}{taken[0]}", *taken[1:]]
            left = left[len(taken) :]
        elif not each.startswith("["):
            filled.append(default or f"{prefix}{colon}{noun}")
    return filled
