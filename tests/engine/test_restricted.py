"""A restricted index: hidden collections do not exist, and operations on them are refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

import pytest

import qmd
from qmd.config.schema import SETTINGS
from qmd.engine.access.restricted import MEMBERS, RestrictedIndex
from qmd.engine.parts import PARTS
from qmd.engine.requests import SearchRequest
from qmd.models.catalog import CARDS
from tests.conftest import Notes

pytestmark = pytest.mark.slow

TEXT = "# Heron\n\nThe heron stands in the water.\n"


@pytest.fixture
def whole(index: qmd.Index, notes: Notes) -> Iterator[qmd.Index]:
    """Two collections with the same text, one of which has it many times."""
    index.add_collection(str(notes({"heron.md": TEXT, "own.md": "# Own\n\nA heron of its own.\n"}, "mine")))
    index.add_collection(str(notes({f"{n:02}/heron.md": TEXT for n in range(30)}, "a-other")))
    index.add_context("qmd://a-other", "Of others")
    yield index


@pytest.fixture
def mine(whole: qmd.Index) -> qmd.Index:
    return whole.limited(["mine"])


#: The methods that a restricted index allows, by rule. A new method belongs in one of these sets.
SEEN = {
    "authors",
    "ask",
    "backlinks",
    "cite_check",
    "collection",
    "collection_statuses",
    "contexts",
    "documents",
    "explain_no_documents",
    "field_values",
    "fields",
    "fields_of",
    "titles_of",
    "file_on_disk",
    "get",
    "grep",
    "history",
    "indexed_at",
    "link_lists",
    "links",
    "lint",
    "lacking_vectors",
    "missing_vectors",
    "multi_get",
    "orphans",
    "outline",
    "pack",
    "query",
    "quote_check",
    "recall",
    "recent",
    "run",
    "run_pack",
    "search",
    "stale",
    "similar",
    "status",
    "tags",
    "undescribed",
    "unresolved_links",
    "verify_pack",
    "viewable_file",
    "vsearch",
}
OF_ITS_OWN = {
    "add_context",
    "configure",
    "embed",
    "recognize",
    "include_collection",
    "refresh",
    "remove_context",
    "rescan",
    "set_recency",
    "set_weight",
    "update",
}
REFUSED: dict[str, Callable[[qmd.Index], object]] = {
    "add_collection": lambda index: index.add_collection("/", "new"),
    "add_sessions": lambda index: index.add_sessions(),
    "backup": lambda index: index.backup(),
    "change_collection": lambda index: index.change_collection("mine", pattern="*.md"),
    "cleanup": lambda index: index.cleanup(),
    "copy_store": lambda index: index.copy_store("a.sqlite", "b.sqlite"),
    "doctor": lambda index: index.doctor(),
    "evaluate": lambda index: index.evaluate(qmd.Benchmark("queries.json")),
    "export": lambda index: index.export("/nowhere/index.qmd"),
    "pull": lambda index: index.pull(CARDS[-1]),
    "remove_collection": lambda index: index.remove_collection("mine"),
    "rename_collection": lambda index: index.rename_collection("mine", "yours"),
    "secrets": lambda index: index.secrets(),
    "set_agents": lambda index: index.set_agents("mine", False),
    "set_gitignore": lambda index: index.set_gitignore("mine", True),
    "set_pattern": lambda index: index.set_pattern("mine", "*.md"),
    "set_update_command": lambda index: index.set_update_command("mine", "true"),
    "mark": lambda index: index.mark("heron", "heron.md", "good"),
    "marks": lambda index: index.marks(),
    "marks_digest": lambda index: index.marks_digest(),
    "pin": lambda index: index.pin("heron", "heron.md"),
    "unmark": lambda index: index.unmark("heron"),
    "unpin": lambda index: index.unpin("heron"),
    "absence": lambda index: index.absence("/etc/passwd"),
    "changed_on_disk": lambda index: index.changed_on_disk(),
    "why": lambda index: index.why("heron.md", "search", SearchRequest("heron")),
    "save_search": lambda index: index.save_search("herons", "search", ["heron"], "heron", []),
    "remove_saved_search": lambda index: index.remove_saved_search("herons"),
    "newly_found": lambda index: index.newly_found("herons", []),
    "saved_searches": lambda index: index.saved_searches(),
    "synonyms": lambda index: index.synonyms(),
    "add_synonyms": lambda index: index.add_synonyms("heron", ["bird"]),
    "remove_synonyms": lambda index: index.remove_synonyms("heron"),
}
WRITES: dict[str, Callable[[qmd.Index], object]] = {
    "add_collection": lambda index: index.add_collection("/", "new"),
    "add_sessions": lambda index: index.add_sessions(),
    "add_context": lambda index: index.add_context("qmd://mine", "text"),
    "backup": lambda index: index.backup(),
    "change_collection": lambda index: index.change_collection("mine", pattern="*.md"),
    "cleanup": lambda index: index.cleanup(),
    "copy_store": lambda index: index.copy_store("a.sqlite", "b.sqlite"),
    "embed": lambda index: index.embed(),
    "recognize": lambda index: index.recognize(),
    "export": lambda index: index.export("/nowhere/index.qmd"),
    "include_collection": lambda index: index.include_collection("mine", False),
    "remove_collection": lambda index: index.remove_collection("mine"),
    "remove_context": lambda index: index.remove_context("qmd://mine"),
    "mark": lambda index: index.mark("heron", "heron.md", "good"),
    "pin": lambda index: index.pin("heron", "heron.md"),
    "unmark": lambda index: index.unmark("heron"),
    "unpin": lambda index: index.unpin("heron"),
    "set_recency": lambda index: index.set_recency("mine", 30),
    "set_weight": lambda index: index.set_weight("mine", 2),
    "pull": lambda index: index.pull(CARDS[-1]),
    "rename_collection": lambda index: index.rename_collection("mine", "yours"),
    "rescan": lambda index: index.rescan("mine"),
    "set_agents": lambda index: index.set_agents("mine", False),
    "set_gitignore": lambda index: index.set_gitignore("mine", True),
    "set_pattern": lambda index: index.set_pattern("mine", "*.md"),
    "set_update_command": lambda index: index.set_update_command("mine", "true"),
    "update": lambda index: index.update(),
    "save_search": lambda index: index.save_search("herons", "search", ["heron"], "heron", []),
    "remove_saved_search": lambda index: index.remove_saved_search("herons"),
    "newly_found": lambda index: index.newly_found("herons", []),
    "add_synonyms": lambda index: index.add_synonyms("heron", ["bird"]),
    "remove_synonyms": lambda index: index.remove_synonyms("heron"),
}
#: Methods about models and the life of the index, which concern no collection.
NEITHER = {"close", "embed_texts", "limited", "model_loaded", "models", "pullable", "release_models"}


def test_every_method_of_index_has_a_rule_for_restricted_indexes() -> None:
    methods = {name for name, _ in inspect.getmembers(qmd.Index, inspect.isfunction) if name[0] != "_"}
    assert methods | {*PARTS.builtin} == SEEN | OF_ITS_OWN | set(REFUSED) | NEITHER


def test_restricted_index_has_only_members_with_a_rule(mine: qmd.Index) -> None:
    with pytest.raises(AttributeError, match="_store"):
        _ = mine._store
    own = {name for name in vars(qmd.Index) if name[0] != "_"} - {*PARTS.builtin}
    assert own <= MEMBERS
    overridden = {*vars(RestrictedIndex)}
    ruled = {name for name in PARTS.names() if qmd.Index._rule_of_part(name)}
    assert {*PARTS.builtin} <= ruled | overridden


def test_closing_a_restricted_index_leaves_the_index_open(whole: qmd.Index) -> None:
    with whole.limited(["mine"]) as mine:
        assert mine.search("heron").hits
    assert whole.search("heron").hits


def test_permissions_apply_to_arguments_given_by_keyword(mine: qmd.Index) -> None:
    with pytest.raises(qmd.CollectionNotFoundError):
        mine.update(collections=["a-other"])
    with pytest.raises(qmd.ForbiddenError):
        mine.add_context(target="/", text="Everything")


def test_restricted_index_hides_other_collections_everywhere(whole: qmd.Index, mine: qmd.Index) -> None:
    assert {hit.collection for hit in whole.search("heron", limit=None).hits} == {"mine", "a-other"}
    assert {hit.collection for hit in mine.search("heron", limit=None).hits} == {"mine"}
    assert {page.collection for page in mine.documents()} == {"mine"}
    assert [each.name for each in mine.collection_statuses()] == ["mine"]
    assert mine.status().collections == mine.collection_statuses()
    assert mine.status().total_documents == 2
    assert {document.collection for document in mine.recent(100)} == {"mine"}
    assert mine.fields_of(["a-other/01/heron.md"]) == {}
    assert mine.contexts() == []
    assert mine.undescribed() == [("qmd://mine", 2)]
    with pytest.raises(qmd.DocumentNotFoundError) as caught:
        mine.get("a-other/01/heron.md")
    assert not any("a-other" in path for path in caught.value.suggestions)
    with pytest.raises(qmd.CollectionNotFoundError) as unknown:
        mine.search("heron", collections=["a-other"])
    assert unknown.value.hint == "known collections: mine"


def test_restricted_index_limits_vsearch_and_query(whole: qmd.Index, mine: qmd.Index) -> None:
    whole.embed()
    for index, seen in ((mine, {"mine"}), (whole, {"mine", "a-other"}), (mine, {"mine"})):
        assert {hit.collection for hit in index.query("heron", limit=None).hits} == seen
        assert {hit.collection for hit in index.vsearch("heron", limit=None).hits} == seen


def test_restricted_index_finds_documents_among_many_hidden_ones(mine: qmd.Index) -> None:
    assert mine.get("heron.md").document.file == "mine/heron.md"
    docid = mine.search("stands").hits[0].docid
    assert mine.get(docid).document.file == "mine/heron.md"


@pytest.mark.parametrize("field", qmd.Collection.__struct_fields__)
def test_restricted_index_refuses_settings_with_an_action(
    whole: qmd.Index, mine: qmd.Index, field: str
) -> None:
    value = getattr(whole.collection("mine"), field)
    setting = SETTINGS.get(field)
    if setting is None or setting.action is not None:
        with pytest.raises(qmd.ForbiddenError if setting else TypeError):
            mine.configure("mine", **{field: value})
    elif field != "context":
        mine.configure("mine", **{field: value})
    with pytest.raises(qmd.CollectionNotFoundError):
        mine.configure("a-other", **{field: value})


@pytest.mark.parametrize("name", REFUSED)
def test_restricted_index_refuses_operations_on_everything(mine: qmd.Index, name: str) -> None:
    before = mine.status()
    with pytest.raises(qmd.ForbiddenError):
        REFUSED[name](mine)
    assert mine.status() == before


@pytest.mark.parametrize("name", WRITES)
def test_read_only_index_refuses_changes(whole: qmd.Index, name: str) -> None:
    reader = whole.limited(read_only=True)
    before, contexts = whole.status(), whole.contexts()
    with pytest.raises(qmd.ForbiddenError):
        WRITES[name](reader)
    assert (whole.status(), whole.contexts()) == (before, contexts)


@pytest.mark.parametrize("name", ["remove_collection", "update", "embed"])
def test_restricted_index_cannot_change_other_collections(
    whole: qmd.Index, mine: qmd.Index, name: str
) -> None:
    argument: object = "a-other" if name == "remove_collection" else ["a-other"]
    with pytest.raises(qmd.CollectionNotFoundError):
        getattr(mine, name)(argument)
    assert whole.collection("a-other").name == "a-other"


def test_restricted_index_may_change_its_own_collections(
    whole: qmd.Index, mine: qmd.Index, notes: Notes
) -> None:
    notes({"new.md": "# New\n\nAn egret.\n"}, "mine")
    notes({"new.md": "# New\n\nAn egret.\n"}, "a-other")
    assert [report.collection for report in mine.update()] == ["mine"]
    assert [hit.file for hit in whole.search("egret").hits] == ["mine/new.md"]
    mine.add_context("qmd://mine/sub", "Some")
    assert ("qmd://mine/sub", "Some") in whole.contexts()
    with pytest.raises(qmd.ForbiddenError):
        mine.add_context("/", "Everything")
    with pytest.raises(qmd.CollectionNotFoundError):
        mine.add_context("qmd://a-other", "Seen")
    assert mine.remove_context("qmd://mine/sub") == "qmd://mine/sub"


def test_limited_can_only_narrow_permissions(mine: qmd.Index) -> None:
    with pytest.raises(qmd.CollectionNotFoundError, match="a-other") as failed:
        mine.limited(["a-other"])
    assert failed.value.hint == "known collections: mine"
    assert mine.limited(["a-other"], existing=False).status().collections == ()
    with pytest.raises(qmd.ForbiddenError):
        mine.limited(read_only=True).limited().update()


def test_limited_returns_the_same_object_for_the_same_limits(whole: qmd.Index) -> None:
    assert whole.limited(["mine"]) is whole.limited(["mine"])
    assert isinstance(whole.limited(["mine"]), RestrictedIndex)
    assert whole.limited(["mine"]) is not whole.limited(["mine"], read_only=True)
