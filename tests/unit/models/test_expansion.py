from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from qmd.errors import ModelError
from qmd.features.models.expansion import MAX_VARIANTS, parse_variants


def read(
    answer: str, query: str = "database backup", intent: str | None = None
) -> list[tuple[str | None, str]]:
    return [(variant.kind, variant.query) for variant in parse_variants(answer, query, "model", intent)]


def test_parse_variants_ignores_decoration() -> None:
    answer = (
        "<think>lex: backup thought</think>Here you go:\n```\n- **lex**: backup dump\n"
        "VEC: how is a backup made\n"
        "3. hyde: A backup is made at night.\n```\nI hope this backup helps!"
    )
    assert read(answer) == [
        ("lex", "backup dump"),
        ("vec", "how is a backup made"),
        ("hyde", "A backup is made at night."),
    ]


def test_parse_variants_drops_the_query_duplicates_and_unrelated_lines() -> None:
    answer = "lex: Database  Backup\nlex: backup dump\nvec: backup dump\nlex: sourdough bread\nvec:\n"
    assert read(answer) == [("lex", "backup dump")]


def test_parse_variants_keeps_word_forms_and_words_of_the_intent() -> None:
    assert read("lex: backups\nlex: postgres dump", intent="postgres") == [
        ("lex", "backups"),
        ("lex", "postgres dump"),
    ]


def test_parse_variants_relates_words_of_an_unspaced_script() -> None:
    assert read("lex: 備份策略\nlex: 番茄", "数据库备份") == [("lex", "備份策略")]


@pytest.mark.parametrize(
    ("query", "tied", "other"),
    [
        ("猫", "猫の餌", "犬の散歩"),
        ("パスワードを忘れた", "パスワードの再設定", "熟れたトマト"),
        ("どうやって検索するか", "全文検索の方法", "パンを焼くにはどうするか"),
        ("데이터베이스 백업", "백업을 복원하는 방법", "토마토를 심는 방법"),
        ("кошка", "чем кормить кошек", "как испечь хлеб"),
        ("δρόμος για το βουνό", "δρόμοι στα βουνά", "συνταγή ψωμιού"),
        ("สำรองฐานข้อมูล", "วิธีสำรองข้อมูล", "ขนมปัง"),
        ("डेटाबेस बैकअप", "बैकअप कैसे लें", "टमाटर उगाना"),
        ("sauvegarde de la base", "sauvegarder les données", "cuire du pain"),
    ],
)
def test_parse_variants_relates_words_in_any_language(query: str, tied: str, other: str) -> None:
    assert read(f"lex: {other}\nvec: {tied}", query) == [("vec", tied)]


@pytest.mark.parametrize("answer", ["", "no idea", "lex: the of and", "lex: sourdough"])
def test_parse_variants_refuses_output_without_a_related_line(answer: str) -> None:
    with pytest.raises(ModelError, match="wrote no line"):
        read(answer, "the database backup")


@given(st.text(), st.lists(st.sampled_from(["lex", "vec", "hyde", "", "other"])))
def test_parse_variants_returns_at_most_five_well_formed_variants(noise: str, kinds: list[str]) -> None:
    answer = "\n".join(f"{kind}: backup {at}{noise}" for at, kind in enumerate(kinds))
    try:
        variants = read(answer)
    except ModelError:
        return
    assert 0 < len(variants) <= MAX_VARIANTS
    assert all(kind in ("lex", "vec", "hyde") and "\n" not in text for kind, text in variants)
