"""`qmd get`, `qmd multi-get` and `qmd ls`."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from tests.users import FILES, User


def test_get_prints_only_the_text_into_a_pipe(reader: User) -> None:
    found = reader.call("get", "notes/deploy.md")
    assert (found.stdout, found.stderr) == (FILES["deploy.md"], "")
    assert reader.ok("get", "notes/deploy.md", "--full") == FILES["deploy.md"]


@pytest.mark.parametrize("path", FILES)
def test_get_accepts_every_form_of_a_document_name(reader: User, path: str) -> None:
    listed = {row["file"]: row for row in json.loads(reader.ok("ls", "notes", "--json"))}
    row = next(row for file, row in listed.items() if row["title"] and reader.ok("get", file) == FILES[path])
    for reference in (f"notes/{path}", path, row["file"], row["docid"], row["docid"][1:]):
        assert reader.ok("get", reference) == FILES[path], reference
    assert reader.ok("get", str(reader.notes / path)) == FILES[path]


def test_get_reads_every_path_that_commands_print(reader: User) -> None:
    printed: dict[str, list[str]] = {
        "search json": [row["file"] for row in json.loads(reader.ok("search", "performance", "--json"))],
        "search full path": [
            row["file"] for row in json.loads(reader.ok("search", "performance", "--json", "--full-path"))
        ],
        "multi-get json": [row["file"] for row in json.loads(reader.ok("multi-get", "notes/**", "--json"))],
        "multi-get csv": [row[1] for row in rows(reader.ok("multi-get", "notes/**", "--csv"))[1:]],
        "multi-get files": [row[1] for row in rows(reader.ok("multi-get", "notes/**", "--files"))],
        "multi-get xml": [
            file.attrib["name"]
            for file in ElementTree.fromstring(reader.ok("multi-get", "notes/**", "--xml"))
        ],
        "multi-get full path": [
            row[0] for row in rows(reader.ok("multi-get", "notes/**", "--files", "--full-path"))
        ],
        "multi-get cli": [
            line.removeprefix("File: ").rpartition(" #")[0]
            for line in reader.ok("multi-get", "notes/**").splitlines()
            if line.startswith("File: ")
        ],
        "ls": [listed_path(line) for line in reader.ok("ls", "notes").splitlines()],
        "search cli": [
            line.rpartition(" #")[0]
            for line in reader.ok("search", "performance", "--all").splitlines()
            if line.startswith("notes/")
        ],
    }
    for where, files in printed.items():
        assert len(files) > 5, where
        for file in files:
            text = reader.ok("get", file)
            # A result also names the line of the match, and `get` starts there.
            assert any(each == text or (":" in file and each.endswith(text)) for each in FILES.values()), (
                where,
                file,
            )


def listed_path(line: str) -> str:
    """Return the path in a line of `ls`, after size and date."""
    return line.strip().split("  ", 2)[2]


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@pytest.mark.parametrize(
    "args",
    [
        ("deploy.md:3:2",),
        ("notes/deploy.md:3", "-l", "2"),
        ("deploy.md", "--from", "3", "--max-lines", "2"),
        ("deploy.md:3:2", "--from", "1", "-l", "9"),
    ],
    ids=str,
)
def test_get_prints_exactly_the_requested_lines(reader: User, args: tuple[str, ...]) -> None:
    # The range has two lines, and the second is empty.
    text = "Deploy with `make deploy`. The cache decides performance.\n"
    assert reader.ok("get", *args) == f"{text}\n"
    assert json.loads(reader.ok("get", *args, "--json"))["body"] == text
    assert reader.ok("get", *args, "--line-numbers") == f"3: {text}4: \n"
    for name in ("csv", "md", "xml"):
        assert "truncated" not in reader.ok("get", *args, "--format", name)


def test_get_of_all_lines_by_number_is_the_whole_document(reader: User) -> None:
    assert reader.ok("get", "deploy.md:1:7") == reader.ok("get", "deploy.md:1:99") == FILES["deploy.md"]


def test_multi_get_does_not_number_the_truncation_mark(reader: User) -> None:
    text = reader.ok("multi-get", "it's.md", "-l", "1", "--line-numbers")
    assert text.endswith("1: # Apostrophe\n\n[... truncated 2 more lines]\n")


def test_get_does_not_mark_the_last_lines_as_truncated(reader: User) -> None:
    assert reader.ok("get", "deploy.md:7:5") == "Run `make rollback` to return to the last release.\n"


def test_get_prefers_a_name_that_ends_in_a_number_to_a_line(reader: User) -> None:
    assert reader.ok("get", "notes/a:12.md") == FILES["a:12.md"]
    assert reader.ok("get", "notes/a:12.md:3") == "A name with a colon. Performance.\n"


def test_get_suggests_similar_names_for_a_missing_document(reader: User) -> None:
    found = reader.call("get", "notes/deplyo.md")
    assert found.returncode == 1
    assert found.stdout == ""
    first, second, *names = found.stderr.splitlines()
    assert first == "Error: Document not found: notes/deplyo.md"
    assert second == "Did you mean one of these?"
    assert names[0] == "  - notes/deploy.md"
    assert len(names) <= 3


@pytest.mark.parametrize(
    "reference",
    ["notes/drafts/plan.md", "drafts/plan.md:1", "qmd://notes/drafts/plan.md", "./drafts/plan.md"],
)
@pytest.mark.parametrize("command", ["get", "why"])
def test_get_and_why_name_the_rule_that_leaves_a_document_out(
    user: User, command: str, reference: str
) -> None:
    (user.notes / "drafts").mkdir()
    (user.notes / "drafts" / "plan.md").write_text("# Plan\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes), "--ignore", "drafts/**")
    found = user.call(command, reference, *(["plan"] if command == "why" else []), cwd=user.notes)
    told = found.stderr if command == "get" else found.stdout
    assert found.returncode == (1 if command == "get" else 0)
    assert "the collection 'notes' leaves it out: ignore glob 'drafts/**'" in told
    assert "change that with 'qmd collection set notes --ignore'" in told


def test_get_prints_json_as_one_object(reader: User) -> None:
    document = json.loads(reader.ok("get", "2026/old notes.md", "--json", "-l", "1"))
    assert document == {
        "file": "qmd://notes/2026/old notes.md",
        "docid": document["docid"],
        "title": "Old",
        "context": 'Everything\n\nNotes of "2026", dated',
        "line": 1,
        "total_lines": 3,
        "body": "# Old",
    }


@pytest.mark.parametrize("name", ["csv", "md", "xml", "files"])
def test_get_has_every_format_of_multi_get(reader: User, name: str) -> None:
    assert reader.ok("get", "deploy.md", "--format", name) == reader.ok(
        "multi-get", "deploy.md", "--format", name
    )


def test_multi_get_list_takes_names_with_commas_docids_and_lines(reader: User) -> None:
    docid = json.loads(reader.ok("get", "it's.md", "--json"))["docid"]
    found = json.loads(reader.ok("multi-get", f"deploy.md:5:1, lists, with, commas.md,{docid}", "--json"))
    assert [each["title"] for each in found] == ["Deploying the service", "Commas", "Apostrophe"]
    assert found[0]["body"] == "## Rollback"


def test_multi_get_takes_names_expanded_by_the_shell(reader: User) -> None:
    assert len(rows(reader.ok("multi-get", "deploy.md", "it's.md", "a:12.md", "--files"))) == 3


def test_multi_get_names_missing_documents_beside_the_others(reader: User) -> None:
    result = reader.invoke("multi-get", "deploy.md,nowhere.md", "--json")
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)) == 1
    assert result.stderr == "Document not found: nowhere.md\n"


def test_multi_get_names_large_documents_without_their_text(user: User) -> None:
    (user.notes / "it is long.md").write_text("# Long\n\n" + "word 数 " * 20_000, encoding="utf-8")
    user.ok("collection", "add", str(user.notes))
    shown = json.loads(user.ok("multi-get", "it is long.md,deploy.md", "--json"))
    assert shown[0] == {
        "file": "qmd://notes/it is long.md",
        "docid": shown[0]["docid"],
        "title": "Long",
        "skipped": True,
        "reason": "File too large (176KB). Use 'qmd get 'notes/it is long.md'' to retrieve.",
    }
    assert "[SKIPPED: File too large (176KB)." in user.ok("multi-get", "it is long.md,deploy.md")
    assert ",[SKIPPED]\n" in user.ok("multi-get", "it is long.md,deploy.md", "--files")
    assert rows(user.ok("multi-get", "it is long.md,deploy.md", "--csv"))[1][4] == "true"
    assert ElementTree.fromstring(user.ok("multi-get", "it is long.md", "--xml"))[0].get("skipped") == "true"
    for args in (["--full"], ["--max-bytes", "1000000"]):
        assert "skipped" not in json.loads(user.ok("multi-get", "it is long.md", "--json", *args))[0]
    assert len(json.loads(user.ok("multi-get", "deploy.md", "--max-bytes", "10", "--json"))) == 1


def test_multi_get_prints_documents_under_their_names(reader: User) -> None:
    docid = json.loads(reader.ok("get", "2026/old notes.md", "--json"))["docid"]
    rule = "=" * 60
    assert reader.ok("multi-get", "2026/*") == (
        f"{rule}\nFile: notes/2026/old notes.md {docid}\n{rule}\n\n"
        'Context: Everything\n         Notes of "2026", dated\n\n' + FILES["2026/old notes.md"]
    )


def test_ls_lists_collections_with_counts(reader: User) -> None:
    assert reader.ok("ls").split("  ")[:2] == ["notes", f"{len(FILES)} files"]
    listed: list[dict[str, Any]] = json.loads(reader.ok("ls", "--json"))
    assert [(each["name"], each["documents"]) for each in listed] == [("notes", len(FILES))]


def test_ls_lists_files_with_size_and_date(reader: User) -> None:
    lines = reader.ok("ls", "notes").splitlines()
    assert len(lines) == len(FILES)
    assert lines == sorted(lines, key=listed_path)
    size = len(FILES["deploy.md"].encode())
    line = next(line for line in lines if line.endswith("notes/deploy.md"))
    assert line.split("  ")[0].strip() == f"{size} B"
    row = next(
        row
        for row in json.loads(reader.ok("ls", "notes", "--json"))
        if row["file"] == "qmd://notes/deploy.md"
    )
    assert row["bytes"] == size
    assert row["modified"].endswith("Z")
    assert row["modified"][:16].replace("T", " ") == line.split("  ")[1]


@pytest.mark.parametrize(
    "target", ["notes/2026", "notes/2026/", "qmd://notes/2026", "notes/2026/old notes.md"]
)
def test_ls_lists_a_folder_by_its_path(reader: User, target: str) -> None:
    assert reader.ok("ls", target).endswith("  notes/2026/old notes.md\n")
    assert len(reader.ok("ls", target).splitlines()) == 1


def test_ls_matches_whole_folder_names(reader: User) -> None:
    assert reader.invoke("ls", "notes/20").exit_code == 1


def test_ls_of_an_empty_index_says_how_to_begin(user: User) -> None:
    assert user.ok("ls") == "No collections yet. Add one with: qmd add PATH\n"
    assert user.ok("ls", "--json") == "[]\n"


def test_get_takes_a_range_of_lines(reader: User) -> None:
    lines = FILES["deploy.md"].splitlines()
    for reference in ("deploy.md:3-5", "qmd://notes/deploy.md:3-5", "deploy.md:3:3"):
        assert reader.ok("get", reference) == "\n".join(lines[2:5]) + "\n"
    assert "at least 1" in reader.invoke("get", "deploy.md:5-3").stderr
    (page,) = json.loads(reader.ok("multi-get", "deploy.md:3-5", "--json"))
    assert page["body"] == "\n".join(lines[2:5])


def test_get_notes_that_lines_of_the_reference_override_options(reader: User) -> None:
    found = reader.invoke("get", "deploy.md:3:1", "-l", "2")
    assert found.stdout == FILES["deploy.md"].splitlines()[2] + "\n"
    assert "deploy.md:3:1 names its lines, so --from and -l have no effect" in found.stderr


def test_get_takes_a_name_with_percent_signs_as_it_is(reader: User) -> None:
    for address in ("qmd://notes/100%20 done.md", "qmd://notes/100%2520%20done.md"):
        assert reader.ok("get", address) == FILES["100%20 done.md"]


@pytest.mark.parametrize(
    ("references", "titles", "missing"),
    [
        (["deploy.md", "it's.md"], ["Deploying the service", "Apostrophe"], []),
        (["2026/*"], ["Old"], []),
        (
            ["deploy.md:3:1", "nope.md", "20*/*", "gone.md"],
            ["Deploying the service", "Old"],
            ["nope.md", "gone.md"],
        ),
        (["deploy.md, 2026/old notes.md"], ["Deploying the service", "Old"], []),
        (["lists, with, commas.md"], ["Commas"], []),
    ],
    ids=str,
)
def test_get_prints_several_documents_and_tells_which_are_missing(
    reader: User, references: list[str], titles: list[str], missing: list[str]
) -> None:
    found = reader.call("get", *references, "--json")
    read = json.loads(found.stdout)
    assert [page["title"] for page in (read if isinstance(read, list) else [read])] == titles
    assert found.stderr == "".join(f"Document not found: {name}\n" for name in missing)
    assert found.returncode == bool(missing)


def test_get_of_several_names_keeps_to_the_tokens_together(reader: User) -> None:
    found = reader.call("get", "*.md", "--tokens", "100")
    assert found.returncode == 0 and "more documents" in found.stdout
    read = reader.call("get", "-", stdin=b"deploy.md\nit's.md\n")
    assert (read.returncode, read.stdout) == (0, reader.call("multi-get", "deploy.md,it's.md").stdout)


def test_get_of_several_names_refuses_options_for_one(reader: User) -> None:
    found = reader.call("get", "deploy.md", "it's.md", "--from", "2")
    assert (found.returncode, found.stdout) == (2, "")
    assert "--from is for one document" in found.stderr
    nothing = reader.call("get", "nope.md", "no*pe.md")
    assert (nothing.returncode, nothing.stdout) == (1, "")
    assert "Document not found: nope.md; No documents match: no*pe.md" in nothing.stderr


def test_multi_get_reads_names_from_stdin(reader: User) -> None:
    names = ["notes/deploy.md", "notes/lists, with, commas.md", str(reader.notes / "it's.md"), "nope.md"]
    found = reader.call("multi-get", "-", "--json", stdin="\n".join(names).encode() + b"\n")
    assert [page["title"] for page in json.loads(found.stdout)] == [
        "Deploying the service",
        "Commas",
        "Apostrophe",
    ]
    assert "nope.md" in found.stderr
    assert reader.call("multi-get", "-").returncode == 2


@pytest.mark.parametrize("command", ["status", "why deploy.md rollback --search search", "cleanup --dry-run"])
def test_format_json_equals_json_flag(reader: User, command: str) -> None:
    expected = json.loads(reader.ok(*command.split(), "--json"))
    assert json.loads(reader.ok(*command.split(), "--format", "json")).keys() == expected.keys()
    assert reader.ok(*command.split(), "--format", "cli")[:1] not in "[{"
    assert "two formats" in reader.invoke(*command.split(), "--json", "--format", "cli").stderr


@pytest.mark.parametrize(
    ("name", "kind", "listed"),
    [
        ("notes", "collection", "notes"),
        ("qmd://notes/", "collection", "notes"),
        ("notes/2026/", "folder", "notes/2026"),
    ],
)
def test_get_of_a_collection_or_folder_leads_to_ls(reader: User, name: str, kind: str, listed: str) -> None:
    found = reader.call("get", name)
    assert (found.returncode, found.stdout) == (1, "")
    assert f"Document not found: {name}" in found.stderr
    assert f"it is a {kind}: 'qmd ls {listed}' lists its documents" in found.stderr


@pytest.mark.parametrize("name", ["outline", "links", "history"])
def test_get_shows_the_outline_links_and_history_as_their_commands_do(reader: User, name: str) -> None:
    expected, shown = (
        reader.invoke(*words, "deploy.md", "--json") for words in ((name,), ("get", f"--{name}"))
    )
    assert (shown.exit_code, shown.stdout) == (expected.exit_code, expected.stdout)
    for words in (
        ("deploy.md", "plan.md"),
        ("deploy.md", "--from", "2"),
        ("deploy.md", "--as-of", "2026-01-01"),
    ):
        assert reader.invoke("get", *words, f"--{name}").exit_code == 2
    other = "links" if name == "outline" else "outline"
    assert reader.invoke("get", "deploy.md", f"--{name}", f"--{other}").exit_code == 2
