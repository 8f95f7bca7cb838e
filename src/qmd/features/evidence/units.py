"""The units of numbers, which directly follow or precede a number and change its value."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Protocol

#: Signs directly before or after a number that belong to it, besides those of currencies.
_BEFORE, _AFTER = "<>≤≥~≈±", "%‰‱°′″"
#: Between two numbers, without spaces, it makes one thing of them: a range, a time, a ratio.
_JOINS = frozenset("- ~ 〜 : / ×".split())
#: Units and large numbers that follow a number; none that is a common word of another kind in some language.
_UNITS = frozenset(
    "s sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks month "
    "months year years decade decades century centuries ms µs μs ns pm b kb mb gb tb pb kib mib gib tib "
    "bit bits byte bytes bps kbps mbps gbps hz khz mhz ghz rpm fps dpi px pt mm cm m km inch inches ft "
    "foot feet yd mile miles mg g kg t ton tons tonne tonnes lb lbs oz ml cl dl l liter liters litre "
    "litres gal m² m³ km² k c f w kw mw gw kwh wh v kv mah kj cal kcal hpa kpa bar psi percent pct per "
    "dozen times fold hundred thousand million millions billion billions trillion mio mrd degrees celsius "
    "fahrenheit dollar dollars cents euro euros pounds usd eur gbp jpy cny rmb chf inr krw rub sekunde "
    "sekunden minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren "
    "prozent tausend millionen milliarden grad seconde secondes heure heures jour jours semaine semaines "
    "mois ans année années mille milliards degrés segundo segundos minuto minutos hora horas día días dia "
    "dias semana semanas mes meses mês año años ano anos mil millón millones grados secondo secondi "
    "minuti ora ore giorno giorni settimana settimane mese mesi anno anni milioni seconden uur uren dagen "
    "weken maanden jaren секунд секунды минут минуты часа часов дня дней недели недель месяца месяцев "
    "года лет процентов тысяч миллионов рублей".split()
) | {"por ciento", "pour cent"}
_CURRENCIES = frozenset("usd eur gbp jpy cny rmb chf inr krw rub".split())
#: The first characters of units that follow a number directly in scripts without spaces.
_UNSPACED_UNITS = frozenset(
    "秒分时時小点點天日周週星个個月年岁歲度元圆円块角亿億万萬千百倍成折米公里克斤吨噸升毫厘英平立兆字次回人名位件台张張本"
    "只页頁条條步章节行列版号號間か分ヶカミキセメグリパポドユペビバマトケ초분시일주월년개원명"
)


class Words(Protocol):
    """The words of a text; see `qmd.features.evidence.verbatim.Words`."""

    @property
    def folded(self) -> Sequence[str]: ...
    @property
    def starts(self) -> Sequence[int]: ...
    @property
    def ends(self) -> Sequence[int]: ...
    @property
    def before(self) -> Sequence[str]: ...
    def following(self, at: int) -> str: ...


def unit_after(words: Words, last: int) -> str:
    """Return the unit of a number at a place, or the word that makes another number of it."""
    mark, following = words.following(last), words.folded[last + 1] if last + 1 < len(words.folded) else ""
    if mark:
        sign = mark[0]
        if sign in _AFTER or unicodedata.category(sign) == "Sc":
            return sign
        joined = following and mark in _JOINS and words.ends[last] + len(mark) == words.starts[last + 1]
        return f"{mark}{following}" if joined and following[:1].isdigit() else ""
    for unit in (following, " ".join(words.folded[last + 1 : last + 3])):
        if unit in _UNITS:
            return unit
    if len(following) == 3 and following.isdigit() and len(words.folded[last]) <= 3:  # 45 000
        return following
    if following[:1] in _UNSPACED_UNITS and words.ends[last] == words.starts[last + 1]:
        return following
    return ""


def unit_before(words: Words, first: int) -> str:
    """Return the text before a number that belongs to it: a currency, a comparison, or another number."""
    mark, before = words.before[first], words.folded[first - 1] if first else ""
    if mark:
        sign = mark[-1]
        if sign in _BEFORE or unicodedata.category(sign) == "Sc":
            return sign
        joined = mark in _JOINS and words.ends[first - 1] + len(mark) == words.starts[first]
        return f"{before}{mark}" if joined and before[-1:].isdigit() else ""
    return before if before in _CURRENCIES else ""
