"""What the fields of a document say of its state."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from qmd.text.predicates import holds
from qmd.text.states import claims, conditions
from qmd.text.values import Value
from qmd.types.states import STATE_FIELDS, STATE_NAMES

NOW = "2026-03-07T10:00:00"


def line(fields: dict[str, tuple[Value, ...]], by: str = "") -> str:
    return claims(fields, STATE_FIELDS).state(by, NOW).line


@pytest.mark.parametrize(
    ("fields", "by", "expected"),
    [
        ({}, "", "current"),
        ({"status": ("published",)}, "", "current"),
        ({"status": ("Deprecated",)}, "", "deprecated"),
        ({"status": ("Superseded by [ADR 12](0012.md)",)}, "", "superseded"),
        ({"status": ("draft",)}, "notes/new.md", "superseded by notes/new.md"),
        ({"expires": ("2026-03-07",)}, "", "current"),
        ({"expires": ("2026-03-06",)}, "", "expired on 2026-03-06"),
        ({"valid-until": ("2026-03-07T09:59:59",)}, "", "expired on 2026-03-07T09:59:59"),
        ({"valid until": (2025.0,)}, "", "expired on 2025"),
        ({"valid_from": ("2026-03-08",), "status": ("draft",)}, "", "valid from 2026-03-08"),
        ({"valid_from": ("2026-03-07",)}, "", "current"),
        ({"status": ("draft", "archived")}, "", "archived"),
        ({"superseded_by": (False,)}, "", "current"),
    ],
)
def test_claims_make_the_state(fields: dict[str, tuple[Value, ...]], by: str, expected: str) -> None:
    assert line(fields, by) == expected


VALUES = st.one_of(
    st.text(max_size=40), st.booleans(), st.floats(allow_nan=False), st.sampled_from(STATE_NAMES)
)


@given(st.dictionaries(st.sampled_from([*STATE_FIELDS]), st.lists(VALUES, max_size=4).map(tuple)))
def test_any_values_make_a_state_which_the_values_that_stores_give_make_as_well(
    fields: dict[str, tuple[Value, ...]],
) -> None:
    given_by_store = {
        name: tuple(
            value
            for value in values
            if any(holds(each, value) for each in conditions(STATE_FIELDS) if each.field == name)
        )
        for name, values in fields.items()
    }
    found = claims(fields, STATE_FIELDS).state("", NOW)
    assert found.name in STATE_NAMES
    assert claims(given_by_store, STATE_FIELDS).state("", NOW) == found
