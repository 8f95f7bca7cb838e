"""The three notations of a filter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec import convert, to_builtins

from qmd.errors import UsageError
from qmd.text.filters import MAX_DEPTH, condition, from_json
from qmd.text.predicates import And, Comparison, Not, Or, Predicate, Written, describe, matches
from tests.questions import split


@pytest.mark.parametrize(
    ("query", "text", "filters"),
    [
        ("tag:work plans", "plans", "tag:work"),
        ("tag:#work/a -tag:old plans", "plans", "tag:work/a -tag:old"),
        ("path:ops/ restore", "restore", "path:ops/"),
        ("path:**/x.md y", "y", "path:**/x.md"),
        ("ext:.PDF file:readme x", "x", "ext:PDF file:readme"),
        ('author:"Ann Bee" title:"old news" x', "x", 'author:"Ann Bee" title:"old news"'),
        ('author:ann author:"Ann" x', "x", 'author:ann author:"Ann"'),
        ("after:2024-3 before:2025 x", "x", "after:2024-03 before:2025"),
        ("link:notes/a.md x", "x", "link:notes/a.md"),
        ("[status:draft,review] x", "x", "[status:draft,review]"),
        ('[status:"in progress"] x', "x", '[status:"in progress"]'),
        ("-[reviewed:*] [priority>=2] x", "x", "-[reviewed] [priority>=2]"),
        ('[reviewed!=*] [status:"*"] x', "x", "-[reviewed] [status:*]"),
        ("-[reviewed] [priority>=2]", "", "-[reviewed] [priority>=2]"),
        ("-[reviewed] [priority>=2] x", "-[reviewed] x", "[priority>=2]"),
        ("[title] of the page", "[title] of the page", None),
        ("[due!=2024] x", "x", "-[due:2024]"),
        ("“tag:work” x", "“tag:work” x", None),
        ('"tag:work" x', '"tag:work" x', None),
        ("http://a.b/c at 12:30", "http://a.b/c at 12:30", None),
        ("status:draft x", "status:draft x", None),
        ("after:soon author: x", "after:soon author: x", None),
        ("[1] [[a]] [ ] x", "[1] [[a]] [ ] x", None),
    ],
)
def test_split_separates_filters_from_a_query(query: str, text: str, filters: str | None) -> None:
    rest, predicate = split(query)
    assert rest == text
    assert (None if predicate is None else describe(predicate)) == filters


def test_split_leaves_brackets_with_unknown_fields_in_the_text() -> None:
    rest, predicate = split("tag:a [Nope:1] [b:1]", ["nope"])
    assert (rest, predicate and describe(predicate)) == ("[Nope:1]", "tag:a [b:1]")
    # A name filters only beside filters.
    rest, predicate = split("tag:a [b] [nope]", ["nope"])
    assert (rest, predicate and describe(predicate)) == ("[b] [nope]", "tag:a")


@given(st.text(max_size=200))
def test_split_never_fails(query: str) -> None:
    rest, predicate = split(query)
    assert predicate is not None or rest == query


@pytest.mark.parametrize(
    ("option", "predicate"),
    [
        ("status", Comparison("status", "exists")),
        ("Status = draft", Comparison("status", "eq", Written("draft"))),
        ("tags=#a", Comparison("tag", "eq", Written("a"))),
        ("n>=2", Comparison("n", "gte", Written("2"))),
        ("a.b~x", Comparison("a.b", "contains", Written("x"))),
        ("s!=a", Not(Comparison("s", "eq", Written("a")))),
        ("s=a,b", Or((Comparison("s", "eq", Written("a")), Comparison("s", "eq", Written("b"))))),
    ],
)
def test_condition_parses_options(option: str, predicate: object) -> None:
    assert condition(option) == predicate


def test_typed_operand_differs_from_json_text() -> None:
    typed, given = condition("n=2"), from_json({"field": "n", "operator": "eq", "value": "2"})
    assert typed != given
    assert len({typed, given}) == 2
    assert matches(typed, {"n": (2.0,)})
    assert not matches(given, {"n": (2.0,)})
    assert [convert(to_builtins(each), Predicate) for each in (typed, given)] == [typed, given]


@pytest.mark.parametrize("option", ["", "=x", "status=", "!", "a b c d:", "[x]"])
def test_condition_refuses_an_invalid_option_with_an_example(option: str) -> None:
    with pytest.raises(UsageError) as error:
        condition(option)
    assert "status=draft" in (error.value.hint or "")


LEAF = {"field": "status", "operator": "eq", "value": "draft"}


@pytest.mark.parametrize(
    ("filter", "text"),
    [
        (LEAF, "[status:draft]"),
        ({"key": "Status", "operator": "ne", "value": "draft"}, "-[status:draft]"),
        ({"field": "n", "operator": "in", "value": [1, 2.5]}, "[n:1,2.5]"),
        ({"field": "n", "operator": "nin", "value": [1]}, "-[n:1]"),
        ({"field": "t", "operator": "all", "value": ["a", "b"]}, "[t:a] [t:b]"),
        ({"field": "t", "operator": "exists"}, "[t]"),
        ({"field": "t", "operator": "exists", "value": False}, "-[t]"),
        ({"field": "t", "operator": "prefix", "value": "x"}, "[t prefix x]"),
        ({"operator": "not", "operands": [LEAF]}, "-[status:draft]"),
        (
            {"operator": "or", "operands": [LEAF, {"field": "x", "operator": "exists"}]},
            "[status:draft] or [x]",
        ),
    ],
)
def test_from_json_reads_filters(filter: dict[str, Any], text: str) -> None:
    assert describe(from_json(filter)) == text
    assert from_json(json.dumps(filter)) == from_json(filter)


def nested(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = dict(LEAF)
    for _ in range(depth):
        node = {"operator": "not", "operands": [node]}
    return node


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ("{", "filter: not valid JSON"),
        ("[" * 100_000, "nested deeper"),
        ([], "filter: must be an object"),
        ({}, "filter.field: must be the name"),
        ({"field": "a", "operator": "eqq", "value": 1}, "filter.operator: unknown"),
        ({"field": "a", "operator": "eq"}, "filter.value is missing"),
        ({"field": "a", "operator": "eq", "value": None}, "filter.value: must be"),
        ({"field": "a", "operator": "in", "value": "x"}, "filter.value: must be a list"),
        ({"field": "a", "operator": "contains", "value": 1}, "filter.value: must be a text"),
        ({"operator": "and", "operands": []}, "filter.operands: must be a list"),
        ({"operator": "and", "operands": [LEAF, {"x": 1}]}, "filter.operands[1]: unknown key"),
        ({"operator": "or", "operands": [LEAF] * 300}, "more than 256 conditions"),
        ({"field": "a", "operator": "in", "value": ["x"] * 300}, "more than 256 conditions"),
        (nested(MAX_DEPTH), "nested deeper"),
        (nested(1_000), "nested deeper"),
    ],
)
def test_from_json_refuses_invalid_filters_with_their_place(filter: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        from_json(filter)
    assert error.value.message.startswith(message) or message in error.value.message


def test_from_json_suggests_the_nearest_operator() -> None:
    with pytest.raises(UsageError) as error:
        from_json({"field": "a", "operator": "contain", "value": "x"})
    assert "did you mean 'contains'?" in (error.value.hint or "")


FIELDS = {
    "status": ("Draft",),
    "tag": ("work/meeting", "homework"),
    "priority": (2.0,),
    "done": (True,),
    "due": ("2024-06-15",),
    "seen": ("2024-06-15T10:00:00",),
}


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("[status:draft]", True),
        ("[status:dra]", False),
        ("[status~raf]", True),
        ("tag:work", True),
        ("tag:home", False),
        ("[priority:2]", True),
        ("[priority>=2] [priority<3] [priority<=2.0]", True),
        ("[priority>2]", False),
        ("[status>=2]", False),
        ("[done:true]", True),
        ("[done:1]", False),
        ("[due:2024-06] [seen:2024-06] [due:2024]", True),
        ("[due>=2024-06] [due<=2024-06] [due<2024-07]", True),
        ("[due>2024-06]", False),
        ("[seen:2024-06-15T10] -[seen:2024-06-15T11]", True),
        ("[missing]", False),
        ("-[missing] [missing!=x]", True),
    ],
)
def test_matches_compares_typed_values_by_type(query: str, holds: bool) -> None:
    _, predicate = split(query)
    assert predicate is not None
    assert matches(predicate, FIELDS) is holds


@pytest.mark.parametrize(
    ("leaf", "holds"),
    [
        ({"field": "priority", "operator": "eq", "value": 2}, True),
        ({"field": "priority", "operator": "eq", "value": "2"}, False),
        ({"field": "status", "operator": "gte", "value": 1}, False),
        ({"field": "done", "operator": "eq", "value": 1}, False),
        ({"field": "due", "operator": "lt", "value": "2024-07"}, True),
        ({"field": "due", "operator": "eq", "value": 2024}, False),
        ({"field": "tag", "operator": "all", "value": ["work", "homework"]}, True),
    ],
)
def test_matches_compares_json_values_by_type(leaf: dict[str, Any], holds: bool) -> None:
    assert matches(from_json(leaf), FIELDS) is holds


def test_filters_of_a_query_are_combined_with_and() -> None:
    _, predicate = split("tag:a tag:b")
    assert predicate == And((Comparison("tag", "eq", "a"), Comparison("tag", "eq", "b")))
