"""Planted secrets: of all kinds, in every place of a document. None of them is a secret of anybody.

The same seed makes the same canaries.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

_ALNUM = string.ascii_letters + string.digits
_URL = _ALNUM + "-_"
_HEX = "0123456789abcdef"
_BASE64 = _ALNUM + "+/"
#: What is written, the secret in it, and the language.
Written: TypeAlias = tuple[str, str, str]
#: Sentences around canaries.
_PROSE = {
    "en": "The backup server is restored every night, and the release waits for it.",
    "de": "Der Server wird jede Nacht gesichert, und die Freigabe wartet darauf.",
    "fr": "Le serveur est restauré chaque nuit, et la publication attend.",
    "es": "El servidor se restaura cada noche y la publicación espera.",
    "ru": "Сервер восстанавливается каждую ночь, и выпуск ждёт этого.",
    "zh": "备份服务器每天晚上恢复，发布要等它完成。",
    "ja": "バックアップサーバーは毎晩復元され、リリースはそれを待ちます。",
    "ko": "백업 서버는 매일 밤 복원되고 릴리스는 이를 기다립니다.",
}
_PASSWORDS = {
    "en": (
        "password = {}",
        "Password: {}",
        "passwd={}",
        "DB_PASSWORD={}",
        'password: "{}"',
        "the password is {}",
    ),
    "de": ("Passwort: {}", "Das Passwort lautet {}", "Kennwort = {}"),
    "fr": ("mot de passe : {}", "Mot de passe: `{}`"),
    "es": ("contraseña: {}", "Contraseña = {}"),
    "ru": ("пароль: {}", "Пароль = {}"),
    "zh": ("密码：{}", "口令: `{}`", "密码是 {}"),
    "ja": ("パスワード：{}", "パスワードは {}"),
    "ko": ("비밀번호: {}", "비밀번호 = {}"),
}


class Canary(Struct, frozen=True):
    """A planted secret: its kind, what is written, and the parts by which it is known if it gets out."""

    kind: str
    written: str
    needles: tuple[str, ...]
    language: str = "en"
    shape: bool = False  #: Whether it is known without a name before it, and may stand anywhere


def canaries(number: int, seed: int = 7) -> list[Canary]:
    """Return canaries of all kinds in turn."""
    rng = random.Random(seed)
    makers = [*_SHAPES.items(), *_NAMED.items()]
    return [_canary(rng, *makers[place % len(makers)]) for place in range(number)]


def accounts(number: int, seed: int = 9) -> list[Canary]:
    """Return canaries that are numbers of accounts, in several countries and ways to write them."""
    rng = random.Random(seed)
    made = [_account(rng) for _ in range(number)]
    return [Canary("account number", each, _needles(each), shape=True) for each in made]


def _account(rng: random.Random) -> str:
    banks = (("DE", 18), ("NLABNA", 10), ("GBNWBK", 14), ("FR", 23), ("CH", 17), ("ES", 20))
    bank, digits = rng.choice(banks)
    number = bank[2:] + "".join(rng.choice(string.digits) for _ in range(digits))
    value = int("".join(str(int(sign, 36)) for sign in f"{number}{bank[:2]}00"))
    made = f"{bank[:2]}{98 - value % 97:02}{number}"
    groups = [made[at : at + 4] for at in range(0, len(made), 4)]
    return rng.choice((made, " ".join(groups), " ".join(groups), "-".join(groups), made.lower()))


def _canary(
    rng: random.Random, kind: str, make: Callable[[random.Random], str | tuple[str, str, str]]
) -> Canary:
    made = make(rng)
    if isinstance(made, str):
        return Canary(kind, made, _needles(made), shape=True)
    written, secret, language = made
    return Canary(kind, written, _needles(secret), language)


def _needles(secret: str) -> tuple[str, ...]:
    """Return the lines of a secret; of a long line its parts as well."""
    found: list[str] = []
    for line in secret.split("\n"):
        if "-----" in line or len(line) < 6:
            continue
        found.append(line)
        if len(line) >= 24:
            half = len(line) // 2
            found += [line[half:], line[half - 8 : half + 4]]
    return tuple(found)


def _some(rng: random.Random, signs: str, length: int) -> str:
    while True:
        made = "".join(rng.choice(signs) for _ in range(length))
        # As a key has; the first and last sign are no punctuation.
        if made[0].isalnum() and made[-1].isalnum() and (length < 8 or any(sign.isdigit() for sign in made)):
            return made


def _jwt(rng: random.Random) -> str:
    def part(value: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    head = part({"alg": "HS256", "typ": "JWT"})
    return f"{head}.{part({'sub': _some(rng, _HEX, 12), 'iat': rng.randrange(10**9)})}.{_some(rng, _URL, 43)}"


def _pem(rng: random.Random, kind: str) -> str:
    lines = [_some(rng, _BASE64, 64) for _ in range(rng.randrange(4, 20))] + [_some(rng, _ALNUM, 30) + "=="]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])


def _card(rng: random.Random) -> str:
    start, length = rng.choice((("4", 16), ("51", 16), ("55", 16), ("37", 15), ("6011", 16), ("2221", 16)))
    digits = [
        int(each)
        for each in start + "".join(rng.choice(string.digits) for _ in range(length - 1 - len(start)))
    ]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[::-1][::2]]
    check = (10 - (sum(doubled) + sum(digits[::-1][1::2])) % 10) % 10
    number = "".join(map(str, [*digits, check]))
    if length == 16 and rng.random() < 0.6:
        return rng.choice((" ", "-")).join(number[at : at + 4] for at in range(0, 16, 4))
    return number


def _password(rng: random.Random) -> str:
    style = rng.randrange(4)
    if style == 0:
        return _some(rng, _ALNUM + "!#%+=_-", rng.randrange(10, 18))
    if style == 1:
        return f"{rng.choice(('Sommer', 'Rocket', 'Kestrel', 'Zebra'))}-{rng.randrange(1000, 9999)}!"
    if style == 2:
        return _some(rng, _ALNUM, rng.randrange(9, 14))
    words = rng.choice(("tiger", "maple", "copper")), rng.choice(("river", "stone", "cloud"))
    return f"{words[0]}{rng.randrange(100, 999)}{words[1]}"


def _named_password(rng: random.Random) -> Written:
    language = rng.choice([*_PASSWORDS])
    secret = _password(rng)
    return rng.choice(_PASSWORDS[language]).format(secret), secret, language


def _of(template: str, make: Callable[[random.Random], str]) -> Callable[[random.Random], Written]:
    def made(rng: random.Random) -> Written:
        secret = make(rng)
        return template.replace("{}", secret), secret, "en"

    return made


def _of_slack(rng: random.Random) -> str:
    return f"T{_some(rng, _ALNUM, 8)}/B{_some(rng, _ALNUM, 8)}/{_some(rng, _ALNUM, 24)}"


#: Keys that are known by their shape.
_SHAPES: dict[str, Callable[[random.Random], str]] = {
    "aws key": lambda rng: rng.choice(("AKIA", "ASIA")) + _some(rng, string.ascii_uppercase + "234567", 16),
    "github token": lambda rng: rng.choice(("ghp_", "gho_", "ghs_", "ghr_")) + _some(rng, _ALNUM, 36),
    "github pat": lambda rng: f"github_pat_{_some(rng, _ALNUM, 22)}_{_some(rng, _ALNUM, 59)}",
    "gitlab token": lambda rng: "glpat-" + _some(rng, _URL, 20),
    "slack token": lambda rng: (
        f"xoxb-{rng.randrange(10**11, 10**12)}-{rng.randrange(10**11, 10**12)}-{_some(rng, _ALNUM, 24)}"
    ),
    "slack webhook": lambda rng: "https://hooks.slack.com/services/" + _of_slack(rng),
    "stripe key": lambda rng: rng.choice(("sk_live_", "rk_live_", "sk_test_")) + _some(rng, _ALNUM, 24),
    "google key": lambda rng: "AIza" + _some(rng, _URL, 35),
    "google secret": lambda rng: "GOCSPX-" + _some(rng, _URL, 28),
    "openai key": lambda rng: "sk-proj-" + _some(rng, _URL, 80),
    "openai old key": lambda rng: "sk-" + _some(rng, _ALNUM, 48),
    "anthropic key": lambda rng: f"sk-ant-api03-{_some(rng, _URL, 93)}AA",
    "npm token": lambda rng: "npm_" + _some(rng, _ALNUM, 36),
    "pypi token": lambda rng: "pypi-AgEIcHlwaS5vcmc" + _some(rng, _URL, 100),
    "telegram token": lambda rng: f"{rng.randrange(10**9, 10**10)}:AA{_some(rng, _URL, 33)}",
    "discord token": lambda rng: (
        f"M{_some(rng, _ALNUM, 23)}.{_some(rng, _ALNUM, 6)}.{_some(rng, _ALNUM, 27)}"
    ),
    "twilio key": lambda rng: "SK" + _some(rng, _HEX, 32),
    "sendgrid key": lambda rng: f"SG.{_some(rng, _URL, 22)}.{_some(rng, _URL, 43)}",
    "huggingface token": lambda rng: "hf_" + _some(rng, _ALNUM, 34),
    "jwt": _jwt,
    "rsa key": lambda rng: _pem(rng, "RSA PRIVATE KEY"),
    "openssh key": lambda rng: _pem(rng, "OPENSSH PRIVATE KEY"),
    "pgp key": lambda rng: _pem(rng, "PGP PRIVATE KEY BLOCK"),
    "card": _card,
}
#: Secrets that are known by what stands before them.
_NAMED: dict[str, Callable[[random.Random], Written]] = {
    "password": _named_password,
    "password 2": _named_password,
    "password 3": _named_password,
    "basic auth": _of("https://deploy:{}@git.internal.org/repo.git", lambda rng: _some(rng, _ALNUM, 14)),
    "postgres": _of("postgres://app:{}@db.internal.org:5432/main", _password),
    "redis": _of("redis://:{}@cache.internal.org:6379/0", lambda rng: _some(rng, _ALNUM, 20)),
    "mongodb": _of("mongodb+srv://root:{}@cluster0.mongodb.net/test", lambda rng: _some(rng, _ALNUM, 16)),
    "azure key": _of(
        "DefaultEndpointsProtocol=https;AccountName=store;AccountKey={};EndpointSuffix=core.windows.net",
        lambda rng: _some(rng, _BASE64, 86) + "==",
    ),
    "aws secret": _of("aws_secret_access_key = {}", lambda rng: _some(rng, _BASE64, 40)),
    "api key": _of("api_key: {}", lambda rng: _some(rng, _HEX, 32)),
    "client secret": _of('"client_secret": "{}"', lambda rng: _some(rng, _ALNUM, 32)),
    "token": _of("ACCESS_TOKEN={}", lambda rng: _some(rng, _ALNUM, 40)),
    "bearer": _of("Authorization: Bearer {}", lambda rng: _some(rng, _ALNUM, 30)),
    "basic": _of(
        "Authorization: Basic {}",
        lambda rng: base64.b64encode(f"admin:{_some(rng, _ALNUM, 12)}".encode()).decode(),
    ),
    "curl": _of("curl -u admin:{} https://api.internal.org/v1", lambda rng: _some(rng, _ALNUM, 12)),
}

#: Where a canary stands in a document; `{}` is the canary and `{prose}` a sentence.
_PLACES: dict[str, str] = {
    "text": "# Note {n}\n\n{prose} {} {prose}\n",
    "paragraph": "# Note {n}\n\n{prose}\n\n{}\n\n{prose}\n",
    "fence": "# Note {n}\n\n{prose}\n\n```sh\n{}\n```\n",
    "list": "# Note {n}\n\n- {prose}\n- {}\n",
    "quote": "# Note {n}\n\n> {prose}\n> {}\n",
    "code": "# Note {n}\n\n{prose}: `{}`\n",
}
#: Places for secrets in one line, and for those that are known by their shape.
_IN_LINES = {
    "table": "# Note {n}\n\n| what | value |\n|---|---|\n| {prose} | {} |\n",
    "front matter": "---\ntitle: Note {n}\nnote: '{}'\n---\n\n{prose}\n",
    "heading": "# Note {n}\n\n{prose}\n\n## About {}\n\n{prose}\n",
}
_OF_SHAPES = {
    "title": "# Note {n} {}\n\n{prose}\n",
    "link": "# Note {n}\n\n{prose} [here](https://host.internal.org/x?k={}).\n",
    "field": "---\nmachine: {}\n---\n# Note {n}\n\n{prose}\n",
    "tag": "---\ntags: [ops]\naliases: ['{}']\n---\n# Note {n}\n\n{prose}\n",
}


def plant(folder: Path, planted: Sequence[Canary], notes: Sequence[str] = ("",), seed: int = 8) -> list[Path]:
    """Write a document for each canary into a folder, in all places in turn, before the text of a note."""
    rng = random.Random(seed)
    files: list[Path] = []
    for number, canary in enumerate(planted):
        path = folder / f"note-{number:03}.md"
        text = f"{_document(rng, number, canary)}\n{notes[number % len(notes)]}".rstrip() + "\n"
        if number % 17 == 5:
            path, text = path.with_suffix(".jsonl"), "\n".join(_transcript(canary)) + "\n"
        path.write_text(text, encoding="utf-8")
        files.append(path)
    return files


def _document(rng: random.Random, number: int, canary: Canary) -> str:
    written = canary.written
    lines = "\n" in written
    places = _PLACES | ({} if lines else _IN_LINES) | (_OF_SHAPES if canary.shape and not lines else {})
    if canary.kind == "slack webhook":
        places = _PLACES
    name = [*places][number % len(places)]
    if lines:
        before = {"list": "  ", "quote": "> "}.get(name, "")
        written = written.replace("\n", f"\n{before}")
    elif canary.shape and len(written) > 70 and name in ("text", "paragraph", "quote") and number % 2:
        at = rng.randrange(36, 60)
        written = written[:at] + ("\n> " if name == "quote" else "\n") + written[at:]
    prose = _PROSE[canary.language]
    return places[name].replace("{n}", str(number)).replace("{prose}", prose).replace("{}", written)


def _transcript(canary: Canary) -> Iterator[str]:
    output = {"type": "tool_result", "content": f"$ env\n{canary.written}\n"}
    for role, content in (("user", "Restore the backup."), ("user", [output]), ("assistant", _PROSE["en"])):
        message = {"role": role, "content": content}
        yield json.dumps({"sessionId": "7", "type": role, "message": message}, ensure_ascii=False)


def leaks(output: str, planted: Sequence[Canary]) -> list[Canary]:
    """Return the canaries of which an output shows something."""
    return [canary for canary in planted if any(needle in output for needle in canary.needles)]
