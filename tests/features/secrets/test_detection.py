"""Masks hide secrets, and nothing else of a text changes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
from canaries import canaries, leaks, plant
from qmd.features.secrets.detection import find, mask
from qmd.features.secrets.shapes import _shapes
from tests.regexes import Steps, attacks

#: Words that secrets, names and code are made of.
_PIECES = st.sampled_from(
    [
        *(
            "password",
            "token",
            "api_key",
            "密码",
            "пароль",
            "Authorization: Bearer",
            "sk-",
            "ghp_",
            "AKIA",
            "eyJ",
        ),
        *(
            "-----BEGIN RSA PRIVATE KEY-----",
            "-----END RSA PRIVATE KEY-----",
            "://",
            "@",
            ":",
            "=",
            "|",
            "`",
            '"',
        ),
        *("\n", " ", "\t", "> ", "\u200b", "：", "ＡＫＩＡ", "é", "İ", "\U0001f600", "\x80", "?", "\0"),
        *(
            "4111 1111 1111 1111",
            "hunter2xy",
            "a1b2c3d4e5f6g7h8",
            "[secret: token]",
            "Zx81-kq",
            "[secret]...",
        ),
    ]
)
_BODY = "MHcCAQEEIBkg4LVWM9nuwNSk3yByxZpYRTBnVJk5GmuWeZ0y9QW8oAoG"
_TEXTS = st.lists(st.one_of(_PIECES, st.text(max_size=6)), max_size=40).map("".join)


@given(_TEXTS)
@example("İ password = hunter2xy")
@example("密码：Ａbc12345 password = ab?c1234")
def test_mask_keeps_length_and_line_breaks(text: str) -> None:
    masked = mask(text)
    assert len(masked) == len(text)
    assert [at for at, sign in enumerate(masked) if sign == "\n"] == [
        at for at, sign in enumerate(text) if sign == "\n"
    ]
    hidden = {at for secret in find(text) for at in range(secret.start, secret.end)}
    assert all(masked[at] == text[at] for at in range(len(text)) if at not in hidden)


@given(_TEXTS)
def test_find_returns_secrets_in_order_that_do_not_overlap(text: str) -> None:
    ends = 0
    for start, end, kind in find(text):
        assert ends <= start < end <= len(text)
        assert kind == kind.lower()
        ends = end


@given(
    st.lists(st.sampled_from("the server waits for password and token until it is restored".split())).map(
        " ".join
    )
)
def test_mask_leaves_sentences_about_secrets_alone(words: list[str]) -> None:
    text = " ".join(words)
    assert mask(text) == text


def test_mask_hides_every_canary_and_finds_nothing_in_masks(tmp_path: Path) -> None:
    planted = canaries(160)
    for canary, file in zip(planted, plant(tmp_path, planted), strict=True):
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".md":
            masked = mask(text)
            assert not leaks(masked, [canary]), (canary, masked)
            assert mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "password: <your password>",
        "api_key = ${API_KEY}",
        "token: $TOKEN",
        "password = changeme",
        "password: string",
        "token = get_token(user)",
        "password=self.password",
        "api_key: xxxxxxxxxxxxxxxxxxxx",
        "AKIAIOSFODNN7EXAMPLE",
        "https://user:password@example.org/",
        "postgres://${USER}:${PASSWORD}@localhost/db",
        "Authorization: Bearer <token>",
        "The tokens of models are counted; a key of a map is text.",
        "max_tokens: 100000, token_count=123456789",
        "call 1234 5678 9012 3456 for help",  # no card: the check digit is wrong
        "id 550e8400-e29b-41d4-a716-446655440000, sha1 da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "sort by key, then by `password_reset_sent_at`",
        "密码长度至少为 8 个字符，不得重复使用最近 5 次的密码",
        "密码存储在数据库中，使用 SHA256 加密",
        "パスワードは8文字以上で、ISO27001に従います",
        "password: $DB_PASSWORD2 or @vault or !secret db1 or &#x3C;string>",
        "password = getenv(DB_PASS1), token = sha256(utf8Key2)",
        "IPv6 is the key, and OAuth2 is the password-less way; Windows 11 is the token of change.",
        "Le mot de passe a été changé en 2024, la contraseña se cambió a las 10h30.",
        "Das Passwort wurde auf Seite 12b erklärt. Hasło zmieniono na stronie 12b.",
        "base64 dGhpcyBpcyBhIHNlbnRlbmNl and src/qmd/features/archive, YWJjZGVmZ2hpamtsbW5vcA==",
    ],
)
def test_mask_leaves_placeholders_and_code_alone(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("AKIA\u200bQ3EGRZZT5N\u00adRM7XPW", "Q3EGRZZT5N"),
        ("ＡＫＩＡＱ３ＥＧＲＺＺＴ５Ｎ２Ｍ７ＸＰＷ", "ＲＺＺＴ５Ｎ"),
        ("> ghp_Zx81kqabcdefghij\n> klmnopqrstuvwxyz0123 and more", "klmnopqrst"),
        ("ghp_\nZx81kqabcdefghijklmnopqrstuvwxyz0123", "klmnopqrst"),
        ("密码：Ｈunter2xy", "unter2xy"),
        (f"-----BEGIN EC PRIVATE KEY-----\\n{_BODY}\\n", "CAQEEIBkg4"),
        (f'"k": "-----BEGIN PRIVATE KEY-----\\n{_BODY[:50]}\\n-----END PRIVATE KEY-----\\n"', "CAQEEIBkg4"),
        (f"-----BEGIN RSA PRIVATE KEY-----\n{_BODY}\n{_BODY}\nand more", "CAQEEIBkg4"),
        ("| key | sk-ant-api03-abcdefghij1234567890ABCDEFGHIJ |", "ghij1234"),
        ("curl -u admin:Kx83-pQ2z https://x.org", "Kx83-pQ2z"),
        ("redis://:p4ssw0rdX@cache:6379", "p4ssw0rdX"),
        ("<password>Kx83pQ2z</password>", "Kx83pQ2z"),
        ("--password=Kx83pQ2z --user bob", "Kx83pQ2z"),
        ("card: 4012-8888-8888-1881.", "8888-8888"),
    ],
)  # fmt: skip
def test_mask_hides_what_is_written_in_an_odd_way(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in mask(text)


#: What stands in forms for a password and for a token.
_FOR_PASSWORD = ("Kestrel-4821!", "hunter2xyz", "x7Kp2mQ9vT", "S0m[m]er{19}#")
_FOR_TOKEN = (
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "aB3dE5fG7hI9jK1lM3nO5pQ7rS9t",
    "kX9_vR2-mQ7tZ4pL8wN3",
    "Zx81kqRocket77Launch",
)
FORMS = Path(__file__).with_name("forms.txt").read_text(encoding="utf-8").rstrip("\n").split("\n--\n")[1:]


@pytest.mark.parametrize("form", FORMS)
def test_mask_hides_secrets_in_the_forms_of_real_notes(form: str) -> None:
    for password, token in zip(_FOR_PASSWORD, _FOR_TOKEN, strict=True):
        parts = re.split("[⟦⟧]", form.replace("{p}", f"⟦{password}⟧").replace("{t}", f"⟦{token}⟧"))
        text = "".join(parts)
        masked, at = mask(text), 0
        for number, part in enumerate(parts):
            if number % 2:
                shown = [masked[place] for place in range(at, at + len(part)) if masked[place] == text[place]]
                assert len(shown) < 4, (part, masked)
            at += len(part)


def test_forms_of_real_notes_have_many_values() -> None:
    values = sum(form.count("⟦") + 4 * (form.count("{p}") + form.count("{t}")) for form in FORMS)
    assert values >= 400


@pytest.mark.slow
def test_shapes_of_keys_take_linear_time() -> None:
    shapes = {shape.pattern.pattern: shape for rows in _shapes() for _, each in rows for shape in each}
    for shape in shapes.values():
        pattern = shape.pattern.compiled()  # type: ignore[attr-defined]
        steps = Steps(pattern)
        for prefix, part, suffix in attacks(pattern):
            once, twice = (steps.count(prefix + part * n + suffix, search=True) for n in (12, 24))
            assert twice <= 2.5 * once + 200, (shape.kind, prefix, part, suffix, once, twice)


#: Numbers of accounts: the examples of the registry, in several ways to write them.
_ACCOUNTS = """
DE89 3704 0044 0532 0130 00
DE89370400440532013000
de89 3704 0044 0532 0130 00
GB29 NWBK 6016 1331 9268 19
GB29 NWBK 601613 31926819
FR14 2004 1010 0505 0001 3M02 606
FR76 30006 00001 12345678901 89
NL91-ABNA-0417-1643-00
CH93.0076.2011.6238.5295.7
NO93 8601 1117 947
MT84 MALT 0110 0001 2345 MTLC AST0 01S
BR97 0036 0305 0000 1000 9795 493P 1
LC55 HEMM 0001 0001 0012 0012 0002 3015
SE45 5000 0000 0583 9825 7466
PL61 1090 1014 0000 0712 1981 2874
"""
_ACCOUNT_LINES = _ACCOUNTS.strip().split("\n")


@pytest.mark.parametrize("number", _ACCOUNT_LINES)
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "Pay to {}, please.",
        "IBAN:{}",
        "| IBAN | {} |",
        "**{}**",
        "`{}`",
        "（{}）",
        '"\\n{}"',
        "iban_{}",
    ],
)
def test_numbers_of_accounts_are_masked_on_request_alone(text: str, number: str) -> None:
    for written in (
        number,
        number.replace(" ", "\u00a0"),
        number.replace(" ", "\n", 1),
        number.replace(" ", "  "),
        number.replace("-", "\\-"),
        "\u200b".join(number),
    ):
        whole = text.replace("{}", written)
        before, after = text.split("{}")
        assert mask(whole) == whole
        masked = mask(whole, find(whole, ("iban",)))
        assert len(masked) == len(whole)
        hidden = masked.removeprefix(before).removesuffix(after)
        assert len(hidden) == len(written)
        assert not any(sign.isdigit() for sign in hidden)


@pytest.mark.parametrize(
    "text",
    [
        "DE88 3704 0044 0532 0130 00",  # other check digits
        "DE89 3704 0044 0532 0130 001",  # a digit more
        "DE89 3704 0044 0532 0130",
        "XX89 3704 0044 0532 0130 00",
        "at 20 to 25 people each month we meet in the room",
        "commit de8937040044053201300012345678",
        "See RFC 2119 and ISO 13616, page 12 of 97.",
    ],
)
def test_other_numbers_are_no_accounts(text: str) -> None:
    assert find(text, ("iban",)) == []
