"""Commands and requests, with the answers of tobi/qmd 2.8.3 and of qmd."""

from __future__ import annotations

from typing import Any, NamedTuple

#: The files that both programs index.
FILES = {
    "notes/deploy.md": "# Deploying\n\nDeploy with make. The cache decides performance.\n",
    "notes/journal/a.md": "# Monday\n\nThe multi-agent plan: src/lib/i18n.ts and user@example.com.\n",
    "notes/SYNTAX.md": "# Syntax\n\nWords.\n",
    "notes/zh.md": "# 数据库\n\n数据库迁移指南。\n",
    "notes/a,b.md": "# Commas\n\ncommas here\n",
    "notes/medium.md": "# Medium\n\n" + "word " * 6000 + "\n",
    "notes/code.md": "```\n# code\n```\n\nUnderlined\n==========\n\nx\n",
    "talks/t.md": "# Talk\n\nperformance of a band\n",
    "talkshow/s.md": "# Show\n\nA show about trains.\n",
}


class Answer(NamedTuple):
    """The answer to a command: its exit code, and a pattern of its output."""

    code: int
    pattern: str = ""


class Case(NamedTuple):
    """A command line with the answers of both programs.

    `said` is the text of the page about a difference, "" if there is none.
    """

    line: str
    peer: Answer
    ours: Answer
    said: str = ""


def same(line: str, code: int = 0, pattern: str = "") -> Case:
    return Case(line, Answer(code, pattern), Answer(code, pattern))


def differs(said: str, line: str, peer: Answer, ours: Answer) -> Case:
    return Case(line, peer, ours, said)


#: The order matters, because later commands use the results of earlier ones.
CASES = [
    differs("`collection add PATH`", "collection add", Answer(1, "Usage"), Answer(0, "lib")),
    differs("`collection add PATH`", "collection remove lib", Answer(1), Answer(0)),
    same("collection add notes --name notes"),
    same("collection add talks"),
    same("collection add talkshow"),
    same("collection add notes --name again", 1),
    same("collection list", 0, r"notes[\s\S]*talks"),
    same("collection show notes", 0, r"Pattern:\s+\*\*/\*\.md"),
    same("collection info notes", 0, "notes"),
    same("collection exclude talkshow"),
    same("collection include talkshow"),
    same("collection update-cmd notes echo hi"),
    same("collection rename talkshow show"),
    same("context add qmd://talks 'All talks'"),
    same("context add / Everything"),
    same("context list", 0, "All talks"),
    same("context rm qmd://notes", 1),
    same("update --no-embed", 0, "notes"),
    same("ls", 0, r"notes[\s\S]*talks"),
    same("ls notes/journal", 0, "notes/journal/a.md"),
    same("ls nowhere", 1),
    same("search performance --json -c notes -c talks", 0, "qmd://talks/t.md"),
    same("search performance --full", 0, "The cache decides"),
    same("search performance --all --json", 0, "deploy.md"),
    same("search performance --min-score 0.999 --json", 0, r"^\[\]"),
    same("search performance --full-path", 0, r"\./notes/deploy\.md:3"),
    same("search performance -c nowhere", 1),
    same("search performance -n 1 --csv", 0, "docid,score,file,title,context,line,snippet"),
    same("search performance --files", 0, r"#\w{6},0\.\d+,qmd://"),
    same("search performance --format json", 0, '"docid"'),
    same("query 'lex: performance' -C 5 --no-rerank --intent why --json", 0, "deploy.md"),
    same("query 'lex: performance' --no-rerank --explain", 0, "1"),
    same("deep-search 'lex: performance' --no-rerank --json", 0, "deploy.md"),
    same("get notes/deploy.md:1:1", 0, "# Deploying"),
    same("get nothing.md", 1),
    same("multi-get 'notes/*.md' --json", 0, "# Deploying"),
    same("multi-get 'nothing/*.md'", 1),
    same("status", 0, r"index\.sqlite"),
    same("cleanup"),
    same("--index work collection add talks --name talks"),
    same("mcp stop"),
    # Other cases of these commands would download models or wait for a client.
    *(same(f"{command} --help", 0, "qmd") for command in ("embed", "bench", "mcp", "pull", "skill")),
    differs("exit code 1 for wrong usage", "nonsense", Answer(1), Answer(2)),
    differs(
        "unknown flags are ignored", "search performance --bogus", Answer(0), Answer(2, "no such option")
    ),
    *(
        differs("`-n 0`, `-n abc`", f"search performance -n {value}", Answer(0, "t.md"), Answer(2))
        for value in ("0", "abc")
    ),
    differs(
        "`context check` names what is not described",
        "context check",
        Answer(1, "Unknown subcommand"),
        Answer(0, "qmd context add qmd://notes "),
    ),
    differs("`ls notes/jour` lists", "ls notes/jour", Answer(0, "journal/a.md"), Answer(1)),
    differs("`get TAX.md` is not", "get TAX.md", Answer(0, "Syntax"), Answer(1)),
    differs(
        "prints a header and line numbers",
        "get notes/deploy.md",
        Answer(0, r"^qmd://notes/deploy\.md  #533f59\n(.*\n)?---\n\n1: # Deploying"),
        Answer(0, r"^# Deploying\n\nDeploy"),
    ),
    differs("`get` past the end", "get notes/deploy.md:99", Answer(0, "99: \n"), Answer(2)),
    differs(
        "`get --json` prints text", "get notes/deploy.md --json", Answer(0, "^qmd:"), Answer(0, '"body"')
    ),
    differs(
        "splits names at commas", "multi-get notes/a,b.md", Answer(0, "not found"), Answer(0, "commas here")
    ),
    differs(
        "above 64 kB", "multi-get notes/medium.md --json", Answer(0, "word word"), Answer(0, '"skipped"')
    ),
    differs(
        "quoted where they hold", "multi-get 'notes/a*.md' --files", Answer(0, ",a,b"), Answer(0, '"qmd:')
    ),
    differs("`update --pull` does", "update --pull --no-embed", Answer(0), Answer(0)),
    differs(
        "all words must be", "search performance nothinglikeit --json", Answer(0, r"^\[\]"), Answer(0, "t.md")
    ),
    *(
        differs("`src/lib/i18n.ts`, `user@", f"search {text} --json", Answer(0, r"^\[\]"), Answer(0, "a.md"))
        for text in ("'\"multi-agent\"'", "src/lib/i18n.ts", "user@example.com")
    ),
    differs("simplified and traditional", "search 數據庫 --json", Answer(0, r"^\[\]"), Answer(0, "zh.md")),
    differs("the name of a collection", "search notes --json", Answer(0, "SYNTAX"), Answer(0, r"^\[\]")),
    differs(
        "titles: the first `#`", "search x --json -c notes", Answer(0, '"code'), Answer(0, '"Underlined')
    ),
    differs(
        "`vsearch` without vectors", "vsearch performance --json", Answer(0, r"^\[\]"), Answer(1, "qmd embed")
    ),
    differs("`vsearch` without vectors", "vector-search performance", Answer(0, "No results"), Answer(1)),
    differs("snippets begin with `@@ -3,4 @@`", "search cache", Answer(0, "@@ -"), Answer(0, "# Deploying")),
    differs(
        "XML without a root", "search cache --xml", Answer(0, "^<file"), Answer(0, "^<.xml.*\n<results>")
    ),
    differs(
        "`?index=NAME` in addresses",
        "--index work search performance --json",
        Answer(0, r"t\.md\?index=work"),
        Answer(0, r't\.md"'),
    ),
    differs(
        "JSON of `multi-get`", "multi-get notes/zh.md --json", Answer(0, '"docid"'), Answer(0, "total_lines")
    ),
    same("get notes/zh.md --no-line-numbers"),
    same("embed --max-docs-per-batch 3 --help", 0, "[Uu]sage|qmd"),
    same("pull --refresh --help", 0, "qmd"),
    same("search cache --intent why", 0, "cache"),
    differs("`trust` of your own", "trust", Answer(0, "never gated"), Answer(1)),
    differs("`skills`", "skills", Answer(0), Answer(2)),
    differs("`context` on `talk`", "search trains --json", Answer(0, "Everything"), Answer(0, "Everything")),
    same("collection remove show"),
    differs("`collection rename`", "collection rename notes texts", Answer(0), Answer(0)),
    differs("keeps Chinese", "search 数据 --json", Answer(0, r"^\[\]"), Answer(0, "zh.md")),
    same("init"),
    differs("`doctor`: always exit code 0", "doctor", Answer(0), Answer(0)),
]

LEX = [{"type": "lex", "query": "performance"}]


class Request(NamedTuple):
    """A request with the answers of both programs: the status, and a pattern of the body."""

    method: str
    path: str
    fields: Any
    peer: Answer
    ours: Answer
    said: str = ""


FOUND = Answer(200, r'^\{"results":\s*\[\{.*"file":\s*"qmd://')
REQUESTS = [
    Request("GET", "/health", None, Answer(200, '"status":\\s*"ok"'), Answer(200, '"status":\\s*"ok"')),
    *(
        Request("POST", path, {"searches": LEX, "rerank": False, **more}, FOUND, FOUND)
        for path in ("/query", "/search")
        for more in ({}, {"collections": ["talks"], "limit": 1, "minScore": 0, "intent": "why"})
    ),
    Request("POST", "/query", {"searches": LEX, "rerank": False, "candidateLimit": 5}, FOUND, FOUND),
    Request(
        *("POST", "/query", {"query": "lex: performance", "rerank": False}),
        Answer(400, "searches"),
        FOUND,
        "`searches` only",
    ),
    Request(
        *("POST", "/query", {"searches": LEX, "rerank": False, "bogus": 1}),
        FOUND,
        Answer(400, '"detail".*bogus'),
        "fields that are not known are ignored",
    ),
    Request(
        *("POST", "/query", {"searches": LEX, "rerank": False, "collections": ["nowhere"]}),
        Answer(200, r'"results":\s*\[\]'),
        Answer(404, '"detail".*nowhere'),
        "so are collections that are not known",
    ),
    Request("POST", "/query", "no object", Answer(400), Answer(400, '"status_code"'), "400 to 503"),
]
