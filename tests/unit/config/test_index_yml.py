"""The configuration that index.yml describes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from qmd.config.index_yml import digest, load, parse, read_bytes
from qmd.errors import ConfigError
from qmd.types import Collection, Config, Models
from tests.unit.config.index_yml import FILE, read, reason

EXAMPLE = Path(__file__).with_name("example-index.yml")


def test_default_models_of_tobi_qmd_count_as_unset() -> None:
    embed, rerank, generate = (
        "hf:ggml-org/embeddinggemma-300M-GGUF/embeddinggemma-300M-Q8_0.gguf",
        "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf",
        "hf:tobil/qmd-query-expansion-1.7B-gguf/qmd-query-expansion-1.7B-q4_k_m.gguf",
    )
    written = f"models: {{embed: '{embed}', rerank: '{rerank}', generate: '{generate}'}}"
    assert read(written).models == Models()
    assert read("models: {embed: other}").models == Models(embed="other")


def test_index_yml_of_tobi_qmd_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    data = EXAMPLE.read_bytes()
    assert parse(data, FILE) == Config(
        path=FILE,
        digest=hashlib.sha256(data).hexdigest(),
        global_context="A name in [[double brackets]] is the title of another note.",
        collections={
            "minutes": Collection("minutes", "/home/ada/Texts/Minutes", context={"": "Minutes of the board"}),
            "diary": Collection(
                "diary",
                "/home/ada/Texts/Diary",
                context={
                    "": "Private notes",
                    "days/2024": "Days of 2024",
                    "days/2025": "Days of 2025",
                    "kitchen": "What was cooked",
                },
            ),
            "handbook": Collection(
                "handbook",
                "/home/ada/reference/handbook",
                update="git pull --ff-only",
                context={"": "The handbook — pulled on every update"},
            ),
            "engine-docs": Collection(
                "engine-docs",
                "/home/ada/work/engine",
                pattern="**/*.{md,mdx,txt}",
                ignore=("drafts/**", "*.bak", "old/2023/**"),
                context={"": "Documents of the engine team", "api": "Endpoints", "howto": "Step by step"},
            ),
            "suppliers": Collection(
                "suppliers",
                "/home/ada/work/suppliers",
                include_by_default=False,
                context={"": "Manuals of suppliers (use -c suppliers)"},
            ),
            "library": Collection(
                "library",
                "/home/ada/Texts/Library",
                ignore=("Loans/**",),
                update="git stash && git pull --rebase --ff-only && git stash pop",
                context={"": "Thoughts by topic"},
            ),
        },
    )


def test_parse_reads_models_editor_ranking_and_encoding() -> None:
    config = read(
        """
        editor_uri: "vscode://file{path}:{line}"
        ranking: contract
        models: {embed: a, rerank: b, generate: c, openai_base_url: "http://127.0.0.1/v1"}
        collections:
          old: {path: /old, encoding: big5}
        """
    )
    assert config.editor_uri == "vscode://file{path}:{line}"
    assert config.ranking == "contract"
    assert config.models == Models("a", "b", "c")
    assert config.collections["old"].encoding == "big5"


@pytest.mark.parametrize("name", ["editor_uri", "editor_uri_template", "editorUri", "editor-uri"])
def test_editor_uri_is_read_under_each_of_its_names(name: str) -> None:
    assert read(f"{name}: x").editor_uri == "x"


def test_editor_uri_takes_precedence_over_editor_uri_template() -> None:
    assert read("editor_uri_template: x\neditor_uri: y").editor_uri == "y"


@pytest.mark.parametrize("text", ["", "\n", "# only a comment\n", "---\n", "{}", "collections:\n", "~"])
def test_file_without_content_is_an_empty_configuration(text: str) -> None:
    assert parse(text.encode(), FILE) == Config(FILE, digest(text.encode()))


def test_collections_are_in_the_order_of_the_file() -> None:
    assert list(read("collections: {b: {path: /b}, a: {path: /a}}").collections) == ["b", "a"]


def test_unknown_keys_are_ignored() -> None:
    config = read("future: {a: [1, {b: 2}]}\ncollections: {a: {path: /a, colour: 3}}\nmodels: {x: 1}")
    assert config.collections == {"a": Collection("a", "/a")}


def test_absent_null_and_blank_values_are_the_default() -> None:
    config = read(
        """
        global_context: ""
        editor_uri:
        models:
        ranking: ~
        collections:
          a:
            path: /a
            pattern:
            ignore:
            context:
            update: ""
            includeByDefault:
            encoding:
          b: {path: /b, ignore: [], context: {"/": }}
        """
    )
    assert config == Config(FILE, config.digest, {"a": Collection("a", "/a"), "b": Collection("b", "/b")})


@pytest.mark.parametrize("text", ["agents: {mask: [iban, iban]}", "agents: {mask: iban}"])
def test_masks_for_agents_are_a_text_or_a_list(text: str) -> None:
    assert read(text).masks == ("iban",)


def test_ignore_and_context_can_be_a_single_text() -> None:
    collection = read("collections: {a: {path: /a, ignore: 'x/**', context: Notes}}").collections["a"]
    assert (collection.ignore, collection.context) == (("x/**",), {"": "Notes"})


def test_context_keys_lose_their_outer_slashes() -> None:
    text = "collections: {a: {path: /a, context: {'': r, /b/: s, c: t, 'd//e': u, 2024: v}}}"
    assert read(text).collections["a"].context == {"": "r", "b": "s", "c": "t", "d/e": "u", "2024": "v"}


def test_collection_names_can_be_numbers_and_in_any_script() -> None:
    assert list(read("collections: {2024: {path: /a}, 笔记: {path: /b}}").collections) == ["2024", "笔记"]


@pytest.mark.parametrize(
    "word",
    "on off yes no Yes NO y n 1:30 1:30:00 2024-01-02 2024-01-02T10:00:00 tRUE nan 0x _1 1e -- = 1.2.3 "
    "http://x/y#z a,b C:\\x ~/n".split(),
)
def test_words_of_older_yaml_are_text(word: str) -> None:
    assert read(f"global_context: {word}").global_context == word


@pytest.mark.parametrize(
    "word",
    "true False TRUE 0777 0o17 0b11 0x1F 1_000 08 -1 +1 1. 1.5 .5 +.5 1e3 12e+3 .inf -.Inf .NAN".split(),
)
def test_numbers_and_booleans_need_quotes_to_be_text(word: str) -> None:
    assert reason(f"global_context: {word}") == "1: global_context must be text; put it in quotes"
    assert read(f"global_context: '{word}'").global_context == word
    assert read(f"global_context: !!str {word}").global_context == word


@pytest.mark.parametrize("name", ["no", "On", "0777", "1:30", "2024-01-02", "true", "~", "null", "'<<'"])
def test_collection_name_can_look_like_another_value(name: str) -> None:
    assert list(read(f"collections:\n  {name}: {{path: /a}}\n").collections) == [name.strip("'")]


def test_collection_path_expands_the_home_folder_but_no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    config = read("collections: {a: {path: ~/n}, b: {path: '~'}, c: {path: /x/$HOME}, d: {path: /y/~}}")
    paths = [collection.path for collection in config.collections.values()]
    assert paths == ["/home/ada/n", "/home/ada", "/x/$HOME", "/y/~"]


def test_relative_path_starts_at_the_folder_of_the_file() -> None:
    text = "collections: {a: {path: docs/}, b: {path: .}, c: {path: ../up}}"
    paths = [collection.path for collection in read(text).collections.values()]
    assert paths == ["/conf/docs", "/conf", "/up"]


def test_relative_path_of_a_project_starts_at_the_project() -> None:
    text = "collections: {a: {path: docs}, b: {path: .}}"
    paths = [collection.path for collection in read(text, "/project/.qmd/index.yml").collections.values()]
    assert paths == ["/project/docs", "/project"]


def test_byte_order_mark_and_carriage_returns_are_ignored() -> None:
    data = b"\xef\xbb\xbfglobal_context: hello\r\ncollections:\r\n  a:\r\n    path: /a\r\n"
    config = parse(data, FILE)
    assert (config.global_context, config.collections["a"].path) == ("hello", "/a")


def test_yaml_alias_is_resolved() -> None:
    config = read("collections:\n  a: {path: /a, ignore: &i [x, y]}\n  b: {path: /b, ignore: *i}\n")
    assert config.collections["b"].ignore == ("x", "y")


def test_missing_file_is_an_empty_configuration(tmp_path: Path) -> None:
    path = str(tmp_path / "no" / "index.yml")
    assert load(path) == Config(path, digest(b""))
    assert read_bytes(path) == b""


def test_load_returns_the_configuration_with_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "index.yml"
    path.write_text("collections: {a: {path: /a}}\n", encoding="utf-8")
    config = load(str(path))
    assert config.digest == digest(read_bytes(str(path))) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert list(config.collections) == ["a"]


def test_dangling_link_is_an_error(tmp_path: Path) -> None:
    link = tmp_path / "index.yml"
    link.symlink_to(tmp_path / "unplugged" / "index.yml")
    with pytest.raises(ConfigError, match="links to is missing"):
        load(str(link))


def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load(str(tmp_path))
