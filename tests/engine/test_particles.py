"""Words of Arabic, Hebrew and Hindi: behind particles, and in two spellings."""

from __future__ import annotations

import pytest

import qmd
from tests.conftest import Notes

ARABIC = "تم تأجيل الاجتماع إلى يوم الخميس لأن المدير كان في إجازة. أرسل التقرير للموظفين والزملاء بالبريد.\n"
HEBREW = "הפגישה נדחתה ליום חמישי במשרד כי המנהל והעובדים היו בחופשה, ושהדוח נשלח מהמזכירה.\n"
HINDI = "यह हिन्दी और पञ्चायत पर है। दोनों का सम्बन्ध पुराना है। चाँद और क़लम ज़रूर देखें।\n"


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        (ARABIC, "اجتماع الاجتماع خميس تقرير مدير موظفين زملاء بريد والتقرير إجازة"),
        (HEBREW, "פגישה הפגישה משרד מנהל עובדים העובדים חופשה דוח מזכירה יום"),
        (HINDI, "हिंदी हिन्दी पंचायत पञ्चायत संबंध सम्बन्ध चांद चाँद कलम क़लम जरूर ज़रूर"),
    ],
    ids=["ar", "he", "hi"],
)
def test_words_find_themselves_behind_particles(
    index: qmd.Index, notes: Notes, text: str, queries: str
) -> None:
    index.add_collection(str(notes({"a.md": text, "b.md": "# Other\n\nEnglish, русский, ελληνικά.\n"})))
    assert [query for query in queries.split() if not index.search(query).hits] == []


def test_word_itself_comes_before_words_with_particles(index: qmd.Index, notes: Notes) -> None:
    texts = {
        "a.md": "تقرير جديد\n",
        "b.md": "كتب التقرير أمس\n",
        "c.md": "תקציב חדש\n",
        "d.md": "כתב בתקציב אתמול\n",
    }
    index.add_collection(str(notes(texts)))
    assert [hit.path for hit in index.search("تقرير").hits] == ["a.md", "b.md"]
    assert [hit.path for hit in index.search("תקציב").hits] == ["c.md", "d.md"]


def test_words_behind_particles_are_marked_in_snippets(index: qmd.Index, notes: Notes) -> None:
    filler = "".join(f"\n\nفقرة {number} عن لا شيء على الإطلاق." for number in range(40))
    index.add_collection(str(notes({"a.md": f"# صفحة{filler}\n\nوصل التقرير أمس.\n"})))
    assert "التقرير" in index.search("تقرير").hits[0].snippet.text
