"""Find international numbers of bank accounts (IBAN), which are masked if an index asks for it."""

from __future__ import annotations

from collections.abc import Iterator

from qmd.features.secrets.values import FoundSecret
from qmd.text.regex import lazy

#: The countries by the length of their numbers: those of the registry of ISO 13616, and others that use them.
_COUNTRIES = {
    15: "NO",
    16: "BE",
    18: "DK FI FK FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "AO CV GW LY MZ PT ST",
    26: "DZ IR IS TR",
    27: "BI CF CG CM DJ FR GA GQ GR IT KM MC MG MR SM TD",
    28: "AL AZ BF BJ BY CI CY DO GT HN HU LB MA ML NE NI PL SN SV TG",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
_LENGTHS = {country: length for length, countries in _COUNTRIES.items() for country in countries.split()}
#: The beginning of a number, also behind `\n`, up to its check digits; and how it goes on, also over lines.
_BEGINNING = lazy(r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))([A-Za-z]{2})[ .-]?(\d[ .-]?\d)")
_SIGN = lazy(r"[\s.-]{0,2}([A-Za-z0-9])")


def account_numbers(text: str) -> Iterator[FoundSecret]:
    """Yield the numbers of accounts: of a known country, as long as there, with valid check digits."""
    done = 0
    for match in _BEGINNING.finditer(text):
        length = _LENGTHS.get(match[1].upper())
        if length is None or match.start() < done:
            continue
        signs: list[str] = []
        at = match.end()
        while len(signs) < length - 4 and (sign := _SIGN.match(text, at)):
            signs.append(sign[1])
            at = sign.end()
        if len(signs) < length - 4 or text[at : at + 1].isalnum():
            continue
        number = "".join([*signs, match[1], *filter(str.isdigit, match[2])])
        digits = sum(map(str.isdigit, signs))
        if 2 * digits >= len(signs) and int("".join(str(int(sign, 36)) for sign in number)) % 97 == 1:
            done = at
            yield FoundSecret(match.start(), at, "account number")
