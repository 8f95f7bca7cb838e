"""Documents have a language, and words are found in their other forms in it."""

from __future__ import annotations

from importlib.resources import files

import pytest

import qmd
from qmd.text.query import as_typed, parse
from qmd.text.tokens import fold
from tests.conftest import Notes

GERMAN = {
    "kuendigung.md": "# Frist\n\nDie Kündigung ist nur bis zum Ende des Monats möglich und wird bestätigt.\n",
    "urlaub.md": "# Urlaub\n\nDer Urlaub der Mitarbeiter wird mit dem Leiter geplant, damit er gelingt.\n",
    "miete.md": "# Wohnung\n\nWenn die Wohnung einen Mangel hat, ist eine Minderung der Miete möglich.\n",
}
FRENCH = {"contrat.md": "# Bail\n\nLe locataire est tenu de payer le loyer et les charges dans les délais.\n"}
ENGLISH = {"lease.md": "# Lease\n\nThe tenant has to pay the rent and all of the charges within a month.\n"}


@pytest.mark.parametrize("name", ["stop_words.txt", "function_words.txt"])
def test_words_that_tell_a_language_are_listed_as_they_are_folded_too(name: str) -> None:
    words = [
        word
        for line in (files("qmd.text") / name).read_text("utf-8").split("\n")
        if not line.startswith("#")
        for word in line.split()[1:]
    ]
    assert {fold(word) for word in words} <= {*words}


def test_word_with_signs_of_vowels_is_one_word_of_a_query() -> None:
    assert [term.words for term in parse("प्रीस्टले खोजकर्ता").terms] == [("प्रीस्टले",), ("खोजकर्ता",)]


def paths(response: qmd.SearchResponse) -> list[str]:
    return [hit.path for hit in response.hits]


def forms(response: qmd.SearchResponse) -> str | None:
    return next((stage.reason for stage in response.stages if stage.stage == "forms"), None)


@pytest.fixture
def german(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes(GERMAN)), "notes")
    return index


@pytest.mark.parametrize(
    ("query", "found", "shown"),
    [
        ("Kündigungen", "kuendigung.md", "Kündigung"),
        ("kündigen Monate", "kuendigung.md", "Kündigung"),
        ("Mängeln", "miete.md", "Mangel"),
        ("Urlaubs Mitarbeitern", "urlaub.md", "Mitarbeiter"),
        ("Mietminderung", "miete.md", "Minderung"),
    ],
)
def test_search_finds_other_forms_of_words_in_the_language_of_the_documents(
    german: qmd.Index, query: str, found: str, shown: str
) -> None:
    response = german.search(query)
    assert paths(response)[0] == found
    assert shown in response.hits[0].snippet.text
    assert forms(response)


@pytest.mark.parametrize(
    ("prose", "word", "query"),
    [
        ("To jest tekst, który jest na dysku i nie jest długi.", "notatka", "notatkami"),
        ("Bu belge için bir açıklama var ve daha çok uzun.", "kitaplar", "kitap"),
        ("यह सूची बहुत लंबी है और वह भी है।", "किताबों", "किताब"),
        ("Tento text je na disku a také není velmi dlouhý, protože se to tak má.", "poznámky", "poznámkami"),
        ("Acest text este pentru toate cele care au fost scrise.", "cărți", "cărților"),
    ],
)
def test_search_finds_other_forms_in_more_languages(
    index: qmd.Index, notes: Notes, prose: str, word: str, query: str
) -> None:
    files = {"with.md": f"{prose} {word} {prose}\n", "without.md": f"{prose} {prose}\n"}
    index.add_collection(str(notes(files)), "notes")
    response = index.search(query)
    assert (paths(response), bool(forms(response))) == (["with.md"], True)


def test_word_as_it_was_typed_is_before_its_frequent_forms(index: qmd.Index, notes: Notes) -> None:
    files = {
        f"{number}.md": f"Notatki i notatki w szafie, i to jest {number} z nich.\n" for number in range(9)
    }
    files["typed.md"] = "To jest notatka, która jest w szafie, i nie jest to krótki tekst, ale długi.\n"
    index.add_collection(str(notes(files)), "notes")
    response = index.search("notatka szafa lampa")
    assert (paths(response)[0], len(response.hits)) == ("typed.md", 10)


def test_search_leaves_words_that_are_quoted_as_they_are(german: qmd.Index) -> None:
    response = german.search('"Kündigungen"')
    assert not response.hits and forms(response) is None


def test_search_needs_no_words_without_a_subject_in_the_language_of_a_query(german: qmd.Index) -> None:
    assert paths(german.search("Wann ist denn eine Minderung möglich?"))[0] == "miete.md"


def test_search_in_english_adds_no_forms_of_other_languages(index: qmd.Index, notes: Notes) -> None:
    index.add_collection(str(notes(GERMAN | ENGLISH)), "notes")
    response = index.search("the charges of the rent")
    assert paths(response)[0] == "lease.md" and forms(response) is None


def test_filter_lang_finds_documents_by_the_language_that_their_text_is_in(
    index: qmd.Index, notes: Notes
) -> None:
    stated = {"stated.md": "---\nlang: pt-BR\n---\n# Aluguel\n\nx\n"}
    index.add_collection(str(notes(GERMAN | FRENCH | ENGLISH | stated)), "notes")
    assert index.status().languages == {"de": 3, "en": 1, "fr": 1, "pt": 1}
    assert paths(index.search("lang:fr")) == ["contrat.md"]
    assert sorted(paths(index.search("", lang="fr,pt"))) == ["contrat.md", "stated.md"]


def test_language_of_a_collection_is_that_of_texts_that_do_not_state_one(
    index: qmd.Index, notes: Notes
) -> None:
    folder = notes({"a.md": "# Fristen\n", "b.md": "---\nlang: fr\n---\n# Délais\n"})
    index.add_collection(str(folder), "notes", language="de")
    assert index.status().languages == {"de": 1, "fr": 1}
    assert paths(index.search("Frist")) == ["a.md"]


def test_language_of_a_collection_must_be_one(index: qmd.Index, notes: Notes) -> None:
    with pytest.raises(qmd.UsageError, match="Unknown language: 'german'"):
        index.add_collection(str(notes(GERMAN)), "notes", language="german")


#: Words whose terms have lost an ending, or are spelled otherwise, and some that are no words of a sentence.
VOCABULARY = {
    "en": "attention information configuration publishing security happiness organizationally running hoping"
    " willing canned theirs thesis overview owned dying skies ads agreed communism usefulness relational",
    "de": "Bestätigungen Organisation kündigen möglicherweise Straßen Überblicks",
    "nl": "vergaderingen belastingen mogelijkheden informatief",
    "sv": "anställningar möjligheter organisationen",
    "da": "forsikringer oplysninger bekræftelse",
    "no": "bekreftelser årsmøtene organisasjonene",
    "fi": "kokouksissa organisaatioissa tietoturvallisuus",
    "fr": "organisations élections activités publiquement",
    "es": "publicaciones configurable informaciones año",
    "it": "pubblicazioni organizzazione possibilità",
    "pt": "publicações configurações informativo",
    "ru": "уведомления организациями ёлки й",
}


@pytest.mark.slow
def test_document_stays_in_the_list_while_any_of_its_words_is_typed(index: qmd.Index, notes: Notes) -> None:
    files = {
        f"{language}/{number}.md": f"{word}\n"
        for language, words in VOCABULARY.items()
        for number, word in enumerate(words.split())
    }
    index.add_collection(str(notes(files)), "notes")
    lost = {
        beginning: path
        for path, text in files.items()
        for end in range(3, len(text))
        for beginning in {as_typed(text[:end]), f"{text[:end]}*", f'"{text[:end]}"*'}
        if path not in paths(index.search(beginning, limit=None))
    }
    assert not lost


def test_word_without_a_subject_completes_a_beginning_less_than_others(
    index: qmd.Index, notes: Notes
) -> None:
    files = {"william.md": "William wrote.\n"} | {f"{number}.md": "They will write.\n" for number in range(9)}
    index.add_collection(str(notes(files)), "notes")
    found = index.search("willi*", limit=None).hits
    assert (found[0].path, len(found)) == ("william.md", len(files))
    assert found[0].score > 3 * found[1].score


#: Prose of a few languages, as the page of a project that is translated into many.
_PROSE_OF = {
    "ko": "명령줄을 능숙하게 다루는 것은 엔지니어에게 자주 간과되는 기술이지만 생산성을 높여 줍니다. ",
    "uk": "Цей документ описує, як користуватися командним рядком, і він написаний для початківців, які. ",
    "tr": "Bu belge, komut satırının nasıl kullanılacağını anlatır ve yeni başlayanlar için bir giriş. ",
    "cs": "Tento dokument popisuje, jak se používá příkazová řádka, a je určen pro začátečníky, kteří. ",
    "hu": "Ez a dokumentum leírja, hogy hogyan kell használni a parancssort, és azoknak készült, akik. ",
    "ro": "Acest document descrie cum se folosește linia de comandă și este scris pentru cei care nu au. ",
    "vi": "Tài liệu này mô tả cách sử dụng dòng lệnh và được viết cho những người mới bắt đầu không có. ",
    "id": "Dokumen ini menjelaskan cara menggunakan baris perintah dan ditulis untuk pemula yang belum. ",
    "fa": "این سند توضیح می‌دهد که چگونه از خط فرمان استفاده کنید و برای مبتدیان نوشته شده است. ",
    "bg": "Този документ описва как се използва командният ред и е написан за начинаещи, които нямат. ",
}
_OTHER_LANGUAGES = " ∙ ".join(
    f"[{name}](README-{code}.md)"
    for code, name in {
        "cs": "Čeština", "de": "Deutsch", "en": "English", "es": "Español", "ja": "日本語", "ko": "한국어",
        "pt": "Português", "ru": "Русский", "uk": "Українська", "zh": "简体中文",
    }.items()
)  # fmt: skip
_BADGES = "\n".join(
    f"[![Build {n}](https://ci.example.org/{n}.svg)](https://ci.example.org/{n})" for n in range(12)
)
_CODE = "```python\n" + "for the_line in this_file:  # it is that of the one which has\n" * 40 + "```\n\n"
_FORMULAS = "$the of and to in is$ and `that it for on` here. "


@pytest.mark.parametrize("code", _PROSE_OF)
@pytest.mark.parametrize("times", [4, 30])
def test_language_is_that_of_the_prose(index: qmd.Index, notes: Notes, code: str, times: int) -> None:
    text = (
        f"{_OTHER_LANGUAGES}\n\n# The Art\n\n{_BADGES}\n\n{_CODE}{_FORMULAS}\n\n{_PROSE_OF[code] * times}\n"
    )
    index.add_collection(str(notes({"a.md": text})), "notes")
    assert index.status().languages == {code: 1}


@pytest.mark.parametrize(
    "text", [_CODE, f"# Links\n\n{_OTHER_LANGUAGES}\n", "x = i\n" * 60, "# OK\n\n1 2 3 4\n"]
)
def test_language_without_prose_is_not_known(index: qmd.Index, notes: Notes, text: str) -> None:
    index.add_collection(str(notes({"a.md": text})), "notes")
    assert index.status().languages == {}
