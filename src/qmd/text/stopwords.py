"""Words that carry a question rather than its subject; dropped from queries, never from the index (E23)."""

from __future__ import annotations

import re

ENGLISH = frozenset(
    """
    a about after all also am an and any are as at be because been before being between both but by can could
    did do does doing during each every for from further had has have having he her here him his how i if in
    into is it its itself just me more most my of off on once only or other our out over own same she should
    so some such than that the their them then there these they this those through to too under until up very
    was we were what when where which while who whom whose why will with would you your
    i'm i've i'd i'll it's that's what's who's where's there's how's you're you've we're we've they're isn't
    aren't wasn't weren't don't doesn't didn't can't couldn't won't wouldn't shouldn't hasn't haven't
    """.split()
)

_QUESTIONS = """
    为什么 為什麼 是什么 是什麼 什么 什麼 怎么样 怎麼樣 怎么办 怎麼辦 怎么 怎麼 怎样 怎樣 如何 哪些 哪个 哪個
    哪里 哪裡 哪儿 多少 是否 能否 可否 请问 請問 有没有 有沒有 吗 嗎 呢
    使用 进行 進行 可以 能够 能夠 需要 通过 通過 应该 應該
    どうやって どのように どうすれば ですか ますか でしょうか について とは なぜ
""".split()
#: Longest first, so that 为什么 is cut before 什么.
QUESTIONS = re.compile("|".join(sorted(_QUESTIONS, key=len, reverse=True)))
