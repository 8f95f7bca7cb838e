"""The passages of hits: their choice, number and order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

import qmd
from qmd.types import Snippet
from tests.conftest import Notes

FILLER = "The committee met on the usual day and wrote down what everybody had said about it.\n\n" * 40
LONG = (
    "# Minutes\n\n"
    "Budget: the committee discussed the budget of the garden at length.\n\n"
    + FILLER
    + "## Herons\n\nThe herons nest in the old oak since 1987.\n\n"
    + FILLER
    + "## Repairs\n\nThe committee repaired the nest boxes of the garden.\n"
)


@pytest.fixture
def minutes(index: qmd.Index, notes: Notes) -> qmd.Index:
    index.add_collection(str(notes({"minutes.md": LONG})), "notes")
    return index


def lines_of(passage: Snippet) -> range:
    return range(passage.first_line, passage.first_line + passage.text.count("\n") + 1)


def test_snippet_is_chosen_by_words_rare_in_the_document(minutes: qmd.Index) -> None:
    [hit] = minutes.search("committee herons").hits
    assert "herons nest in the old oak" in hit.snippet.text
    assert (hit.section, LONG.split("\n")[hit.line - 1][:10]) == ("Minutes > Herons", "## Herons")


def test_hit_has_the_requested_number_of_passages_without_overlap(minutes: qmd.Index) -> None:
    [hit] = minutes.search("garden nest", passages=3).hits
    assert hit.snippet == hit.passages[0]
    assert [passage.score for passage in hit.passages] == sorted(
        (passage.score for passage in hit.passages), reverse=True
    )
    assert "nest boxes of the garden" in hit.passages[0].text
    shown = [line for passage in hit.passages for line in lines_of(passage)]
    assert len(hit.passages) == 3
    assert len(shown) == len({*shown})


def test_snippet_is_the_passage_whose_neighbours_are_about_the_query(index: qmd.Index, notes: Notes) -> None:
    sections = "".join(
        f"{FILLER}## The {name} in winter\n\n{'Cover the soil with leaves. ' * 7}\n\n"
        f"The {what} needs water once a week, and a place that is warm and bright.\n\n"
        for name, what in (("fig", "tree in the pot"), ("lemon", "tree in the pot"), ("olive", "olive"))
    )
    index.add_collection(str(notes({"trees.md": f"{sections}{FILLER}"})), "notes")
    [hit] = index.search("water tree pot lemon").hits
    assert "tree in the pot needs water" in hit.snippet.text
    assert hit.section == "The lemon in winter"


@pytest.mark.parametrize(
    ("article", "chapter", "sentence"),
    [
        ("第{}条　", "房屋的租赁", "房屋的{}和租赁应当登记。"),
        ("§ {} ", "Letting of houses", "Houses of kind {} for letting shall be registered there."),
    ],
)
def test_numbered_sentences_are_no_headings(
    index: qmd.Index, notes: Notes, article: str, chapter: str, sentence: str
) -> None:
    articles = [article.format(number) + sentence.format(number) for number in range(1, 200)]
    articles[150:150] = [f"## {chapter}", "Lessors and tenants agree on the rent. 承租人支付租金。"]
    index.add_collection(str(notes({"law.md": "# Law\n\n" + "\n\n".join(articles)})), "notes")
    [hit] = index.search(chapter).hits
    assert chapter in hit.section
    [hit] = index.search(f"law {article.format(77)}").hits
    assert sentence.format(77) in hit.snippet.text


def test_words_of_a_name_need_not_stand_at_the_place_that_was_asked_for(
    index: qmd.Index, notes: Notes
) -> None:
    articles = "".join(
        f"第{number}条　任何人不得违反本条的规定，违反者依照规定处罚。\n\n" for number in "一二三四五六七八九"
    )
    far = "依照刑法的规定处罚。\n\n"
    refers = f"{articles * 9}依照刑法第一百七十九条的规定。\n\n{articles * 9}"
    own = f"{far * 3}{articles * 9}第一百七十九条　擅自发行股票的，处五年以下有期徒刑。\n\n{articles * 9}"
    files = {
        "刑法.md": f"# 中华人民共和国刑法\n\n{own}",
        "诉讼法.md": f"# 中华人民共和国刑事诉讼法\n\n{refers}",
    }
    files |= {f"{number}.md": f"# 规定{number}\n\n{articles * 9}" for number in range(9)}
    index.add_collection(str(notes(files)), "laws")
    assert index.search("刑法第一百七十九条").hits[0].path == "刑法.md"


@pytest.mark.parametrize("query", ["connections", "The connections"])
def test_heading_that_is_the_query_comes_before_those_that_only_name_it(
    index: qmd.Index, notes: Notes, query: str
) -> None:
    text = (
        f"# Protocol\n\n## 4 Lost connections\n\nConnections and connections are lost.\n{FILLER}"
        f"## 5 Connections\n\nThey are opened by a client.\n{FILLER}"
        f"### 5.1 Matching connections\n\nConnections have connections.\n{FILLER}"
    )
    index.add_collection(str(notes({"protocol.md": text})), "notes")
    [hit] = index.search(query).hits
    assert hit.section.endswith("5 Connections")


def test_repeated_page_is_shown_once_where_it_comes_first(index: qmd.Index, notes: Notes) -> None:
    page = "The herons nest in the old oak since 1987, and every spring they return to it from the coast.\n\n"
    text = f"{FILLER}{page}{FILLER}{page}{FILLER}Herons are shy.\n"
    index.add_collection(str(notes({"diary.md": text})), "notes")
    [hit] = index.search("herons nest oak", passages=3).hits
    assert hit.line == FILLER.count("\n") + 1
    assert sum("herons nest" in passage.text for passage in hit.passages) == 1
    assert any("Herons are shy" in passage.text for passage in hit.passages)


def test_repeated_text_under_another_heading_is_another_passage(index: qmd.Index, notes: Notes) -> None:
    page = (
        "Press the left button for ten seconds, until the lamp is green, and then wait for the second sound."
    )
    text = "".join(f"## Reset the {name}\n\n{page}\n\n{FILLER}" for name in ("radio", "oven", "clock"))
    index.add_collection(str(notes({"manual.md": text})), "notes")
    [hit] = index.search("reset clock button lamp").hits
    assert page in hit.snippet.text
    assert hit.section == "Reset the clock"


def test_passages_of_a_file_of_one_line_do_not_overlap(index: qmd.Index, notes: Notes) -> None:
    filler = FILLER.replace("\n", " ")
    index.add_collection(
        str(notes({"line.md": f"The heron nests.{filler}A heron flies.{filler}A heron swims. {filler}"})),
        "notes",
    )
    [hit] = index.search("heron", passages=3).hits
    assert [sum("heron" in passage.text for passage in hit.passages)] == [3]
    assert len({passage.text for passage in hit.passages}) == 3


def test_passages_are_in_reading_order_on_request(minutes: qmd.Index) -> None:
    [hit] = minutes.search("garden nest", passages=3, in_order=True).hits
    lines = [passage.first_line for passage in hit.passages]
    assert lines == sorted(lines)
    assert "nest boxes of the garden" in hit.snippet.text


def test_context_lines_surround_the_matching_line(minutes: qmd.Index) -> None:
    [hit] = minutes.search("1987", context_lines=2).hits
    assert hit.snippet.text.split("\n") == LONG.split("\n")[hit.line - 3 : hit.line + 2]
    [hit] = minutes.search("1987", context_lines=0).hits
    assert hit.snippet.text == "The herons nest in the old oak since 1987."


@pytest.mark.parametrize("options", [{"passages": 0}, {"passages": 11}, {"context_lines": 101}])
def test_search_refuses_passage_limits_out_of_range(minutes: qmd.Index, options: dict[str, int]) -> None:
    with pytest.raises(qmd.UsageError, match=next(iter(options))):
        minutes.search("garden", **options)  # type: ignore[arg-type]


SCATTERED = "A kiwi is green.\n\nThe mango tree grows, a kiwi does not.\n\n" + FILLER


PHRASES = {
    "mark": ('"kiwi mango"', "a salad of Kiwi, mango and nothing else", SCATTERED),
    "more-words": ('"kiwi mango" tree green', "a salad of kiwi-mango", SCATTERED),
    "line-end": ('"kiwi mango"', "a salad of kiwi", SCATTERED),
    "chinese": ("备份策略", "本周的备份策略", "备份在凌晨。\n策略在这里。\n"),
    "long": (
        '"the mango tree"',
        "THE MANGO TREE",
        "the tree, a mango, the kiwi tree, mango of the tree; " * 600,
    ),
    "long-chinese": ('"据库的备份"', "数据库的备份", "数据库的数据，备份库的数据，据库；" * 1000),
}
#: Ways to search, and phrases. `query` chooses passages of its own, but reads phrases as `search` does.
WAYS = [
    *(("search", name) for name in PHRASES),
    *(pytest.param("query", name, marks=pytest.mark.slow) for name in ("more-words", "long-chinese")),
]


@pytest.mark.parametrize(("mode", "name"), WAYS)
def test_snippet_line_contains_the_phrase(index: qmd.Index, notes: Notes, mode: str, name: str) -> None:
    query, line, text = PHRASES[name]
    before, after = (text, FILLER) if mode == "search" else (text[:3_000], FILLER[:1_000])
    written = f"{before}\n{line}\nmango at the end of a line\n\n{after}"
    index.add_collection(str(notes({"fruit.md": written})), "notes")
    if mode == "query":
        index.embed()
    for options in ({}, {"context_lines": 1}, {"passages": 3}):
        [hit] = getattr(index, mode)(query, **options).hits
        assert written.split("\n")[hit.line - 1] == line
        assert line in hit.snippet.text


@pytest.mark.parametrize("options", [{}, {"passages": 3}])
def test_snippet_of_a_phrase_in_front_matter_is_text(
    index: qmd.Index, notes: Notes, options: dict[str, Any]
) -> None:
    written = f"---\ntitle: the mango season\n---\n{SCATTERED}"
    index.add_collection(str(notes({"fruit.md": written})), "notes")
    (hit,) = index.search('"mango season"', **options).hits
    assert hit.line > 3
    assert all("title:" not in each.text for each in (hit.snippet, *hit.passages))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"rerank": False}, {"ranking": "contract"}])
def test_query_intent_chooses_the_passage(index: qmd.Index, notes: Notes, options: dict[str, Any]) -> None:
    sections = {
        "alpha": "The widget is bought in spring, and paid within a month.",
        "beta": "A widget is a widget if the widget of the shop is sold as a widget.",
        "gamma": "The widget is painted in autumn.",
        **{f"section {number}": f"Another widget, number {number}." for number in range(8)},
    }
    text = "".join(f"## {name}\n\n{says}\n\n{FILLER[:700]}\n\n" for name, says in sections.items())
    index.add_collection(str(notes({"widgets.md": text})), "notes")
    index.embed()
    for name, says in [*sections.items()][:3]:
        [hit] = index.query("widget", intent=name, **options).hits
        assert (hit.section, says in hit.snippet.text) == (name, True)


@pytest.mark.slow
def test_reranker_chooses_a_passage_without_words_of_the_query(index: qmd.Index, notes: Notes) -> None:
    text = (
        "# Diary\n\n"
        + "On Monday it rained, and the bread was baked in the afternoon as always.\n\n" * 5
        + "My key to the cellar hangs behind the clock in the kitchen.\n\n"
        + "On Sunday the neighbours came for tea, and stayed until it was dark.\n\n" * 5
    )
    index.add_collection(str(notes({"diary.md": text})), "notes")
    index.embed()
    [hit] = index.query("how can I open the basement door").hits
    assert "key to the cellar" in hit.snippet.text


@pytest.mark.slow
def test_reranker_chooses_the_nearest_chunk_despite_frequent_words(index: qmd.Index, notes: Notes) -> None:
    answer = (
        "My key to the cellar hangs behind the clock in the kitchen, on the left side, where nobody looks "
        "for it, and a second one is in the drawer below the stairs, together with the old lamp."
    )
    bread = (
        "In the garden it rained, and the bread was baked in the afternoon as always, with flour from the "
        "mill at the river, salt, and seeds that were dried in the sun for the whole of the week."
    )
    index.add_collection(
        str(notes({"diary.md": "\n\n".join([*[bread] * 30, answer, *[bread] * 30])})), "notes"
    )
    index.embed()
    [hit] = index.query("garden: how can I open the basement door").hits
    assert "key to the cellar" in hit.snippet.text


@pytest.mark.slow
def test_cached_scores_of_earlier_versions_are_not_used(index: qmd.Index, notes: Notes) -> None:
    text = "# Herons\n\nThey nest in the oak.\n"
    index.add_collection(str(notes({"herons.md": text})), "notes")
    index.embed()
    reranker = index._workspace.models.reranker.name
    for passage in (text, text.strip()):
        parts = json.dumps(["rerank", reranker, "nest", passage], ensure_ascii=False)
        index._store.answers.put({"rerank:" + hashlib.sha256(parts.encode()).hexdigest(): "0.5"})
    assert [hit.path for hit in index.query("nest").hits] == ["herons.md"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "last", "query"),
    [
        (
            "Absatz {} regelt die Größe der Öffnung.",
            "Ein öffentlicher Kläger.",
            "öffentlicher Kläger",
        ),
        ("Статья {} о порядке и размере платежа.", "Суд взыскивает за просрочку ёлок.", "просрочку ёлок"),
        ("Điều {} quy định về thủ tục hành chính.", "Người bán phải bồi thường thiệt hại.", "bồi thường"),
        (
            "§ {} o opłatach i ich wysokości łącznie.",
            "Spółka składa oświadczenie.",
            "składa oświadczenie",
        ),
        ("第{}条 关于程序和费用的规定。", "承租人应当妥善保管租赁物。", "妥善保管租赁物"),
        ("line {} of the log about item and marker", "the one rocket launch", "rocket launch"),
    ],
    ids=["de", "ru", "vi", "pl", "zh", "en"],
)
def test_snippet_shows_words_far_into_a_long_text(
    index: qmd.Index, notes: Notes, line: str, last: str, query: str
) -> None:
    lines = [line.format(number) for number in range(1_500_000 // len(line))]
    lines[-100] = last
    index.add_collection(str(notes({"long.md": "\n".join(["# Long", *lines])})), "notes")
    [hit] = index.search(query).hits
    assert last in hit.snippet.text
    assert abs(hit.line - (len(lines) - 98)) <= 3


#: Long documents whose sections have numbers, by their names, and queries with the line to show.
NUMBERED = {
    "gesetz.md": "# Gesetz über Gärten\n\n"
    + "".join(
        f"## § {number} Pflichten der Klasse {number}a\n\n(1) Die Pflichten nach § {number + 1} gelten auch "
        f"für § {number + 2} entsprechend, soweit öffentliche Gärten betroffen sind. {'Näheres. ' * 30}\n\n"
        for number in range(1, 40)
    ),
    "standard.md": "# STD 7000: Garden Transport\n\n"
    + "".join(
        f"## {chapter}. Chapter of roots {'on paths ' * (chapter == 9)}\n\n"
        f"See Section {chapter + 1}.1 of [STD7000].\n\n"
        + "".join(f"### {chapter}.{part}. Soil\n\nA sender sends. {FILLER[:600]}\n\n" for part in (1, 2, 3))
        for chapter in range(1, 13)
    )
    + f"## Appendix A. Examples\n\n{FILLER[:500]}\n\n## Appendix B. Changes\n\n{FILLER[:500]}\n",
    "民法.md": "".join(
        f"第{number}条　花园的所有人应当依照第{other}条的规定保护树木。{'树木属于花园。' * 20}\n"
        for number, other in [
            *zip("一二三四五六七八九", "二三四五六七八九一", strict=True),
            ("一千零七十七", "十"),
        ]
    ),
    "novel.txt": "".join(
        f"CHAPTER {number}\n\nThe gardener of chapter {number} went home. {FILLER[:900]}\n\n"
        for number in ("I", "II", "III", "IV", "V", "VI")
    ),
    "recipes.md": f"# Recipes\n\n{FILLER[:900]}\n\n## Plum cake\n\n"
    + "".join(f"{number}. Step of the cake\n" for number in range(1, 30))
    + f"\nBake 12 plums in section 4 of the oven.\n\n{FILLER[:900]}\n",
}


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[qmd.Index]:
    folder = tmp_path_factory.mktemp("numbered")
    for name, text in NUMBERED.items():
        (folder / name).write_text(text, encoding="utf-8")
    with qmd.open_index(str(folder.parent / f"{folder.name}.sqlite")) as index:
        index.add_collection(str(folder), "notes", pattern="**/*.{md,txt}")
        index.update()
        yield index


@pytest.mark.parametrize(
    ("query", "file", "line"),
    [
        ("§ 17 gesetz gärten", "gesetz.md", "## § 17 Pflichten"),
        ("Paragraph 23 Gesetz Gärten", "gesetz.md", "## § 23 Pflichten"),
        ("STD 7000 section 9.1", "standard.md", "### 9.1. Soil"),
        ("STD 7000 section 11", "standard.md", "## 11. Chapter"),
        ("STD 7000 roots paths", "standard.md", "## 9. Chapter of roots on paths"),
        ("standard appendix B", "standard.md", "## Appendix B."),
        ("民法第七条", "民法.md", "第七条　"),
        ("民法第1077条", "民法.md", "第一千零七十七条　"),
        ("novel chapter 4", "novel.txt", "CHAPTER IV"),
        ("gardener chapter iii", "novel.txt", "The gardener of chapter III"),
        ("plum cake section 4", "recipes.md", "Bake 12 plums in section 4"),
        ("bake 12 plums", "recipes.md", "Bake 12 plums"),
    ],
)
def test_number_of_a_section_shows_that_section(
    numbered: qmd.Index, query: str, file: str, line: str
) -> None:
    hit = numbered.search(query).hits[0]
    assert hit.path == file
    assert NUMBERED[file].split("\n")[hit.line - 1].startswith(line)


@pytest.mark.parametrize(
    ("address", "start"),
    [
        ("gesetz.md#§ 17", "## § 17 Pflichten"),
        ("standard.md#9.1", "### 9.1. Soil"),
        ("standard.md#section-9.1", "### 9.1. Soil"),
        ("standard.md#appendix B", "## Appendix B. Changes"),
        ("novel.txt#Chapter 4", "CHAPTER IV"),
        ("民法.md#第1077条", "第一千零七十七条"),
    ],
)
def test_section_is_addressed_by_its_number(numbered: qmd.Index, address: str, start: str) -> None:
    assert numbered.get(address).text.startswith(start)


def test_outline_without_headings_has_the_numbered_paragraphs(numbered: qmd.Index) -> None:
    _, sections = numbered.outline("novel.txt")
    assert [section.heading for section in sections] == [
        f"CHAPTER {n}" for n in ("I", "II", "III", "IV", "V", "VI")
    ]
    with pytest.raises(qmd.QmdError, match="has no section"):
        numbered.get("standard.md#9.99")
