"""An index for agents: secrets are masked and cannot be searched for, and kept documents do not exist."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import qmd
from tests.conftest import Notes

KEY = "AKIAQ3EGRZZT5N2M7XPW"
PASSWORD = "Zx81-kq-Rocket"
IN_TABLE, TOLD = "Kestrel-4821!", "Blue7Tiger#92"
FILES = {
    "server.md": f"---\ntitle: Server ghp_abcdefghijklmnopqrstuvwxyz01234567AB\npassword: hunter2xyz\n"
    f"machine: {KEY}\naliases: [{KEY}]\n---\n# Login {KEY} here\n\n"
    f"The backup server uses password = {PASSWORD} and is restored nightly.\n\n"
    f"[link](https://bob:s3cretPw9@host.example.org/x)\n\n"
    f"| Host | Password |\n|---|---|\n| db1 | {IN_TABLE} |\n\nThe password for the printer is {TOLD}.\n",
    f"keys/{KEY}.md": "# Path\n\nA note with a key in its path.\n",
    "plain.md": "# Plain\n\nBackups are restored nightly from the plain server, see [[server]].\n",
    "kept.md": "---\nagents: false\ncodename: zebrafish\n---\n# Merger\n\nThe zebrafish is in [[plain]].\n",
}
SECRETS = (KEY, PASSWORD, IN_TABLE, TOLD, "hunter2xyz", "s3cretPw9", "abcdefghijklm", "zebrafish", "Merger")


@pytest.fixture
def whole(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes(FILES)), "notes")
    index.add_context("qmd://notes", f"All keys, such as {KEY}")
    return index


@pytest.fixture
def agent(whole: qmd.Index) -> qmd.Index:
    return whole.limited(agent=True)


ASKED: dict[str, Callable[[qmd.Index], object]] = {
    "search": lambda index: index.search("backup server login path", full=True, passages=5, explain=True),
    "facets": lambda index: index.search("server", facets=["machine", "password", "title", "alias", "path"]),
    "get": lambda index: index.get("notes/server.md"),
    "lines": lambda index: index.get("notes/server.md:9"),
    "multi_get": lambda index: index.multi_get("notes/**/*.md"),
    "documents": lambda index: index.documents(),
    "recent": lambda index: index.recent(),
    "outline": lambda index: index.outline("notes/server.md"),
    "links": lambda index: index.links("notes/server.md"),
    "backlinks": lambda index: index.backlinks("notes/plain.md"),
    "orphans": lambda index: index.orphans(),
    "unresolved": lambda index: index.unresolved_links(),
    "fields": lambda index: index.fields(),
    "fields of": lambda index: index.fields_of(["notes/server.md"]),
    "values": lambda index: [index.field_values(name) for name in ("machine", "password", "alias", "title")],
    "contexts": lambda index: index.contexts(),
    "pack": lambda index: index.pack("backup server login"),
    "recall": lambda index: index.recall("how is the backup server restored", threshold=0.0, words_only=True),
    "cite": lambda index: index.cite_check('It "uses password = Zx81 and is restored" (notes/server.md:9).'),
    "quote": lambda index: index.quote_check("notes/server.md", "backup server uses a password"),
    "status": lambda index: index.status(),
    "config": lambda index: index.config,
}


@pytest.mark.parametrize("name", ASKED)
def test_agent_gets_no_secret(name: str, agent: qmd.Index) -> None:
    shown = repr(ASKED[name](agent))
    assert not [secret for secret in SECRETS if secret in shown], shown


def test_people_get_everything(whole: qmd.Index) -> None:
    shown = "".join(repr(asked(whole)) for asked in ASKED.values())
    assert all(secret in shown for secret in SECRETS)


def test_masks_keep_lines_and_quotations(agent: qmd.Index, whole: qmd.Index) -> None:
    seen, text = agent.get("notes/server.md").text, whole.get("notes/server.md").text
    assert [len(line) for line in seen.split("\n")] == [len(line) for line in text.split("\n")]
    assert agent.quote_check("notes/server.md", "and is restored nightly").standing == "holds"
    assert agent.quote_check("notes/server.md", f"uses password = {PASSWORD}").standing != "holds"


@pytest.mark.parametrize(
    "query",
    [
        *(KEY, f"{KEY[:7]}*", KEY[:6], f'"{KEY}"', "Zx81", "Zx8*", "hunter2xyz", "hunter2*", "s3cretPw9"),
        *("[password:hunter2xyz]", "[password>g]", "[password~unter]", f"[machine:{KEY}]", "[machine>AKIAQ]"),
        *("title:ghp", "title:abcdefgh", "path:keys/AKIA", f"file:{KEY[:6]}", f"[alias:{KEY}]", "zebrafish"),
        *("[codename]", "[codename:zebrafish]", "[agents:false]"),
    ],
)
def test_search_by_a_secret_finds_nothing(query: str, agent: qmd.Index, whole: qmd.Index) -> None:
    assert whole.search(query, limit=None).hits
    assert not agent.search(query, limit=None).hits


@pytest.mark.parametrize(
    ("word", "other"),
    [
        (KEY, KEY.replace("EGR", "RGE")),
        ("Zx81", "Qj71"),
        ("hunter2xyz", "hxnter2xqz"),
        ("zebrafish", "zyxrafish"),
    ],
)
@pytest.mark.parametrize(
    "query", ["backup {}", "backup -{}", "server {} nightly", '"{}" backup', "login {}*"]
)
def test_words_of_secrets_count_like_words_that_no_document_has(
    query: str, word: str, other: str, agent: qmd.Index
) -> None:
    by_secret, by_nothing = (agent.search(query.format(each), limit=None).hits for each in (word, other))
    assert [(hit.file, hit.score) for hit in by_secret] == [(hit.file, hit.score) for hit in by_nothing]


def test_fields_whose_names_are_secrets_are_not_shown(
    agent: qmd.Index, whole: qmd.Index, notes: Notes
) -> None:
    token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    notes({"odd.md": f"---\n{token}: 5\nstatus: done\n---\n# Odd\n\nA note.\n"})
    whole.update()
    assert token in repr(whole.fields_of(["notes/odd.md"]))
    shown = repr(agent.fields_of(["notes/odd.md"]))
    assert "status" in shown
    assert token not in shown
    assert token not in repr(agent.search("odd", full=True))
    assert len(whole.search(f"[{token}>4]").hits) == 1
    assert not agent.search(f"[{token}>4]").hits
    with pytest.raises(qmd.QmdError, match="no document has the field"):
        agent.field_values(token)


def test_filter_by_a_mask_finds_the_documents_that_show_it(agent: qmd.Index) -> None:
    (shown,) = agent.field_values("machine").values
    assert KEY not in str(shown.value)
    assert [hit.file for hit in agent.search(f'[machine:"{shown.value}"]').hits] == ["notes/server.md"]


def test_filter_by_a_tag_finds_documents_beside_tags_that_are_secrets(
    agent: qmd.Index, whole: qmd.Index, notes: Notes
) -> None:
    notes({"tagged.md": f"---\ntags: [ops, {KEY}, team/{KEY}]\n---\n# Tagged\n\nA note.\n"})
    whole.update()

    def found(filter_: str) -> list[str]:
        return [hit.file for hit in agent.search(filter_).hits]

    assert found("tag:ops") == found("tag:team") == ["notes/tagged.md"]
    assert found(f"tag:{KEY}") == found(f"tag:team/{KEY}") == []
    assert len(whole.search(f"tag:{KEY}").hits) == 1


@pytest.mark.parametrize("filter_", ["[password:hunter2xyz]", "[machine~AKIA]", "title:ghp_abcd"])
def test_excluding_filter_leaves_out_nothing_by_a_secret(filter_: str, agent: qmd.Index) -> None:
    everything = {document.file for document in agent.documents()}
    assert {hit.file for hit in agent.search(f"-{filter_}", limit=None).hits} == everything


def test_document_with_a_word_in_text_and_in_secret_counts_once(
    whole: qmd.Index, agent: qmd.Index, notes: Notes
) -> None:
    notes(
        {"other.md": "# Other\n\nThe machine zx81 is old.\n", "both.md": f"# Both\n\npassword: {PASSWORD}1\n"}
    )
    whole.update()
    assert [hit.path for hit in agent.search("zx81", limit=None).hits] == ["other.md"]
    assert len(whole.search("zx81", limit=None).hits) == 3


@pytest.mark.parametrize(
    "reference", ["notes/kept.md", "kept.md", "kept", "Merger", f"notes/keys/{KEY}.md", KEY, "keys/AKIA*"]
)
def test_references_to_what_is_kept_name_nothing(reference: str, agent: qmd.Index, whole: qmd.Index) -> None:
    whole.multi_get(reference)
    with pytest.raises(qmd.QmdError) as raised:
        agent.multi_get(reference)
    assert "kept.md" not in str(raised.value).replace(reference, "")
    with pytest.raises(qmd.QmdError):
        agent.get(reference)


def test_masked_path_is_a_reference(agent: qmd.Index) -> None:
    (document,) = [each for each in agent.documents() if "[secret" in each.path]
    assert agent.get(document.file).text.startswith("# Path")


def test_kept_documents_do_not_count(agent: qmd.Index, whole: qmd.Index) -> None:
    assert (agent.status().total_documents, whole.status().total_documents) == (3, 4)
    assert "codename" not in [field.summary.name for field in agent.fields()]
    assert "kept from agents" in repr(whole.status()) or "agents do not have" in repr(whole.status())
    assert "agents: false" in repr(whole.why("kept.md", "search", qmd.SearchRequest("zebrafish")).notes)


def test_agent_may_neither_look_around_nor_change_who_sees_what(agent: qmd.Index) -> None:
    for refused in (
        lambda: agent.why("plain.md", "search", qmd.SearchRequest("plain")),
        lambda: agent.doctor(),
        lambda: agent.secrets(),
        lambda: agent.backup(),
        lambda: agent.set_agents("notes", True),
        lambda: agent.add_collection("/tmp"),
    ):
        with pytest.raises(qmd.ForbiddenError):
            refused()
    with pytest.raises(qmd.NotFoundError):
        agent.file_on_disk("notes/plain.md")
    assert agent.limited(["notes"]).get("server.md").text == agent.get("server.md").text


def test_collection_kept_from_agents_does_not_exist_for_them(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "# A\n\nheron\n"}, "open")), "open")
    index.add_collection(str(notes({"b.md": "# B\n\nheron heron\n"}, "diary")), "diary")
    index.set_agents("diary", False)
    agent = index.limited(agent=True)
    assert list(agent.config.collections) == ["open"]
    assert [hit.file for hit in agent.search("heron").hits] == ["open/a.md"]
    assert [hit.file for hit in index.search("heron", limit=5).hits] == ["diary/b.md", "open/a.md"]
    with pytest.raises(qmd.CollectionNotFoundError):
        agent.search("heron", collections=["diary"])
    index.set_agents("diary", True)
    assert len(agent.search("heron").hits) == 2


def test_secrets_lists_places_and_never_what_they_are(whole: qmd.Index) -> None:
    places = whole.secrets()
    assert ("notes/server.md", 9, "password") in [(each.file, each.line, each.kind) for each in places]
    assert (f"notes/keys/{KEY}.md", 0, "aws key") in [(each.file, each.line, each.kind) for each in places]
    assert not [each for each in places if PASSWORD in repr(each)]


def test_pins_of_kept_documents_are_not_listed_in_briefings(whole: qmd.Index) -> None:
    from qmd.features.agents.recall import briefing

    whole.pin("merger", "kept.md")
    whole.pin("plain", "plain.md")
    text = briefing(whole.limited(agent=True), None)
    assert "plain.md" in text
    assert "kept.md" not in text


def test_key_with_collections_does_not_count_kept_documents_of_others(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes({"a.md": "# A\n\nheron\n", "b.md": "# B\n\nwater\n"}, "open")), "open")
    before = index.limited(["open"], agent=True).search("heron water", limit=None)
    kept = {f"{number}.md": "---\nagents: false\n---\nheron heron\n" for number in range(5)}
    index.add_collection(str(notes(kept, "other")), "other")
    after = index.limited(["open"], agent=True).search("heron water", limit=None)
    assert [(hit.file, hit.score) for hit in after.hits] == [(hit.file, hit.score) for hit in before.hits]


def test_numbers_of_accounts_are_masked_as_soon_as_the_configuration_says_so(
    index: qmd.Index, notes: Notes
) -> None:
    number = "DE89 3704 0044 0532 0130 00"
    text = f"---\naccount: {number}\n---\n# Rent\n\nPay the rent to {number}, monthly.\n"
    index.add_collection(str(notes({"rent.md": text})), "notes")
    agent = index.limited(agent=True)
    asked = {
        "get": lambda: agent.get("notes/rent.md"),
        "search": lambda: agent.search("rent", full=True),
        "values": lambda: agent.field_values("account"),
        "pack": lambda: agent.pack("rent"),
    }
    assert all("0532" in repr(ask()) for ask in asked.values())
    assert [len(agent.search(query).hits) for query in ("[account~0532]", "0532")] == [1, 1]
    with open(index.locations.config, "a", encoding="utf-8") as file:
        file.write("agents:\n  mask: [iban]\n")
    assert not [name for name, ask in asked.items() if "0532" in repr(ask())]
    assert not [*agent.search("[account~0532]").hits, *agent.search("0532").hits]
    assert len(index.search("0532").hits) == 1
