from __future__ import annotations

from qmd.config.index_yml import parse
from qmd.types import UnknownKey

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


def unknown(text: bytes) -> list[UnknownKey]:
    return list(parse(text, "index.yml").unknown_keys)


def test_file_with_every_key_has_no_unknown_keys() -> None:
    assert unknown(EVERYTHING) == []


def test_unknown_keys_have_their_line_and_the_nearest_known_key() -> None:
    text = EVERYTHING.replace(b"ranking:", b"rankign:").replace(b"embed:", b"embedder:")
    text = text.replace(b"includeByDefault:", b"include_by_default:")
    text += b"    zzz: 1\ncolections: {}\n"
    assert unknown(text) == [
        UnknownKey(3, "rankign", "ranking"),
        UnknownKey(4, "models.embedder", "embed"),
        UnknownKey(12, "collections.notes.include_by_default", "includeByDefault"),
        UnknownKey(15, "collections.notes.zzz"),
        UnknownKey(16, "colections", "collections"),
    ]


def test_overridden_name_of_a_setting_is_an_unknown_key() -> None:
    text = b"editor_uri: a\neditor_uri_template: b\n"
    assert unknown(text) == [UnknownKey(2, "editor_uri_template", "editor_uri")]


def test_empty_file_has_no_unknown_keys() -> None:
    assert unknown(b"") == []
    assert unknown(b"# nothing yet\n") == []
