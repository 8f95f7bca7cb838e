"""The numbers of sections in headings and queries."""

from __future__ import annotations

import pytest

from qmd.text.numbers import first_number, numbered_lines, numbers_in


@pytest.mark.parametrize(
    ("query", "heading", "alike"),
    [
        ("§ 433 BGB", "§ 433 Vertragstypische Pflichten", True),
        ("§433", "**§ 433**", True),
        ("§ 312a", "§ 312a Allgemeine Pflichten", True),
        ("§ 312a", "§ 312 Anwendungsbereich", False),
        ("Art. 5 Abs. 1 GG", "Artikel 5", True),
        ("Art. 5", "§ 5", False),
        ("RFC 9000 section 9.1", "9.1. Probing a New Path", True),
        ("section 9.1", "9.10. Other", False),
        ("sec. 3", "Section 3: Scope", True),
        ("section A.2", "A.2. Sample Code", True),
        ("Appendix B", "Appendix B. Changes", True),
        ("Annex II", "ANNEX II", True),
        ("Kapitel 3", "Kapitel III", True),
        ("2. Kapitel", "Kapitel 2", True),
        ("chapter 4", "CHAPTER IV.", True),
        ("chapter 4", "Section 4", False),
        ("article L121-1", "Article L. 121-1", True),
        ("民法典第1077条", "第一千零七十七条 【离婚冷静期】", True),
        ("第九条の二", "第9条の2", True),
        ("第三章", "第三条", False),
        ("제12조", "제 12 조 (목적)", True),
        ("附录A", "附录 A 术语", True),
        ("python 3.11", "3.11 Release", True),
        ("a part of the plan", "Part of it", False),
        ("section a server must read", "A. Server", False),
        ("ten tips", "10. Tips", False),
    ],
)
def test_numbers_are_compared_in_one_form(query: str, heading: str, alike: bool) -> None:
    number = first_number(heading)
    assert any(number and each.number.likeness(number) for each in numbers_in(query)) == alike


def test_lines_with_numbers_begin_sections_and_sentences_and_lists_do_not() -> None:
    text = (
        "Title\n\nSection 1. Scope\n\nSection 5 describes what\nfollows.\n\n§ 7 Abs. 2 gilt\n\n1. First\n\n"
        "2. Next\n\n9.1.  Probing a Path\n\n1.2 is a version\nand no heading\n\nsee\n§ 8 of it\n"
        "　第三条　为了\n第四条的规定\n"
    )
    assert [text[at:].split("\n")[0] for at, *_ in sorted(numbered_lines(text))] == [
        "Section 1. Scope",
        "§ 7 Abs. 2 gilt",
        "9.1.  Probing a Path",
        "第三条　为了",
    ]
