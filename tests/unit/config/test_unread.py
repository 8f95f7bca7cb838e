from __future__ import annotations

from qmd.config.index_yml import parse
from qmd.config.unread import unread_keys

EVERYTHING = b"""\
global_context: All of it
editor_uri: "code://{path}"
ranking: tuned
models: {embed: a, rerank: b, generate: c, openai_api_key_file: d, threads: 2, max_ram_mb: 500}
collections:
  notes:
    path: ~/notes
    pattern: "**/*.md"
    ignore: [drafts/**]
    context: {/: Notes}
    update: git pull
    includeByDefault: true
    encoding: gb18030
    models: {remote: deny}
"""


def test_a_file_with_every_key_has_none_that_is_not_read() -> None:
    assert unread_keys(EVERYTHING, "index.yml") == []


def test_keys_that_are_not_read_are_named_with_their_line_wherever_they_stand() -> None:
    text = EVERYTHING.replace(b"ranking:", b"rankign:").replace(b"embed:", b"embedder:")
    text = text.replace(b"includeByDefault:", b"include_by_default:")
    parse(text, "index.yml")
    assert unread_keys(text, "index.yml") == [
        (3, "rankign"),
        (4, "models.embedder"),
        (12, "collections.notes.include_by_default"),
    ]


def test_of_two_names_of_one_setting_the_one_that_loses_is_not_read() -> None:
    text = b"editor_uri: a\neditor_uri_template: b\n"
    assert unread_keys(text, "index.yml") == [(2, "editor_uri_template")]


def test_an_empty_file_has_no_keys() -> None:
    assert unread_keys(b"", "index.yml") == []
    assert unread_keys(b"# nothing yet\n", "index.yml") == []
