"""Scores mean the same in every language, in collections of any size, and of several languages."""

from __future__ import annotations

import pytest

import qmd
from qmd.ranking import bm25
from tests.conftest import Notes

#: A few notes about software in each language: a question that one answers, and everyday ones that none does.
NOTES = {
    "pl": {
        "kopia.md": "# Kopia zapasowa\n\nKażdej nocy zapisywana jest kopia bazy danych na innym dysku.\n",
        "haslo.md": "# Hasło\n\nZapomniane hasło można zresetować na stronie logowania.\n",
        "motyw.md": "# Motywy\n\nWygląd aplikacji można zmienić, wybierając motyw w ustawieniach.\n",
        "skroty.md": "# Skróty\n\nSkróty klawiszowe pozwalają szybciej pracować z notatkami.\n",
        "eksport.md": "# Eksport\n\nNotatki można zapisać do pliku PDF z menu aplikacji.\n",
    },
    "tr": {
        "yedek.md": "# Yedekleme\n\nVeritabanının bir kopyası her gece başka bir diske yazılır.\n",
        "parola.md": "# Parola\n\nUnutulan parola giriş sayfasından sıfırlanabilir.\n",
        "tema.md": "# Temalar\n\nUygulamanın görünümü ayarlardan bir tema seçilerek değiştirilebilir.\n",
        "kisayol.md": "# Kısayollar\n\nKlavye kısayolları notlarla daha hızlı çalışmayı sağlar.\n",
        "disa.md": "# Dışa aktarma\n\nNotlar uygulama menüsünden PDF dosyasına kaydedilebilir.\n",
    },
}
OWN = {
    "pl": ("jak zresetować zapomniane hasło", "haslo.md"),
    "tr": ("unutulan parola nasıl sıfırlanır", "parola.md"),
}
FAR = {
    "pl": ("Jak długo gotować jajko?", "Co pomaga na ból pleców?", "Ile kosztuje rozwód?"),
    "tr": ("Yumurta kaç dakika haşlanır?", "Sırt ağrısına ne iyi gelir?", "Boşanma ne kadar tutar?"),
}


def best(index: qmd.Index, kind: str, query: str) -> tuple[str, float]:
    hits = index.run(kind, qmd.SearchRequest(query, min_score=0.0, timeout=None)).hits
    return (hits[0].path, hits[0].score) if hits else ("", 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("languages", ["pl", "tr", "pl tr"])
@pytest.mark.parametrize("count", [1, 4])
def test_scores_mean_the_same_in_each_language(
    index: qmd.Index, notes: Notes, languages: str, count: int
) -> None:
    files = {
        f"{language}/{name}": text
        for language in languages.split()
        for name, text in [*NOTES[language].items()][1 : 1 + count]
    }
    index.add_collection(str(notes(files)), "notes")
    index.embed()
    for language in languages.split():
        query, path = OWN[language]
        for kind in ("vsearch", "query"):
            found, score = best(index, kind, query)
            assert (found, score >= 0.5) == (f"{language}/{path}", True), (kind, query, score)
            far = {each: best(index, kind, each)[1] for each in FAR[language]}
            assert max(far.values()) < 0.5, (kind, far)


@pytest.mark.slow
def test_question_in_another_language_than_the_notes_is_about_them(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(NOTES["pl"])), "notes")
    index.embed()
    path, score = best(index, "query", "how do I reset a password that I forgot")
    assert (path, score >= 0.5) == ("haslo.md", True), score
    assert best(index, "query", "how long should I boil an egg")[1] < 0.3


def test_words_without_a_subject_are_not_held_against_an_answer(index: qmd.Index, notes: Notes) -> None:
    more = {
        f"{number}.md": f"# Sürüm {number}\n\nBu sürüm ile gelen yeni özellik {number} burada anlatılır.\n"
        for number in range(60)
    }
    index.add_collection(str(notes(NOTES["tr"] | more)), "notes")
    path, plain = best(index, "search", "parola sıfırlanabilir")
    found, asked = best(index, "search", "acaba hangi parola nerede ve nasıl sıfırlanabilir")
    assert (path, found) == ("parola.md", "parola.md")
    assert asked >= 0.5 and plain >= 0.5, (plain, asked)


def test_chance_grows_with_the_documents_that_have_the_words() -> None:
    idf = [bm25.idf(1_000, containing) for containing in (2, 30, 400)]
    rare, some, common = (bm25.chance(1_000, [weight] * 8) for weight in idf)
    assert rare < some < common
    assert bm25.chance(0, []) == bm25.chance(5, []) == bm25.BY_CHANCE


@pytest.mark.parametrize("containing", [1, 7, 500, 1_000])
def test_share_with_a_term_is_that_of_its_weight(containing: int) -> None:
    assert bm25.share_with(1_000, bm25.idf(1_000, containing)) == pytest.approx(containing / 1_000)
