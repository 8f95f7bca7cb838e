"""Filters, fields, links and sections over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from qmd.text.filters import OPERATORS
from tests.clients import Client, server_of
from tests.library import add_vault
from tests.users import MakeUser

DRAFT = {"field": "status", "operator": "eq", "value": "draft"}


@pytest.fixture(scope="module")
def vault(make_user: MakeUser) -> Iterator[Client]:
    with server_of(add_vault(make_user("http-vault"))) as server:
        yield server


def files(found: Any) -> list[str]:
    return [hit["file"] for hit in found["results"]]


@pytest.mark.parametrize("path", ["/search", "/query"])
def test_filter_limits_a_search(vault: Client, path: str) -> None:
    drafts = ["notes/ops/run.md", "notes/plan.md"]
    assert sorted(files(vault.post(path, query="kestrel", filter=DRAFT))) == drafts
    old = {"operator": "not", "operands": [{"key": "date", "operator": "gte", "value": "2026"}]}
    both = {"operator": "and", "operands": [DRAFT, old]}
    assert files(vault.post(path, query="kestrel", filter=both)) == ["notes/ops/run.md"]
    # The filter, the options and the typed filters apply together.
    assert files(vault.post(path, query="kestrel [priority>=2]", filter=DRAFT, after="2026")) == [
        "notes/plan.md"
    ]
    number = {"field": "priority", "operator": "in", "value": [1, 7]}
    assert files(vault.post(path, query="kestrel", filter=number)) == ["notes/Budget.md"]


def test_null_filter_counts_as_not_given(vault: Client) -> None:
    fields: dict[str, Any] = {"query": "kestrel", "filter": None}
    assert vault.ok("POST", "/search", fields) == vault.post("/search", query="kestrel")


@pytest.mark.parametrize("text", ["status:draft", "[]", "5"])
def test_filter_of_another_type_is_refused(vault: Client, text: str) -> None:
    value = json.loads(text) if text != "status:draft" else text
    assert vault.refused(400, "/search", query="x", filter=value) == "filter: input should be an object"


def nested(depth: int) -> Any:
    return DRAFT if depth == 1 else {"operator": "not", "operands": [nested(depth - 1)]}


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({}, "filter.field: must be the name of a field, not null"),
        ({"field": "status", "operator": "eq"}, "filter.value is missing"),
        ({"field": "status", "operator": "equal", "value": 1}, 'filter.operator: unknown: "equal"'),
        ({"operator": "and", "operands": []}, "filter.operands: must be a list of conditions"),
        ({"operator": "or", "operands": [DRAFT, {"field": " "}]}, "filter.operands[1].field: must be"),
        (DRAFT | {"color": "red"}, 'filter: unknown key "color"'),
        (nested(17), "filter: nested deeper than 16 levels"),
        ({"operator": "and", "operands": [DRAFT] * 256}, "filter: more than 256 conditions"),
        ({"operator": "and", "operands": [DRAFT] * 257}, "filter: more than 256 conditions"),
        (DRAFT | {"value": "x" * 100_000}, "filter: longer than 100,000 characters"),
    ],
)
def test_invalid_filter_is_refused_in_one_line_that_names_the_part(
    vault: Client, given: Any, detail: str
) -> None:
    for path in ("/search", "/vsearch", "/query"):
        told = vault.refused(400, path, query="kestrel", filter=given)
        assert told.startswith(detail)
        assert "\n" not in told


def test_largest_filters_are_accepted(vault: Client) -> None:
    many = {"operator": "or", "operands": [DRAFT] * 255}
    assert len(files(vault.post("/search", query="kestrel", filter=many))) == 2
    assert len(files(vault.post("/search", query="kestrel", filter=nested(15)))) == 2


CONDITIONS = [
    DRAFT,
    {"operator": "not", "operands": [{"operator": "or", "operands": [DRAFT, DRAFT]}]},
    {"field": "a", "operator": "exists"},
    {"field": "a", "operator": "exists", "value": False},
    {"field": "a", "operator": "exists", "value": "no"},
    {"field": "a", "operator": "in", "value": []},
    {"field": "a", "operator": "in", "value": "x"},
    {"field": "a", "operator": "eq", "value": None},
    {"field": "a", "operator": "eq", "value": ["x"]},
    {"field": "a", "operator": "eq", "value": 1.5},
    {"field": "a", "operator": "prefix", "value": 1},
    {"field": "", "operator": "eq", "value": "x"},
    {"field": 5, "operator": "eq", "value": "x"},
    {"operator": "and"},
    {"operator": "and", "operands": [DRAFT], "field": "x"},
    *({"field": "tag", "operator": operator, "value": ["x"]} for operator in OPERATORS),
    *({"field": "tag", "operator": operator, "value": "x"} for operator in OPERATORS),
]


@pytest.mark.parametrize("given", CONDITIONS, ids=json.dumps)
def test_openapi_schema_of_filters_accepts_what_the_server_accepts(vault: Client, given: Any) -> None:
    known = vault.ok("GET", "/openapi.json")["components"]["schemas"]
    schema = {"$ref": "#/components/schemas/Filter", "components": {"schemas": known}}
    answer = vault.ask("POST", "/search", {"query": "kestrel", "filter": given})
    # A valid filter can still name a field that no document has.
    assert (answer.status in (200, 404)) == Draft202012Validator(schema).is_valid(given)


def test_facets_count_values_among_the_matches(vault: Client) -> None:
    found = vault.post("/search", query="kestrel", limit=1, facets=["status", "priority", "year", "none"])
    assert found["facets"] == {
        "status": [
            {"value": "draft", "documents": 2},
            {"value": "published", "documents": 1},
            {"value": "secret", "documents": 1},
        ],
        "priority": [{"value": 1, "documents": 1}, {"value": 2, "documents": 1}],
        "year": [{"value": year, "documents": 1} for year in ("2023", "2024", "2025", "2026")],
        "none": [],
    }
    assert "facets" not in vault.post("/search", query="kestrel")
    assert "facets" in vault.post("/query", query="kestrel", facets=["tag"])
    told = vault.refused(400, "/search", query="kestrel", facets=["a"] * 21)
    assert told.startswith("facets: list should have at most 20 items")


def test_fields_endpoint_lists_fields_with_their_values(vault: Client) -> None:
    found = vault.ok("GET", "/fields?collection=notes")
    assert found["left_out"] == 0
    by_name = {field["name"]: field for field in found["fields"]}
    assert by_name["status"] == {
        "name": "status",
        "types": ["text"],
        "documents": 3,
        "distinct": 2,
        "values": [{"value": "draft", "documents": 2}, {"value": "published", "documents": 1}],
    }
    assert by_name["priority"]["values"] == [{"value": 1, "documents": 1}, {"value": 2, "documents": 1}]
    everywhere = vault.ok("GET", "/fields")["fields"]
    assert {field["name"]: field["distinct"] for field in everywhere}["status"] == 3
    assert [field["documents"] for field in everywhere] == sorted(
        (field["documents"] for field in everywhere), reverse=True
    )
    first = vault.ok("GET", "/fields?limit=1")
    assert (len(first["fields"]), first["left_out"]) == (1, len(everywhere) - 1)
    second = vault.ok("GET", "/fields?limit=1&offset=1")
    assert (second["fields"], second["left_out"]) == ([everywhere[1]], len(everywhere) - 2)


def test_field_endpoint_lists_all_values_of_a_field(vault: Client) -> None:
    field = vault.ok("GET", "/fields/Status?limit=2")
    assert (field["name"], field["distinct"], len(field["values"])) == ("status", 3, 2)
    rest = vault.ok("GET", "/fields/Status?limit=2&offset=2")["values"]
    assert len(rest) == 1 and rest[0] not in field["values"]
    assert len(vault.ok("GET", "/fields/status?collection=work")["values"]) == 1


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        ("/fields?limit=0", 400, "limit: input should be greater than or equal to 1, not 0"),
        ("/fields?limit=1001", 400, "limit: input should be less than or equal to 1000, not 1001"),
        ("/fields?limit=ten", 400, 'limit: input should be a valid integer, not "ten"'),
        ("/fields?limit=1&limit=2", 400, "limit: given more than once"),
        (
            "/fields?size=1",
            400,
            "size: unknown parameter (did you mean limit?); known parameters: limit, offset, collection",
        ),
        ("/fields?collection=nots", 404, "Collection not found: nots (did you mean 'notes'?"),
        ("/fields/statsu", 404, "no document has the field 'statsu' (did you mean 'status'?"),
        ("/documents/plam.md/links", 404, "Document not found: plam.md"),
        ("/documents/notes/plan.md/links?collection=a", 400, "collection: unknown parameter; known"),
        ("/documents/notes/plan.md/outline?limit=1", 400, "limit: unknown parameter"),
    ],
)
def test_invalid_parameters_are_refused_by_name(vault: Client, path: str, status: int, detail: str) -> None:
    assert vault.ask("GET", path).detail(status).startswith(detail)


def test_links_endpoint_lists_links_and_backlinks(vault: Client) -> None:
    wiki = {"kind": "wikilink", "line": 9}
    assert vault.ok("GET", "/documents/notes/plan.md/links") == {
        "links": [
            {"to": "notes/Budget.md", "target": "Budget", **wiki},
            {"to": "notes/ops/run.md", "target": "ops/run.md", "line": 9, "kind": "markdown"},
            {"to": None, "target": "Missing", **wiki},
        ],
        "links_left_out": 0,
        "backlinks": [{"file": "notes/Budget.md", "target": "plan#Plan", **wiki}],
        "backlinks_left_out": 0,
    }
    # A reference of another form, encoded.
    assert vault.ok("GET", "/documents/qmd%3A%2F%2Fnotes%2Fplan.md/links")["links_left_out"] == 0


def test_links_endpoint_limits_its_lists(vault: Client) -> None:
    found = vault.ok("GET", "/documents/links/00.md/links?limit=3")
    assert [link["file"] for link in found["backlinks"]] == ["links/01.md", "links/02.md", "links/03.md"]
    assert (found["links_left_out"], found["backlinks_left_out"]) == (0, 27)
    hub = vault.ok("GET", "/documents/hub.md/links?limit=1")
    assert (len(hub["links"]), hub["links_left_out"]) == (1, 29)


def test_link_filter_finds_documents_that_link_to_a_target(vault: Client) -> None:
    assert files(vault.post("/search", query="link:notes/plan.md")) == ["notes/Budget.md"]
    assert vault.refused(404, "/search", query="link:nothing.md") == "Document not found: nothing.md"


def test_outline_endpoint_lists_the_sections(vault: Client) -> None:
    assert vault.ok("GET", "/documents/ops/run.md/outline") == {
        "file": "notes/ops/run.md",
        "sections": [
            {"heading": "Operations", "level": 1, "first_line": 5, "last_line": 17},
            {"heading": "Backups", "level": 2, "first_line": 7, "last_line": 14},
            {"heading": "Restoring", "level": 3, "first_line": 11, "last_line": 14},
            {"heading": "Deploy", "level": 2, "first_line": 15, "last_line": 17},
        ],
    }
