"""Find passwords and tokens by the text before them: names such as `password`, headers, and addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from qmd.features.secrets.grids import columns
from qmd.features.secrets.records import is_value
from qmd.features.secrets.values import FoundSecret, is_code, is_generated, is_like_password, is_random
from qmd.text.regex import lazy

#: Words looked for in the lower case of a text, and in texts of other scripts.
NAMES = (
    *("pass", "pw", "secret", "token", "key", "cred", "cookie", "session", "login", "psk", "mdp"),
    *("kennwort", "wachtwoord", "mot de pass", "senha", "lozinka", "zugangsdaten", "clave"),
    *("parola", "sifre", "losungswort", "zugangscode", "palabra de paso", "palavra", "codice di acc"),
    *("chiave di acc", "chave de acesso", "toegangscode", "haslo", "adgangskode", "kodeord", "salasana"),
    *("heslo", "hesla", "kata sandi", "jelszo", "mat khau", "contrasena"),
)
OTHER_NAMES = (
    *("schlüssel", "code d'accès", "phrase secrète", "кодовое слово", "暗証番号", "合言葉", "パスフレーズ"),
    *("パスコード", "패스워드", "jelszó", "κωδικ", "סיסמ", "كلمة المرور", "كلمة السر", "mật khẩu", "पासवर्ड"),
    "รหัสผ่าน",
    *(
        "密码",
        "密碼",
        "口令",
        "密钥",
        "密鑰",
        "令牌",
        "パスワード",
        "비밀번호",
        "비번",
        "암호",
        "парол",
        "hasł",
    ),
    *("lösenord", "şifre", "contraseña"),
)
_PASSWORD = (
    r"passw(?:or?|r)?d|passwort|pass[-_ ]?phrase|pass word|parola|sifre|passcode|pwd|kennwort|wachtwoord"
    r"|contrase[ñn]as?|senha|mot de passe|lozinka|hasł[oa]|lösenord|şifre|密[码碼]|口令"
    r"|パスワード|비밀번호|비번|암호|парол[ьюяе]м?"
    r"|passord|clave de acceso|losungswort|zugangscode|(?<=wlan[- ])schlüssel|(?<=wifi[- ])schlüssel"
    r"|code d'accès|phrase secrète|palabra de paso|palavra[- ]passe|chave de acesso|codice di accesso"
    r"|chiave di accesso|toegangscode|haslo|hasłem|adgangskode|kodeord|salasana|hesl[oa]|kata sandi"
    r"|jelsz[oó]|mật khẩu|mat khau|кодовое слово|暗証番号|合言葉|パスフレーズ|パスコード|패스워드|κωδικ[όο]ς?"
    r"|סיסמ[הא]|كلمة (?:المرور|السر)|पासवर्ड|รหัสผ่าน"
)
#: Shorter names, which are words of their own, and names of pairs of a user and a password.
_SHORT = (
    r"(?<![a-z])(?:pass|pw|psk|mdp)(?![a-z-])|(?:pass|pw)(?=[ \t]{0,3}[:=])"
    r"|\b(?:creds|credentials|logins?|zugangsdaten|clave)\b"
)
_TOKEN = (
    r"secret(?:[-_ ]?(?:access[-_ ]?)?key)?|token|credentials?|key|session(?:[-_ ]?(?:id|key))?|cookie"
    r"|密[钥鑰]|令牌"
)
_BETWEEN = (
    r"(?P<rest>(?:[-_. ]?[\w.-]{1,24}){0,2}?)[\]'\"`*)]{0,4}[ \t]{0,8}"
    r"(?P<sign>:=|=>|={1,3}|[:：＝|>]|->|,(?=[ \t]?['\"])| is | lautet |是|为|為|は|\(|[ \t](?=['\"`]))"
    r"[ \t*]{0,8}(?P<quote>['\"`]{0,3})(?:(?:Bearer|Basic|Token)[ \t]+)?"
)
_VALUE = r"(?P<value>(?<=['\"`])[^'\"`\n]{4,200}(?=(?P=quote))|[!#-%(-;=?-_a-{}~]{4,200})"
_NAMED = lazy(rf"(?i)(?:(?P<password>{_PASSWORD})|(?P<token>{_TOKEN})){_BETWEEN}{_VALUE}")
_OPTION = lazy(
    r"(?i)(?P<password>password|passwd|pwd|token|api-key|secret)[ \t]+(?P<quote>['\"]?)"
    r"(?P<value>[^\s'\"]{6,200})"
)
#: Endings of names whose value is no secret: `token_count`, `password_file`.
_NO_SECRET = lazy(
    r"(?i)(?:count|region|limit|len|length|type|name|names|path|file|url|uri|size|field|format|expir|ttl|polic|hash\b|strength|"
    r"label|hint|prompt|placeholder|param|header|class|id\b|ids\b|version|min|max|age\b|usage|budget|izer|ization|ized|"
    r"ring|word|board|points?\b|frame|note|stone|reset|manager|rotation|index|pair|algo|error|env|var|regex|pattern|"
    r"store|chain|code|map|set|bind|press|down|up\b|spec|fn|func|func|storage|provider|s\b)"
)


#: A key with one of these before it is no key of a map.
_QUALIFIED = lazy(
    r"(?i)(?:api|access|auth|private|secret|account|master|signing|encryption|deploy|licen[sc]e)[-_ ]?\Z"
)
_MASKED = lazy(r"\[secret(?:: [a-z0-9 ]{1,30})?\]\.*")


def lower(text: str) -> str:
    """Return a text of the same length in lower case."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters have more characters in lower case
        lowered = "".join([sign.lower() if len(sign.lower()) == 1 else sign for sign in text])
    return lowered


def named_secrets(text: str, lowered: str, names: Sequence[str]) -> Iterator[FoundSecret]:
    """Yield the values of names such as `password` and `api_key`. `lowered` is the text in lower case."""
    masks = [match.span() for match in _MASKED.finditer(text)] if "[secret" in lowered else []
    for name in names:
        at = lowered.find(name)
        if at < 0:
            continue
        near = _Near(text)
        while at >= 0:
            if not any(start <= at < end for start, end in masks):
                if secret := _value_of(text, at):
                    yield secret
                else:
                    yield from near.secrets(at)
            at = lowered.find(name, at + len(name))


def _value_of(text: str, at: int) -> FoundSecret | None:
    """Return the secret after a name at a place of a text; None if there is none."""
    match = _NAMED.match(text, at)
    kind = "password"
    if match is None:
        if text[max(0, at - 2) : at] != "--" or (match := _OPTION.match(text, at)) is None:
            return None
        rest, sign, quote = "", "=", match["quote"]
    else:
        rest, sign, quote = match["rest"], match["sign"], match["quote"]
        kind = "password" if match["password"] else "token"
        if sign == "|" and not _in_table(text, match.start("sign")):
            return None
    if _NO_SECRET.search(rest):
        return None
    value = match["value"].rstrip(".,;:)]}\\") if not quote else match["value"]
    if not is_value(value) or (sign == "(" and (rest or not quote)):
        return None
    if kind == "token":
        kind = _kind_of_token(value, match["token"].lower(), text[max(0, at - 10) : at], sign, quote)
    else:
        prose = not quote and sign not in ("=", ":=", "|", "：", ">", ":")
        kind = kind if _is_password(value, bool(quote), prose, _ends(text, match.end())) else ""
    return FoundSecret(match.start("value"), match.start("value") + len(value), kind) if kind else None


def _kind_of_token(value: str, name: str, before: str, sign: str, quote: str | None) -> str:
    """Return what kind of secret the value of a name such as `token` is; "" if it is none."""
    bare = sign == " " or (name in ("key", "session", "cookie") and not _QUALIFIED.search(before))
    good = len(value) >= (20 if bare else 8) and is_random(value, 3.6 if bare else 2.8)
    if not (good or (quote and "secret" in name and is_generated(value))):
        return ""
    return "api key" if before[-4:].lower().startswith("api") else "key" if "key" in name else "token"


_PASSWORDS = lazy(rf"(?i){_SHORT}|{_PASSWORD}")
_TOKENS = lazy(rf"(?i)(?:{_TOKEN})(?!\w)")
#: The rest of a name: in scripts without spaces the next word may be the value.
_ATTACHED = lazy(r"(?:(?<=[A-Za-z])[-_.]?[A-Za-z0-9_]{0,24}|[\u00c0-\u052f]{0,8})")
_DIGIT = lazy(r"\d")
#: A run of the signs of a password, and the text around it.
_RUN = lazy(r"[!#-&(-;=?-_a-{}~]{1,200}")
_BEFORE, _AFTER = "([:=*_->", ".,;:)]}*_?"
#: The text between a name and its value: signs, and words for `is` and `to`.
_LINKS = frozenset(
    """
    is are was now be to becomes it's : = - -> => / e es est era ist lautet war zijn to este remains stays
    currently jetzt nun auf bleibt wurde maintenant en siendo ahora a ora in agora para nu luidt jest brzmi
    na teraz nyt on er je nyni la adalah olarak
    """.split()
)
_LINKING = lazy(r"[\"'`：—–→«“「是为為成作设設はがをにの은는이가을를éè\x80-\xa0]|är|heißt|теперь|это| на ")
#: Another name with its value.
_ASSIGNED = lazy(r"[\w?&.{}-]*[a-z_]\}*=", re.I)
#: A value before a name, as in `X is the password`.
_FIRST = lazy(
    r"(?P<value>[!#-&(-;=?-_a-{}~]{6,100})['\"`]{0,3}"
    r"(?:,? (?:is|was|as|ist|war|als|est|comme|es|como|come|e|to|jako|som|это|[\x80-\xff]{1,2})"
    r" (?:[^\W\d_'’]{1,12}[ '’-]){0,3}|[ ]?(?:作为|作為|是|が|は|로|을|를)[^\W\d_]{0,4})\Z"
)
#: The most words between a name and a value, and characters.
_WORDS, _DISTANCE = 7, 120
_BELOW = lazy(
    r"(?P<words>[^\n:?]{0,40}[:?])?[ \t:*_`#>=\"'-]{0,12}\r?\n"
    r"(?:[ \t>]{0,12}(?:`{3,}\w{0,12}|~{3,})?[ \t]{0,8}\r?\n){0,2}[ \t>]{0,12}(?:[-*+][ \t]{1,4})?"
    r"(?:\[[^\]\n]{1,20}\][ \t]{1,4})?(?:[\w.-]{1,20}[:>][ \t]{1,4})?(?:it'?s[ \t])?[`*\"']{0,3}"
    r"(?P<value>[^\s`\"'<>|]{4,200})[`*\"',;.]{0,3}[ \t]{0,8}(?:\r?\n|\Z)"
)
#: Markup and the ends of HTML between a name and its value.
_TAGGED = lazy(r"[:\s]{0,4}(?:</?[a-z][^<>]{0,100}>\s{0,20}){1,6}(?P<value>[^\s<>]{4,200})(?=\s{0,20}<)")
#: The value of another member or attribute.
_BESIDE = lazy(
    r"['\"]?,?[ \t]{0,4}\n?[ \t]{0,12}['\"]?value['\"]?[ \t]{0,4}[:=][ \t]{0,4}['\"]?"
    r"(?P<value>[^\s'\"<>]{4,200})"
)
#: The most characters of the name above a column, and names of a line that are looked at.
_HEAD, _HEADS = 40, 8


class _Near:
    """Finds values that stand near the places of a name: in its sentence, below it, and in its column.

    The places are asked about in their order.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._line, self._heads = -1, 0
        self._head, self._end = -1, 0  # of the last table

    def secrets(self, at: int) -> Iterator[FoundSecret]:
        """Yield the secrets that the name at a place has, beside one right after it."""
        text = self._text
        match = _PASSWORDS.match(text, at)
        named = match or _TOKENS.match(text, at)
        if named is None:
            return
        end = named.end()
        if match:
            end = _ATTACHED.match(text, end).end()  # type: ignore[union-attr] # may be empty
        if _NO_SECRET.match(text[named.end() : end].lstrip("-_.")) or text.startswith("----", end):
            return
        kind = "password" if match else "token"
        if match and (secret := self._in_sentence(end) or self._before(at)):
            yield secret
            return
        for pattern in (_BELOW, _TAGGED, _BESIDE):
            value = pattern.match(text, end)
            near = pattern is not _BELOW or not (value and value["words"] and value["words"].strip(":? "))
            if value and self._is_secret(value["value"], kind, near=near):
                yield FoundSecret(*value.span("value"), kind)
                return
        yield from self._in_column(at, kind)

    def _is_secret(self, value: str, kind: str, *, near: bool = True) -> bool:
        if kind == "token":
            return near and len(value) >= _CLEAR_TOKEN and is_random(value, 2.8)
        return is_value(value) and is_like_password(value, linked=near)

    def _in_sentence(self, at: int) -> FoundSecret | None:
        """Return the first word of the same sentence that is like a password."""
        text = self._text
        line = text.find("\n", at, at + _DISTANCE)
        limit = min(len(text), at + _DISTANCE) if line < 0 else line
        if not _DIGIT.search(text, at, limit):
            return None
        before, ends = "", at
        for number, match in enumerate(_RUN.finditer(text, at, limit)):
            if number == _WORDS:
                break
            run, gap = match[0], text[ends : match.start()]
            core, offset = _core(run)
            start = match.start() + offset
            if _ASSIGNED.match(core):
                break
            linked = (
                run[0] in ":="
                or before.lower() in _LINKS
                or before[-1:] in (":", "=", ">")
                or _LINKING.search(gap) is not None
                or text[start - 1] == ":"
                or (not number and gap.isspace())
            )
            if core and is_value(core) and is_like_password(core, linked=linked):
                return FoundSecret(start, start + len(core), "password")
            if run[-1] in ".!?" or "。" in gap:
                break
            before, ends = run, match.end()
        return None

    def _before(self, at: int) -> FoundSecret | None:
        """Return the password that a sentence has before its name."""
        start = max(0, at - _DISTANCE, self._text.rfind("\n", 0, at) + 1)
        match = _FIRST.search(self._text[start:at]) if _DIGIT.search(self._text, start, at) else None
        if match is None or not is_value(match["value"]) or not is_like_password(match["value"], linked=True):
            return None
        return FoundSecret(start + match.start("value"), start + match.end("value"), "password")

    def _in_column(self, at: int, kind: str) -> Iterator[FoundSecret]:
        """Yield the secrets in the column of a table whose head has a name at a place."""
        text = self._text
        line = text.rfind("\n", max(0, at - _HEAD_LINE), at) + 1
        self._heads = self._heads + 1 if line == self._line else 0
        self._line = line
        # The rows of a table that was read are no heads.
        if (
            (at < self._end and line != self._head)
            or self._heads >= _HEADS
            or (found := columns(text, at)) is None
        ):
            return
        name, cells, end = found
        self._head, self._end = line, max(end, self._end)
        if len(name) > _HEAD or name.count(" ") > _HEAD_WORDS:
            return
        for start, end in cells:
            value = text[start:end]
            if not 4 <= len(value) <= 200 or " " in value or not is_value(value):
                continue
            if self._is_secret(value, kind) or (kind == "password" and _is_listed(value)):
                yield FoundSecret(start, end, kind)


_VERSION = lazy(r"v?\d++(?:[.:/-]\d++)++\w*+\Z|\d++\w{0,3}\Z")
#: The fewest characters of a token below its name.
_CLEAR_TOKEN = 16
_HEAD_LINE, _HEAD_WORDS = 4_000, 3


def _core(run: str) -> tuple[str, int]:
    """Return a run of signs without those around a password and a user before it, and where that begins."""
    core = run.lstrip(_BEFORE)
    for sign in (":", "/"):
        if "://" not in core and sign in core.rstrip(_AFTER):
            core = core.rstrip(_AFTER).rpartition(sign)[2]
    return core.partition(",")[0].rstrip(_AFTER), run.find(core) if core else 0


def _is_listed(value: str) -> bool:
    """Tell whether a cell in a column of passwords has one."""
    return _is_password(value) and not _VERSION.match(value)


def _in_table(text: str, at: int) -> bool:
    """Tell whether a bar is in a line that begins with one, as the rows of tables do."""
    start = text.rfind("\n", max(0, at - 200), at) + 1
    return text[start:at].lstrip(" \t>").startswith("|")


def _ends(text: str, at: int) -> bool:
    """Tell whether a line ends after a value."""
    return not text[at : at + 3].split("\n", 1)[0].strip("'\"`|*_ ,;")


_LETTERS = lazy(r"[^\W\d_]+\Z")
_LETTER = lazy(r"[^\W\d_]")
#: A character that is neither a letter nor usual in names.
_SIGN = lazy(r"[^\w.'’-]")


def _is_password(value: str, quoted: bool = False, prose: bool = False, ends: bool = True) -> bool:
    """Tell whether a value of a password can be one: it has a digit or sign, or stands alone in its line."""
    digit = _DIGIT.search(value) is not None
    if is_code(value) or not (digit or value.isascii()):
        return False
    if quoted and " " in value:
        return digit and value.count(" ") <= 5 and value == value.strip()
    letter = _LETTER.search(value) is not None
    if prose:
        return digit and letter and len(value) >= 6
    if _LETTERS.match(value):
        # A word in lower case is taken for a description.
        return ends and len(value) >= 8 and value not in (value.lower(), value.title(), value.upper())
    sign = _SIGN.search(value) is not None
    if digit:
        return letter or sign or len(value) >= 4
    return sign and letter and ends and len(value) >= 6
