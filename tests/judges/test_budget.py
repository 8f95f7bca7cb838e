"""The bound of `qmd.text.budget` and the tokenizers that it bounds."""

from __future__ import annotations

import base64
import json
import random
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from qmd.text import budget
from tests.agents import agents
from tests.judges.calls import ROOT, Judges, dumped
from tests.users import User

#: The larger number of tokens of each text.
Count = Callable[[list[str]], list[int]]

PROSE = {
    "English": (
        "The ferry leaves the harbour at seven and reaches the island before noon. Whoever misses it "
        "waits until the next morning, because the afternoon boat carries mail and vegetables, but no "
        "passengers. In winter the captain decides each day whether the sea is calm enough. He is "
        "seldom wrong, although he has never looked at a forecast in his life."
    ),
    "German": (
        "Die Fähre verlässt den Hafen um sieben und erreicht die Insel noch vor Mittag. Wer sie "
        "verpasst, wartet bis zum nächsten Morgen, denn das Boot am Nachmittag bringt Post und Gemüse, "
        "aber keine Fahrgäste. Im Winter entscheidet der Kapitän jeden Tag, ob die See ruhig genug ist."
    ),
    "Spanish": (
        "El barco sale del puerto a las siete y llega a la isla antes del mediodía. Quien lo pierde "
        "tiene que esperar hasta la mañana siguiente, porque el de la tarde lleva cartas y verduras, "
        "pero no pasajeros. En invierno el capitán decide cada día si el mar está bastante tranquilo."
    ),
    "Russian": (
        "Паром уходит из гавани в семь часов и прибывает на остров ещё до полудня. Кто опоздал, ждёт до "
        "следующего утра, потому что дневная лодка везёт почту и овощи, но не пассажиров. Зимой капитан "
        "каждый день решает, достаточно ли спокойно море."
    ),
    "Arabic": (
        "تغادر العبارة الميناء في الساعة السابعة وتصل إلى الجزيرة قبل الظهر. من يفوته الموعد ينتظر حتى "
        "صباح اليوم التالي، لأن قارب بعد الظهر يحمل البريد والخضروات ولا يحمل الركاب. وفي الشتاء يقرر "
        "القبطان كل يوم هل البحر هادئ بما يكفي."
    ),
    "Chinese": (
        "渡船早上七点离开港口，中午之前到达小岛。错过的人要等到第二天早上，因为下午的船只运送邮件和蔬菜"
        "，不载乘客。冬天船长每天决定海面是否足够平静。他很少判断错误，虽然他一生中从来没有看过天气预报"
        "。"
    ),
    "Japanese": (
        "フェリーは朝七時に港を出て、昼前に島に着きます。乗り遅れた人は翌朝まで待たなければなりません。"
        "午後の船は郵便と野菜を運びますが、乗客は乗せないからです。冬には船長が毎日、海が十分に静かかど"
        "うかを決めます。"
    ),
    "Korean": (
        "여객선은 아침 일곱 시에 항구를 떠나 정오 전에 섬에 도착합니다. 배를 놓친 사람은 다음 날 "
        "아침까지 기다려야 합니다. 오후의 배는 우편물과 채소를 싣지만 승객은 태우지 않기 때문입니다."
    ),
    "Hindi": (
        "नाव सुबह सात बजे बंदरगाह से निकलती है और दोपहर से पहले द्वीप पर पहुँच जाती है। जो इसे चूक जाता "
        "है वह अगली सुबह तक प्रतीक्षा करता है, क्योंकि दोपहर की नाव डाक और सब्ज़ियाँ ले जाती है।"
    ),
    "Thai": ("เรือข้ามฟากออกจากท่าเรือตอนเจ็ดโมงเช้าและถึงเกาะก่อนเที่ยง คนที่พลาดเรือต้องรอจนถึงเช้าวันถัดไป"),
    "Vietnamese": (
        "Chuyến phà rời cảng lúc bảy giờ và đến đảo trước buổi trưa. Ai lỡ chuyến thì phải đợi đến sáng "
        "hôm sau, vì chiếc thuyền buổi chiều chỉ chở thư và rau, không chở hành khách."
    ),
}
_RANDOM = random.Random(7)
OTHER = {
    "code": (ROOT / "src/qmd/text/tokens.py").read_text(encoding="utf-8"),
    "script": (ROOT / "scripts/judges.sh").read_text(encoding="utf-8"),
    "Markdown": (ROOT / "docs/mcp.md").read_text(encoding="utf-8"),
    "JSON": json.dumps({"results": [{"docid": f"#{n:06x}", "score": n / 7} for n in range(300)]}, indent=2),
    "base64": base64.b64encode(_RANDOM.randbytes(6_000)).decode(),
    "hexadecimal": _RANDOM.randbytes(3_000).hex(),
    "emoji": "".join(_RANDOM.choices(["😀", "🎉", "👍🏽", "👨‍👩‍👧", "🇩🇪", "✨", "❤️", " "], k=1_000)),
    "table": "| Größe | 名前 | № |\n|:---|---:|---|\n" + "| 12.5 kB | 東京タワー | `x_1` |\n" * 60,
    "breaks": "\n" * 999 + "\r\n" * 999 + "\n\r\n" * 999,
    "rules": "----\n====\n    \t\t\n\n\n****\r\n\r\n" * 50,
    "paths": "src/qmd/text/budget.py:12-30 https://example.org/a?b=c&d=%20#e C:\\Users\\x\\y.md " * 40,
    "special tokens": "<|endoftext|><|im_start|>" * 20,
}
#: Characters that tokenizers treat differently, more often together than by chance.
_MIXED = st.text(
    st.sampled_from(
        "abcXYZ019 \n\r\t'\"._-*=#/|()[]{}<>éßøñабвגשابت漢字仮名カナ가나다हि้ំ́‍😀🇩🏽ﬁŉǅⅷ²_￼\u00a0\u2028"
    )
)


@pytest.fixture(scope="module")
def larger(judges: Judges) -> Iterator[Count]:
    """Return the larger number of tokens of texts, counted by one process."""
    command: list[Any] = [judges.node, ROOT / "tests/judges/tokens.mjs", judges.folder]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdin and process.stdout
        asked, answered = process.stdin, process.stdout

        def counted(texts: list[str]) -> list[int]:
            asked.write(dumped(texts) + "\n")
            asked.flush()
            return [max(pair) for pair in json.loads(answered.readline())]

        yield counted
        asked.close()


@pytest.mark.parametrize("language", PROSE)
def test_count_is_at_most_a_third_too_much_for_prose(larger: Count, language: str) -> None:
    (tokens,) = larger([PROSE[language]])
    assert tokens <= budget.count(PROSE[language]) <= 1.35 * tokens


@pytest.mark.parametrize("kind", [*PROSE, *OTHER])
def test_count_is_a_bound_for_every_part_of_a_text(larger: Count, kind: str) -> None:
    text = (PROSE | OTHER)[kind]
    parts = [text] + [
        text[start : start + size] for size in (9, 80, 700) for start in range(0, len(text), size)
    ]
    for part, tokens in zip(parts, larger(parts), strict=True):
        assert budget.count(part) >= tokens, part


@given(st.one_of(st.text(), _MIXED))
def test_count_is_a_bound_for_any_text(larger: Count, text: str) -> None:
    (tokens,) = larger([text])
    assert budget.count(text) >= tokens


@pytest.mark.parametrize("tokens", [200, 500])
def test_answers_have_at_most_the_tokens_asked_for(larger: Count, seer: User, tokens: int) -> None:
    commands = [("search", "performance", "--all"), ("get", "deploy.md"), ("multi-get", "**", "--full")]
    texts = [
        seer.ok(*command, "--format", name, "--tokens", str(tokens))
        for command in commands
        for name in ("cli", "json", "csv", "md", "xml", "files")
    ]
    with agents() as start:
        agent = start(seer)
        agent.greet()
        for tool, arguments in (
            ("search", {"query": "performance"}),
            ("get", {"file": "deploy.md"}),
            ("multi_get", {"pattern": "**"}),
        ):
            result = agent.call(tool, **arguments, maxTokens=tokens)
            # An agent sees one of two parts, but all of a result that has no structured content.
            structure = result.pop("structuredContent", result)
            texts.append(json.dumps(structure, ensure_ascii=False, separators=(",", ":")))
            texts.append("\n".join(block["text"] for block in result["content"] if block["type"] == "text"))
    assert max(larger(texts)) <= tokens
