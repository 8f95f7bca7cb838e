"""Find passwords and tokens by what stands before them: names such as `password`, headers, and addresses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qmd.text.regex import lazy
from qmd.text.secret_values import Secret, is_code, is_filler, is_random

#: The password in the address of a server: `scheme://user:password@host`.
_ADDRESS = lazy(r"://[^\s/:@'\"`<>|]{0,100}:([^\s/'\"`<>|]{1,200}?)@[\w.$%{\[-]")
#: Values that describe a secret, or stand for none.
_WORDS_FOR = frozenset(
    """
    password passwd pass pwd pw secret token key user username name login user:pass none null nil true
    false string str text value undefined required optional empty yes no on off default auto test testing
    admin root guest foo bar baz qux abc abcd xyz asdf hello world bytes int bool object any number
    unknown enabled disabled prompt stdin env environment file basic bearer digest negotiate oauth oauth2
    jwt api plain md5 sha1 sha256 bcrypt argon2 scrypt pbkdf2 aes rsa hmac mypassword mypass passphrase
    incorrect invalid wrong expired missing
    """.split()
)


def passwords_in_addresses(text: str) -> Iterator[Secret]:
    at = text.find("://")
    while at >= 0:
        match = _ADDRESS.match(text, at)
        if match and _is_value(match[1]):
            yield Secret(match.start(1), match.end(1), "password")
        at = text.find("://", at + 3)


def _is_value(value: str) -> bool:
    """Tell whether what stands where a password is expected can be one."""
    return not (
        len(value) < 4
        or value.lower().strip(".,;:!?[](){}<>") in _WORDS_FOR
        or _STANDS_FOR.match(value)
        or is_filler(value)
    )


#: A variable, a template, or a reference to another place.
_STANDS_FOR = lazy(r"[$%<{\[(*&@]|\\[$<{]|[.~]?/|https?:|#\{|!|\.\.|--")

#: What is looked for in the lower case of a text, and in texts of other scripts.
NAMES = (
    *("pass", "pwd", "secret", "token", "key", "credential", "cookie", "session"),
    *("kennwort", "wachtwoord", "mot de pass", "senha", "lozinka"),
)
OTHER_NAMES = (
    *("密码", "密碼", "口令", "密钥", "密鑰", "令牌", "パスワード", "비밀번호", "пароль", "hasło"),
    *("lösenord", "şifre", "contraseña"),
)
_PASSWORD = (
    r"passw(?:or)?d|passwort|passphrase|passcode|pwd|kennwort|wachtwoord|contrase[ñn]as?|senha|mot de passe"
    r"|lozinka|hasło|lösenord|şifre|密[码碼]|口令|パスワード|비밀번호|пароль"
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
_AUTHORIZATION = lazy(
    r"(?i)authorization['\"]?[ \t]{0,4}[:=][ \t]{0,4}['\"]?"
    r"(?:bearer|basic|token|apikey|digest|bot)?[ \t]{0,4}['\"]?([\w.~+/=-]{8,})"
)
_BEARER = lazy(r"(?i)bearer[ \t]+([\w.~+/=-]{16,})")
_CURL_USER = lazy(r"(?<=[ \t])(?:-u|--user)[ \t=]{1,2}['\"]?[\w.@-]{1,80}:([^\s'\"]{4,100})")
#: What a name goes on with if its value is no secret: `token_count`, `password_file`.
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


def named_secrets(text: str, names: Sequence[str]) -> Iterator[Secret]:
    """Yield the values of names such as `password` and `api_key`, and of headers of requests."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters have more characters in lower case
        lowered = "".join([sign.lower() if len(sign.lower()) == 1 else sign for sign in text])
    masks = [match.span() for match in _MASKED.finditer(text)] if "[secret" in lowered else []
    for name in names:
        at = lowered.find(name)
        while at >= 0:
            if not any(start <= at < end for start, end in masks) and (secret := _value_of(text, at)):
                yield secret
            at = lowered.find(name, at + len(name))
    if names is not NAMES:
        return
    if "authorization" in lowered:
        for match in _AUTHORIZATION.finditer(text):
            if is_random(match[1], 2.5):
                yield Secret(*match.span(1), "authorization")
    if "bearer " in lowered:
        for match in _BEARER.finditer(text):
            if is_random(match[1], 2.5):
                yield Secret(*match.span(1), "bearer token")
    if " -u" in text or "--user" in text:
        for match in _CURL_USER.finditer(text):
            if (
                _is_value(match[1])
                and not is_code(match[1])
                and not (len(match[1]) < 6 and match[1].isdigit())
            ):
                yield Secret(*match.span(1), "password")


def _value_of(text: str, at: int) -> Secret | None:
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
    if not _is_value(value) or (sign == "(" and (rest or not quote)):
        return None
    plain = not quote and sign not in ("=", ":=", "|", "：", ">")
    if kind == "password":
        good = _is_password(
            value, quoted=bool(quote), prose=plain and sign != ":", ends=_ends(text, match.end())
        )
    else:
        name, before = match["token"].lower(), text[max(0, at - 10) : at]
        bare = sign == " " or (name in ("key", "session", "cookie") and not _QUALIFIED.search(before))
        good = len(value) >= (20 if bare else 8) and is_random(value, 3.6 if bare else 2.8)
        kind = "api key" if before[-4:].lower().startswith("api") else "key" if "key" in name else "token"
    return Secret(match.start("value"), match.start("value") + len(value), kind) if good else None


def _in_table(text: str, at: int) -> bool:
    """Tell whether a bar is in a line that begins with one, as the rows of tables do."""
    start = text.rfind("\n", max(0, at - 200), at) + 1
    return text[start:at].lstrip(" \t>").startswith("|")


def _ends(text: str, at: int) -> bool:
    """Tell whether a line ends after a value."""
    return not text[at : at + 3].split("\n", 1)[0].strip("'\"`|*_ ,;")


_LETTERS = lazy(r"[^\W\d_]+\Z")


def _is_password(value: str, *, quoted: bool, prose: bool, ends: bool) -> bool:
    """Tell whether a value of a password can be one: it has a digit or sign, or stands alone in its line."""
    if is_code(value) or (quoted and value.count(" ") > 5):
        return False
    if quoted and " " in value:
        return any(sign.isdigit() for sign in value) and not value[0].isspace() and not value[-1].isspace()
    digit = any(sign.isdigit() for sign in value)
    letter = any(sign.isalpha() for sign in value)
    sign = any(not each.isalnum() and each not in "_-.'’" for each in value)
    if not value.isascii() and not digit:
        return False
    if prose:
        return digit and letter and len(value) >= 6
    if _LETTERS.match(value):
        # A word in lower case is taken for a description.
        return ends and len(value) >= 8 and not (value.islower() or value.istitle() or value.isupper())
    return (digit and (letter or sign or len(value) >= 4)) or (sign and letter and ends and len(value) >= 6)
