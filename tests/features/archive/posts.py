"""A small archive in Chinese."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from msgspec import Struct

from tests.users import User

PLAN = "q9adg/motions/2020-12-15_20_10_39_一个小打算.md"
TEA = "q9adg/motions/2021-03-02_08_00_00_清晨的茶.md"
DOTS = "q9adg/motions/2021-05-01_09_30_00_等等...再说吧.md"
UNDATED = "q9adg/motions/前言.md"
GROWTH = "q9adg/个人成长/2024-03-07_10_00_00_慢慢来.md"
GROWTH_LATER = "q9adg/个人成长/2024-04-01_10_00_00_打算落空以后.md"
LOVE = "q9adg/亲密关系/2023-02-14_21_00_00_写信.md"
SHOP = "q9adg/shop/读书笔记/2022-01-05_12_00_00_第一本.md"
RAIN = "林中/motions/2022-06-01_07_00_00_雨.md"
#: A name that is in decomposed form on disk.
CAFE = "林中/motions/2022-06-02_07_00_00_Café 手记.md"

#: The files of the archive by path. The last ones must never be visible.
FILES = {
    PLAN: "# 一个小打算\n\n今年想写一百篇短文。\n先从 Python 开始，\n再谈别的。\n\n不急。\n",
    TEA: "# 清晨的茶\n\n水开了，茶香慢慢散开。\n",
    DOTS: "等等，再说吧。\n",
    UNDATED: "这是没有日期的一篇。\n",
    GROWTH: "慢慢来，比较快。\nPYTHON 也是这样学会的。\n",
    GROWTH_LATER: "落空了，也没有关系。\n",
    LOVE: "见字如面。\n",
    SHOP: "读完第一本书。\n",
    RAIN: "雨声\n" * 45,
    CAFE: "一杯咖啡，École 旁边。\n",
    "q9adg/motions/.assets/说明.md": "雨声 图片\n",
    "q9adg/.草稿/2020-01-01_00_00_00_草稿.md": "雨声 草稿\n",
    "q9adg/motions/.隐藏.md": "雨声 隐藏\n",
    "q9adg/motions/图.txt": "雨声 不是文章\n",
    ".git/motions/秘密.md": "雨声 秘密\n",
}
#: A file beside the archive, which nothing may lead to.
OUTSIDE = "雨声 外面\n"


class Reader(Struct, frozen=True):
    """A user with an archive."""

    user: User
    data: Path

    def ok(self, command: str, *args: str) -> str:
        """Return the output of a command. The test fails if the command does."""
        return self.user.ok("archive", command, *args, "--data", str(self.data))


def lay_out(data: Path) -> None:
    """Write the archive, with links out of it and to its hidden files."""
    for path, text in FILES.items():
        file = data / (unicodedata.normalize("NFD", path) if path == CAFE else path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (data / "没有文章的人").mkdir()
    outside = data.parent / "outside"
    outside.mkdir()
    (outside / "外面.md").write_text(OUTSIDE, encoding="utf-8")
    (data / "q9adg" / "motions" / "链接.md").symlink_to(outside / "外面.md")
    (data / "q9adg" / "通向外面").symlink_to(outside)
    (data / "外人").symlink_to(outside)
    (data / "q9adg" / "通向隐藏").symlink_to(data / "q9adg" / ".草稿")
    (data / "q9adg" / "圈").symlink_to(data / "q9adg")
