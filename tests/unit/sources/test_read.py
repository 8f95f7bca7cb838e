from __future__ import annotations

import codecs
import os
import random
from hashlib import sha256
from pathlib import Path

import pytest

from qmd import sources
from qmd.errors import SourceError
from qmd.sources.formats import registry
from qmd.sources.read import MAX_BYTES, read_raw, to_source
from qmd.types import Fingerprint, SourceFile, SourceText


def source(path: Path) -> SourceFile:
    return SourceFile(path.name, str(path), Fingerprint(0, 0, 0))


def read_source(
    file: SourceFile, *, encoding: str | None = None, max_bytes: int = MAX_BYTES
) -> tuple[SourceText, Fingerprint]:
    """Read a file like a collection without formats."""
    raw, fingerprint = read_raw(file, encoding, max_bytes)
    answer = sources.read.read(raw, registry.Readers().of(file.path), sources.read.Purpose())
    if answer.problem is not None:
        raise SourceError(*answer.problem)
    ((_, found, _),) = answer.documents
    return to_source(found, raw.decoding), fingerprint


def read(folder: Path, data: bytes, encoding: str | None = None) -> str:
    path = folder / "a.md"
    path.write_bytes(data)
    return read_source(source(path), encoding=encoding)[0].text


def test_read_raw_returns_text_hash_title_and_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# Title\n\nétext\n", encoding="utf-8")
    status = path.stat()
    found, fingerprint = read_source(source(path))
    text = "# Title\n\nétext\n"
    assert (found.text, found.hash, found.title) == (text, sha256(text.encode()).hexdigest(), "Title")
    assert found.structure is not None
    assert [each.level for each in found.structure.headings] == [1]
    assert fingerprint == Fingerprint(status.st_size, status.st_mtime_ns, status.st_ino)


@pytest.mark.parametrize("data", [b"a\r\nb\r\n", b"a\rb\r", b"a\nb\n", codecs.BOM_UTF8 + b"a\r\nb\n"])
def test_line_ends_and_byte_order_marks_do_not_change_the_text(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data) == "a\nb\n"


@pytest.mark.parametrize(
    ("mark", "charset"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_byte_order_marks_choose_the_charset(tmp_path: Path, mark: bytes, charset: str) -> None:
    assert read(tmp_path, mark + "é 数 😀\r\n".encode(charset)) == "é 数 😀\n"


@pytest.mark.parametrize("text", ["", " \n\n\t"])
def test_blank_file_is_text(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text.encode()) == text


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("cp1252", "# Übersicht\n\nDie Größe der Straße ist für Fußgänger wichtig.\n"),
        ("cp1252", "It’s a “naïve” café\n"),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy\n"),
        ("cp1251", "Привет, как дела? Это заметка о поиске.\n"),
        ("koi8_r", "Привет, как дела? Это заметка о поиске.\n"),
        ("cp1253", "Καλημέρα κόσμε, αυτό είναι ένα κείμενο\n"),
        ("shift_jis", "これは日本語のメモです。検索エンジンのテスト。\n"),
        ("euc_jp", "これは日本語のメモです。検索エンジンのテスト。\n"),
        ("gb18030", "这是一个中文笔记，用于测试数据库检索。\n"),
        ("big5", "這是一個中文筆記，用於測試資料庫檢索。\n"),
        ("euc_kr", "이것은 한국어 메모입니다. 검색 엔진 테스트.\n"),
    ],
)
def test_other_charsets_are_detected(tmp_path: Path, charset: str, text: str) -> None:
    assert read(tmp_path, text.encode(charset)) == text
    assert read(tmp_path, (text * 3000).encode(charset)) == text * 3000


def test_encoding_of_the_collection_takes_precedence_over_detection(tmp_path: Path) -> None:
    assert read(tmp_path, "Başlık ığş".encode("cp1254"), "windows-1254") == "Başlık ığş"
    assert read(tmp_path, "数".encode("gb18030"), "gb18030") == "数"


def test_utf8_takes_precedence_over_the_encoding_of_the_collection(tmp_path: Path) -> None:
    assert read(tmp_path, "é 数".encode(), "latin-1") == "é 数"


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "Größe 数",
        "# 笔记\n一个数据库的备份应该每天进行，然后检查恢复。\n" * 20,
        "Привет, мир",
        "😀 and 数\n",
    ],
)
def test_wide_characters_without_a_mark_are_known_by_their_zeros(
    tmp_path: Path, text: str, charset: str
) -> None:
    for encoding in (None, charset, "gb18030"):
        assert read(tmp_path, text.encode(charset), encoding) == text
    assert read(tmp_path, (text * 5 + "!").encode(charset)[:-1]) == text * 5 + "\ufffd"


_GERMAN = "Die Größe der Öffnung – für „Prüfung“. "
_CHINESE = "数据库的备份应该每天进行，然后检查恢复。"


@pytest.mark.parametrize(
    ("data", "text", "lines"),
    [
        (f"# Mixed\n{_GERMAN}\n".encode() + b"Stra\xdfe\n", f"# Mixed\n{_GERMAN}\nStraße\n", (3,)),
        ("Große\n".encode() + b"Stra\xdfe und Gr\xf6\xdfe, \xc4rger", "Große\nStraße und Größe, Ärger", (2,)),
        ("Große\r".encode() + b"\x84gut\x93 it\x92s \x96 ok\r", "Große\n„gut“ it’s – ok\n", (2,)),
        (b"plain ASCII text " * 9 + b"caf\xe9\n", "plain ASCII text " * 9 + "café\n", (1,)),
        (b"plain ASCII text " * 9 + b"\n\xff\n", "plain ASCII text " * 9 + "\n\ufffd\n", (2,)),
        (
            b"plain ASCII text " * 9 + b"\xff\xfe\xfd\n",
            "plain ASCII text " * 9 + "\ufffd\ufffd\ufffd\n",
            (1,),
        ),
        (
            _CHINESE.encode() + b"\xff\n" + _CHINESE.encode()[:-1],
            f"{_CHINESE}\ufffd\n{_CHINESE[:-1]}\ufffd",
            (1, 2),
        ),
        ("数据".encode()[:-1], "数\ufffd", (1,)),
        (f"{_GERMAN}é".encode()[:-1], f"{_GERMAN}\ufffd", (1,)),
        (codecs.BOM_UTF8 + b"caf\xe9 \xff\n", "café \ufffd\n", (1,)),
        (codecs.BOM_UTF16_LE + "words\n数据".encode("utf-16-le")[:-1], "words\n数\ufffd", (2,)),
        (
            f"-*- coding: gbk -*-\n{_CHINESE}".encode("gbk")[:-1],
            f"-*- coding: gbk -*-\n{_CHINESE[:-1]}\ufffd",
            (2,),
        ),
        (_CHINESE.encode("gb18030") + b"\xff\n", f"{_CHINESE}\ufffd\n", (1,)),
        (
            "これは日本語のメモです。検索エンジン。".encode("cp932")[:-1],
            "これは日本語のメモです。検索エンジン\ufffd",
            (1,),
        ),
        (
            "這是一個中文筆記，用於測試資料庫檢索。".encode("big5") + b"\xff",
            "這是一個中文筆記，用於測試資料庫檢索。\ufffd",
            (1,),
        ),
    ],
)
def test_invalid_bytes_cost_no_more_than_themselves(
    tmp_path: Path, data: bytes, text: str, lines: tuple[int, ...]
) -> None:
    (tmp_path / "a.md").write_bytes(data)
    found, _ = read_source(source(tmp_path / "a.md"))
    assert (found.text, found.decoding.lines, found.decoding.invalid >= len(lines)) == (text, lines, True)


@pytest.mark.parametrize("encoding", ["no-such-charset", "rot13", "hex", "", "a\0b"])
def test_unknown_encoding_is_an_error(tmp_path: Path, encoding: str) -> None:
    with pytest.raises(SourceError, match="encoding") as caught:
        read(tmp_path, b"caf\xe9", encoding)
    assert caught.value.hint


@pytest.mark.parametrize("encoding", ["unicode_escape", "raw_unicode_escape", "utf-7"])
def test_text_never_has_lone_surrogates(tmp_path: Path, encoding: str) -> None:
    for data in (b"\xff \\ud800 +2AA-", b"\xe9 \\ud800", b"\xff\xfe\x00\xd8", b"\xed\xa0\x80 words"):
        try:
            text = read(tmp_path, data, encoding)
        except SourceError:
            continue
        assert text.encode().decode() == text


@pytest.mark.parametrize("encoding", [None, "shift_jis", "utf-16"])
def test_few_nul_bytes_are_read_as_spaces(tmp_path: Path, encoding: str | None) -> None:
    path = tmp_path / "a.md"
    path.write_bytes("# Café\0notes\n\n".encode() + b"some words " * 10 + b"\0")
    read_back, _ = read_source(source(path), encoding=encoding)
    assert read_back.text == "# Café notes\n\n" + "some words " * 10 + " "
    assert (read_back.decoding.zeros, read_back.title) == (2, "Café notes")
    assert read_back.hash == sha256(read_back.text.encode()).hexdigest()


@pytest.mark.parametrize(
    "data",
    [
        b"te\0xt\0te\0xt",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)),
        b"\x01\x02\x03\x04" * 100,
        b"\x7fELF\x02\x01\x01" + b"\0" * 50,
        random.Random(1).randbytes(4000),
        random.Random(2).randbytes(4000).replace(b"\0", b""),
        b"\xef\xbb\xbf\xff\xff",
        b"\xff\xfe\x00",
        "数据库".encode("gb18030"),  # it could be Cyrillic, Japanese or Korean as well
    ],
)
def test_binary_file_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(SourceError, match=r"cannot read a\.md"):
        read(tmp_path, data)


def test_few_control_characters_are_text(tmp_path: Path) -> None:
    text = "\x1b[1mbold\x1b[0m\f page\v tab\t" + "words " * 20 + "\x01"
    assert read(tmp_path, text.encode()) == text


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        read_source(source(tmp_path / "a.md"))
    assert caught.value.message == "cannot read a.md: no such file or directory"


def test_fifo_is_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(SourceError, match="not a regular file"):
        read_source(source(tmp_path / "a.md"))


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/"])
def test_devices_and_folders_are_refused(path: str) -> None:
    with pytest.raises(SourceError, match="not a regular file"):
        read_source(SourceFile("a.md", path, Fingerprint(0, 0, 0)))


def test_path_with_nul_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot read"):
        read_source(SourceFile("a.md", str(tmp_path / "a\0.md"), Fingerprint(0, 0, 0)))


def test_file_over_the_limit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * 2048)
    assert len(read_source(source(path), max_bytes=2048)[0].text) == 2048
    with pytest.raises(SourceError, match="larger than") as caught:
        read_source(source(path), max_bytes=2047)
    assert caught.value.hint


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs a file that states no size")
def test_file_without_a_size_is_read_to_its_end() -> None:
    text = read_source(SourceFile("a.md", "/proc/self/status", Fingerprint(0, 0, 0)))[0].text
    assert "Name:" in text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("x", encoding="utf-8")
    path.chmod(0)
    with pytest.raises(SourceError, match="permission denied"):
        read_source(source(path))


def test_descriptors_are_closed_after_errors(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_bytes(b"\0\0")
    before = os.dup(0)
    os.close(before)
    for _ in range(5):
        with pytest.raises(SourceError):
            read_source(source(tmp_path / "b.md"))
        with pytest.raises(SourceError):
            read_source(source(tmp_path))
    after = os.dup(0)
    os.close(after)
    assert before == after
