"""States of documents: old ones say so, and come below what replaces them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import qmd
from tests.conftest import Notes

Add = Callable[..., qmd.Index]
HERON = "The heron stands in the water.\n"
MANY = "heron heron heron heron\n"


def front(text: str, body: str = HERON) -> str:
    return f"---\n{text}\n---\n# Heron\n\n{body}"


@pytest.fixture
def found(index: qmd.Index, notes: Notes) -> Add:
    """Return a function that indexes files and returns the index."""

    def add(files: dict[str, str], name: str = "notes") -> qmd.Index:
        index.add_collection(str(notes(files, name)), name)
        return index

    return add


def states(response: qmd.SearchResponse) -> list[tuple[str, str]]:
    return [(hit.path, hit.state.line) for hit in response.hits]


def test_what_replaces_a_document_takes_its_place(found: Add) -> None:
    index = found(
        {
            "old.md": front("superseded_by: new.md", MANY),
            "other.md": front("a: b", MANY + HERON),
            "new.md": front("a: b", "A heron among many words that are about other birds.\n" * 5),
        }
    )
    response = index.search("heron", explain=True)
    found_states = dict(states(response))
    assert [*found_states].index("new.md") < [*found_states].index("old.md")
    assert found_states["old.md"] == "superseded by notes/new.md"
    assert response.hits[0].path == "new.md"
    assert [hit.score for hit in response.hits] == sorted((hit.score for hit in response.hits), reverse=True)
    assert response.hits[0].explain["replaces"] == "notes/old.md"


def test_a_replacement_that_is_not_found_takes_its_place_before_the_old_document(found: Add) -> None:
    index = found(
        {"old.md": front("replaced: x\nstatus: superseded by [New](new.md)"), "new.md": "# Egret\n\nBirds.\n"}
    )
    assert states(index.search("heron")) == [("new.md", "current"), ("old.md", "superseded by notes/new.md")]
    assert states(index.search("heron", limit=1)) == [("new.md", "current")]


def test_chains_end_at_the_last_and_cycles_count_for_nothing(found: Add) -> None:
    index = found(
        {
            "a.md": front("superseded_by: '[[b]]'"),
            "b.md": front("x: y", MANY),
            "c.md": front("supersedes: b"),
            "d.md": front("superseded_by: e"),
            "e.md": front("superseded_by: d"),
        }
    )
    found_states = dict(states(index.search("heron", limit=None)))
    assert found_states == {
        "a.md": "superseded by notes/c.md",
        "b.md": "superseded by notes/c.md",
        "c.md": "current",
        "d.md": "current",
        "e.md": "current",
    }
    order = [path for path, _ in states(index.search("heron", limit=None))]
    assert order.index("c.md") < order.index("b.md") < order.index("a.md")


def test_filters_by_state_apply_before_the_cut(found: Add) -> None:
    index = found(
        {f"{number:02}.md": front("status: deprecated", MANY) for number in range(30)}
        | {"new.md": front("a: b", "many other words, a heron.\n" * 9), "draft.md": front("status: draft")}
    )
    assert states(index.search("heron", limit=1, current=True)) == [("new.md", "current")]
    assert states(index.search("heron", limit=1, state="draft")) == [("draft.md", "draft")]
    assert states(index.search("heron state:draft", limit=1)) == [("draft.md", "draft")]
    assert states(index.search("[state:draft,current] heron")) == states(
        index.search("heron", state=["draft", "current"])
    )
    assert len(index.search("heron [state:deprecated]", limit=None).hits) == 30


def test_expired_and_upcoming_documents_say_their_day(found: Add) -> None:
    index = found(
        {
            "expired.md": front("valid_until: 2024-05-01"),
            "gone.md": front("expires: 2020-01-01 10:00"),
            "later.md": front("valid-from: 9999-01-01"),
            "valid.md": front("valid_from: 2020\nexpires: 9999-12-31"),
            "archived.md": front("status: Archived"),
            "done.md": front("status: [done, other]"),
        }
    )
    assert dict(states(index.search("heron", limit=None))) == {
        "expired.md": "expired on 2024-05-01",
        "gone.md": "expired on 2020-01-01T10:00:00",
        "later.md": "valid from 9999-01-01",
        "valid.md": "current",
        "archived.md": "archived",
        "done.md": "done",
    }
    assert [document.path for document in index.documents(current=True)] == ["valid.md"]
    assert [document.path for document in index.documents(state="expired,done")] == [
        "done.md",
        "expired.md",
        "gone.md",
    ]
    with pytest.raises(qmd.UsageError, match="state must be one of current"):
        index.search("heron", state="obsolete")


def test_outdated_documents_without_a_replacement_get_a_factor(found: Add) -> None:
    index = found({"old.md": front("status: deprecated"), "new.md": front("status: published")})
    first, second = index.search("heron", explain=True).hits
    assert (first.path, second.path) == ("new.md", "old.md")
    assert second.explain is not None
    factor = second.explain["adjusted"]["factors"]["state"]
    assert factor["reason"] == "it is deprecated" and factor["factor"] < 1


def test_a_filter_that_excludes_the_replacement_also_keeps_it_away(found: Add) -> None:
    index = found({"v1/a.md": front("superseded_by: ../v2/a.md"), "v2/a.md": front("x: y")})
    assert states(index.search("heron path:v1/")) == [("v1/a.md", "superseded by notes/v2/a.md")]
    assert states(index.search("heron", state="superseded")) == [("v1/a.md", "superseded by notes/v2/a.md")]
    assert states(index.search("heron", sort="date", limit=None)) != []


@pytest.mark.parametrize(
    "fields",
    [
        "superseded_by: 3\nexpires: soon\nstatus: 7\nvalid_from: true",
        "superseded_by:\n  a: {b: c}\nstatus:\n  nested: deprecated",
        f"supersedes: [{', '.join(f'x{number}' for number in range(5_000))}]",
        "superseded_by: true\nvalid_until: [2020-01-01, 9999-01-01]",
        "superseded_by: note.md",
        "supersedes: '[['\nsuperseded_by: ']]('",
    ],
)
def test_fields_of_wrong_types_are_harmless(found: Add, fields: str) -> None:
    index = found({"note.md": front(fields), "other.md": front("a: b")})
    assert {path for path, _ in states(index.search("heron"))} == {"note.md", "other.md"}
    assert index.stale()


def test_other_names_of_the_fields_come_from_the_configuration(found: Add) -> None:
    index = found({"alt.md": front("Ersetzt durch: '[[neu|der neue]]'"), "neu.md": front("x: y")})
    assert dict(states(index.search("heron"))) == {"alt.md": "current", "neu.md": "current"}
    with open(index.config.path, "a", encoding="utf-8") as file:
        file.write("state:\n  superseded_by: [Ersetzt durch, obsoleted_by]\n")
    assert dict(states(index.search("heron")))["alt.md"] == "superseded by notes/neu.md"
    assert index.config.unknown_keys == ()


def test_a_draft_supersedes_nothing_yet(found: Add) -> None:
    index = found({"old.md": front("x: y"), "new.md": front("status: draft\nsupersedes: old.md")})
    assert dict(states(index.search("heron"))) == {"old.md": "current", "new.md": "draft"}


def test_a_restricted_index_computes_states_from_what_it_sees(
    index: qmd.Index, notes: Notes, found: Add
) -> None:
    found({"a.md": front("superseded_by: qmd://hidden/new.md"), "b.md": front("x: y"), "c.md": front("x: y")})
    found({"new.md": front("supersedes: notes/b.md"), "other.md": front("a: b")}, "hidden")
    everything = dict(states(index.search("heron", limit=None, collections=["notes"])))
    assert everything["a.md"] == everything["b.md"] == "superseded by hidden/new.md"
    mine = index.limited(["notes"])
    response = mine.search("heron", limit=None, explain=True)
    assert dict(states(response)) == {"a.md": "superseded", "b.md": "current", "c.md": "current"}
    assert "hidden" not in repr(response).replace("qmd://hidden", "")
    assert mine.get("b.md").state.line == "current" and index.get("b.md").state.by == "hidden/new.md"
    assert [document.path for document in mine.documents(state="superseded")] == ["a.md"]
    assert not any("hidden/new.md:" in finding.message for finding in mine.stale())


def test_stale_lists_what_is_out_of_date(found: Add) -> None:
    index = found(
        {
            "old.md": front("superseded_by: new.md"),
            "new.md": "# New\n\nIn place of [the old](old.md).\n",
            "guide.md": "# Guide\n\nFirst read\n[the old](old.md).\n",
            "gone.md": front("expires: 2020-01-01"),
            "x.md": front("superseded_by: y.md"),
            "y.md": front("superseded_by: x.md"),
            "lost.md": front("superseded_by: nowhere.md"),
        }
    )
    assert {(finding.check, finding.message) for finding in index.stale()} == {
        ("expired", "notes/gone.md expired on 2020-01-01"),
        ("link", "notes/guide.md:4 -> notes/old.md, superseded by notes/new.md"),
        ("cycle", "notes/x.md -> notes/y.md -> notes/x.md"),
        ("reference", "notes/lost.md names a document that is not found: nowhere.md"),
    }
    (note,) = [note for note in index.status().notes if "states" in note]
    assert "2 superseded, 1 expired, 1 contradictory" in note


def test_packs_and_pages_carry_the_state(found: Add) -> None:
    index = found({"old.md": front("status: deprecated")})
    (passage,) = index.pack("heron water").passages
    assert passage.state is not None and passage.state.line == "deprecated"
    assert index.get("old.md").state.line == "deprecated"


def test_states_change_with_the_index(found: Add, notes: Notes) -> None:
    index = found({"old.md": front("x: y"), "new.md": front("x: y")})
    assert dict(states(index.search("heron")))["old.md"] == "current"
    notes({"new.md": front("supersedes: old.md")})
    index.update()
    assert dict(states(index.search("heron")))["old.md"] == "superseded by notes/new.md"


def test_fields_named_state_are_searched_as_before(found: Add) -> None:
    index = found(
        {"a.md": front("state: Ohio"), "b.md": front("state: draft"), "c.md": front("status: draft")}
    )
    assert states(index.search("heron [state:Ohio]")) == [("a.md", "current")]
    assert {path for path, _ in states(index.search("heron [state:draft]"))} == {"b.md", "c.md"}


def test_brackets_with_state_are_text_unless_they_name_a_state(found: Add) -> None:
    index = found({"a.md": front("status: draft"), "b.md": front("x: y")})
    assert index.search("heron [state:Ohio]").unknown_fields == ("state",)
    assert states(index.search("heron [state:draft]")) == [("a.md", "draft")]
    assert states(index.search("heron -[state:*]")) == [("b.md", "current")]
    facets = index.search("heron", facets=["state"]).facets
    assert {each.value: each.documents for each in facets["state"]} == {"draft": 1, "current": 1}
    assert {each.value: each.documents for each in index.field_values("state").values} == {
        "draft": 1,
        "current": 1,
    }


@pytest.mark.models
def test_vsearch_and_query_put_old_documents_below(found: Add) -> None:
    index = found({"old.md": front("superseded_by: new.md"), "new.md": "# Egret\n\nWhite birds.\n"})
    index.embed()
    question = "where does the heron stand"
    for response in (index.vsearch(question), index.query(question)):
        assert [path for path, _ in states(response)] == ["new.md", "old.md"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("deprecated: true", "deprecated"),
        ("obsolete: yes", "deprecated"),
        ("status: Obsolete", "deprecated"),
        ("status: outdated", "deprecated"),
        ("status: withdrawn", "deprecated"),
        ("status: legacy", "deprecated"),
        ("status: veraltet", "deprecated"),
        ("status: obsolète", "deprecated"),
        ("status: 已废弃", "deprecated"),
        ("status: 过时", "deprecated"),
        ("status: 廃止", "deprecated"),
        ("过时: true", "deprecated"),
        ("status: 已归档", "archived"),
        ("archived: true", "archived"),
        ("superseded: true", "superseded"),
        ("status: ersetzt", "superseded"),
        ("draft: true", "draft"),
        ("published: false", "draft"),
        ("status: WIP", "draft"),
        ("status: entwurf", "draft"),
        ("status: 草稿", "draft"),
        ("status: 下書き", "draft"),
        ("deprecated: false", "current"),
        ("published: 2024-05-01", "current"),
        ("published: true", "current"),
        ("status: accepted", "current"),
    ],
)
def test_states_are_read_as_people_write_them(found: Add, text: str, name: str) -> None:
    index = found({"a.md": front(text)})
    assert states(index.search("heron")) == [("a.md", name)]


@pytest.mark.parametrize(
    "text",
    [
        "superseded_by: The New Heron",
        "superseded_by: [[new]]",
        "superseded_by:\n  - [[new]]",
        "superseded_by: 202401151230",
        "superseded_by: [[202401151230]]",
        "status: Replaced by The New Heron",
        "status: ersetzt durch [[new]]",
    ],
)
def test_replacements_are_found_by_title_number_and_bare_wikilink(found: Add, text: str) -> None:
    target = "202401151230.md" if "2024" in text else "new.md"
    index = found({"old.md": front(text), target: "# The New Heron\n\nheron\n"})
    assert dict(states(index.search("heron")))["old.md"] == f"superseded by notes/{target}"
    assert index.search("heron").hits[0].path == target


def test_drafts_stand_below_what_is_published(found: Add) -> None:
    index = found({"a.md": front("draft: true"), "b.md": front("x: y")})
    assert [path for path, _ in states(index.search("heron"))] == ["b.md", "a.md"]


def test_doctor_names_fields_that_say_nothing_of_a_state(found: Add) -> None:
    index = found({"a.md": front("valid_until: soon\ndeprecated: since v3")})
    messages = " ".join(finding.message for finding in index.stale())
    assert "valid_until: soon" in messages
    assert "deprecated: since v3" in messages
