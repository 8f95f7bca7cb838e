"""Find passwords and tokens in records, headers and command lines of a known form, by a table."""

from __future__ import annotations

import re
from binascii import a2b_base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from qmd.features.secrets.values import FoundSecret, is_code, is_filler, is_random
from qmd.text.regex import lazy

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
#: A variable, a template, or a reference to another place.
_STANDS_FOR = lazy(
    r"[$%@#\\]?[<{\[(]|[$%&@*!]{1,2}(?:[A-Z][A-Z\d_]*|[A-Za-z][A-Za-z_.:-]*\d?)?(?![\w!#$%&+=?@^~-])"
    r"|&#?\w+;|[.~]?/|https?:|\.\.|--"
)


def is_value(value: str) -> bool:
    """Tell whether a text in the place of a password can be one."""
    return not (
        len(value) < 4
        or value.lower().strip(".,;:!?[](){}<>") in _WORDS_FOR
        or _STANDS_FOR.match(value)
        or is_filler(value)
    )


_NAMED_PAIR = lazy(r"[\w.@+-]{1,64}:([!-~]{4,100})\Z")


def is_pair(value: str) -> bool:
    """Tell whether a value is the base64 of a name and a password."""
    try:
        decoded = a2b_base64(value + "=" * (-len(value) % 4)).decode("ascii")
    except ValueError:
        return False
    pair = _NAMED_PAIR.match(decoded)
    return pair is not None and is_value(pair[1])


#: The name of another value.
_NAMED = lazy(r"[\w.-]*[a-z_]=")


def _is_given(value: str) -> bool:
    """Tell whether a value in a record can be a password: it has a digit or a sign, and is no code."""
    return (
        is_value(value)
        and not is_code(value)
        and not value.isalpha()
        and not (len(value) < 6 and value.isdigit())
        and "/" not in value
        and not _NAMED.match(value)
    )


def _is_token(value: str) -> bool:
    return is_random(value, 2.5)


class _Record(NamedTuple):
    """A form by the keyword with which it begins, in lower case; its pattern, whose group is the secret."""

    keyword: str
    pattern: re.Pattern[str]
    kind: str = "password"
    holds: Callable[[str], bool] = _is_given


#: A value with quotes around it, or without.
_VALUE = r"(?:'([^'\n]{4,100})'|\"([^\"\n]{4,100})\"|([^\s'\"]{4,100}))"


def _command(program: str, option: str) -> _Record:
    """Return the form of a command that takes a password by an option, with the text that may be between."""
    name = rf"(?i:\b{re.escape(program)})\w{{0,9}}\b[^\n|;&]{{0,160}}?[ \t]"
    return _Record(program, lazy(rf"{name}(?:{option}){_VALUE}"))


def _number_of_key(name: str) -> _Record:
    """Return the form of a private number in a JSON web key."""
    pattern = rf"\"{name}\"[ \t\n]{{0,8}}:[ \t\n]{{0,8}}\"([\w+/=-]{{16,3000}})\""
    return _Record(f'"{name}"', lazy(pattern), "private key", bool)


#: A user and a password, in base64.
_PAIR = r"([A-Za-z0-9+/]{8,300}={0,2})"
_USER = r"[\w.@\\-]{1,80}"
_PGPASS = lazy(r":(?:5432|\*):[\w*.-]{1,63}:[\w*.@-]{1,63}:([^\s:'\"]{4,100})")
_AUTHORIZATION = lazy(
    r"(?i)authorization['\"]?[ \t]{0,4}[:=][ \t]{0,4}['\"]?"
    r"(?:bearer|basic|token|apikey|digest|bot)?[ \t]{0,4}['\"]?([\w.~+/=-]{8,})"
)
#: The forms by a part, in lower case, of any text that has one of them.
_RECORDS: Mapping[str, Sequence[_Record]] = {
    " -p": (
        *(_command(program, "-p") for program in ("mysql", "mariadb", "7z")),
        *(_command(program, r"-p[ \t]") for program in ("mongo", "docker login", "podman login", "az login")),
        _command("sshpass", r"-p[ \t]?"),
        _command("unzip", r"-P[ \t]"),
    ),
    " -a ": (_command("redis-cli", r"-a[ \t]"),),
    " -w ": (_command("ldap", r"-w[ \t]"),),
    " -u": (
        _command("smbclient", rf"-U[ \t]?{_USER}%"),
        _command("curl", rf"-[uU][ \t]?['\"]?{_USER}:"),
        _Record("-u ", lazy(rf"(?<=[ \t])-u[ \t]{{1,2}}['\"]?{_USER}:([^\s'\"]{{4,100}})")),
    ),
    "-user": (_Record("-user", lazy(rf"(?<=[-y])-user[ \t=]{{1,2}}['\"]?{_USER}:([^\s'\"]{{4,100}})")),),
    "password-stdin": (_Record("echo", lazy(rf"(?i)\becho[ \t]{{1,3}}{_VALUE}[ \t]{{0,3}}\|")),),
    "sudo -s": (_Record("echo", lazy(rf"(?i)\becho[ \t]{{1,3}}{_VALUE}[ \t]{{0,3}}\|[ \t]{{0,3}}sudo -S")),),
    "auth=(": (
        _Record("auth=(", lazy(r"auth=\(['\"][^'\"\n]{1,80}['\"],[ ]?['\"]([^'\"\n]{4,100})['\"]\)")),
    ),
    "/user:": (_command("net use", rf"/user:{_USER}[ \t]+"),),
    "pass:": (_command("openssl", r"-pass(?:in|out)?[ \t]pass:"),),
    # The lines of .netrc and .pgpass, of routers, and the text of a code for a wireless network.
    "password": (_Record("login", lazy(r"(?i)\blogin[ \t\n]+\S{1,80}[ \t\n]+password[ \t\n]+(\S{4,100})")),),
    ":5432:": (_Record(":5432:", _PGPASS),),
    ":*:": (_Record(":*:", _PGPASS),),
    "enable ": (_Record("enable ", lazy(r"(?i)\benable (?:secret|password)(?: \d)? (\S{4,100})")),),
    "snmp": (_Record("community", lazy(r"(?i)\bcommunity(?:[ \t]*[:=])?[ \t]+([^\s'\"]{4,100})")),),
    "wifi:": (_Record("wifi:", lazy(r"(?i)\bwifi:[^\n]{0,100}?;P:([^;\n]{4,63});")),),
    "authorization": (_Record("authorization", _AUTHORIZATION, "authorization", _is_token),),
    "bearer ": (_Record("bearer ", lazy(r"(?i)bearer[ \t]+([\w.~+/=-]{16,})"), "bearer token", _is_token),),
    "ssws ": (_Record("ssws ", lazy(r"(?i)\bssws[ \t]+([\w-]{30,60})"), "okta token", _is_token),),
    "_auth": (
        _Record(
            "_auth",
            lazy(r"(?i)(?<![a-z])_auth[ \t]{0,2}=[ \t]{0,2}['\"]?([\w.~+/=-]{8,})"),
            "token",
            _is_token,
        ),
    ),
    '"auth"': (_Record('"auth"', lazy(rf"\"auth\"[ \t\n]{{0,8}}:[ \t\n]{{0,8}}\"{_PAIR}\""), holds=is_pair),),
    "basic ": (_Record("basic ", lazy(rf"(?i)basic[ \t]+{_PAIR}"), holds=is_pair),),
    **{
        sign: (
            _Record(
                sign, lazy(r"(?i)\{S?(?:SHA|MD5)\d{0,3}\}([A-Za-z0-9+/]{22,100}=*)"), "password hash", bool
            ),
        )
        for sign in ("{sha", "{ssha", "{md5", "{smd5")
    },
    # https://develop.sentry.dev/sdk/overview/#parsing-the-dsn
    **dict.fromkeys(
        ("sentry", "dsn"),
        (_Record("://", lazy(r"://([0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]{1,80}/\d"), "sentry key", bool),),
    ),
    '"kty"': tuple(map(_number_of_key, ("d", "p", "q", "dp", "dq", "qi", "k"))),
}


_BY_SIGN = tuple(_RECORDS.items())


def recorded_secrets(text: str, lowered: str) -> Iterator[FoundSecret]:
    """Yield the secrets in records of a known form. `lowered` is the text in lower case."""
    for records in [records for sign, records in _BY_SIGN if sign in lowered]:
        for record in records:
            at = lowered.find(record.keyword)
            while at >= 0:
                match = record.pattern.match(text, at)
                if match and record.holds(match[match.lastindex or 0]):
                    yield FoundSecret(*match.span(match.lastindex or 0), record.kind)
                at = lowered.find(record.keyword, at + len(record.keyword))


#: The password in the address of a server: `scheme://user:password@host`.
_ADDRESS = lazy(r"://[^\s/:@'\"`<>|]{0,100}:([^\s/'\"`<>|]{1,200}?)@[\w.$%{\[-]")


def passwords_in_addresses(text: str) -> Iterator[FoundSecret]:
    at = text.find("://")
    while at >= 0:
        match = _ADDRESS.match(text, at)
        if match and is_value(match[1]):
            yield FoundSecret(match.start(1), match.end(1), "password")
        at = text.find("://", at + 3)
