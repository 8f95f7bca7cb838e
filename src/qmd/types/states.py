"""The state of a document: whether it is the present word on its subject."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, get_args

from msgspec.structs import replace

from qmd.types.notes import Note, Row

StateName = Literal["current", "draft", "done", "upcoming", "archived", "deprecated", "expired", "superseded"]
#: From the one that says least against a document to the one that says most.
STATE_NAMES: tuple[StateName, ...] = get_args(StateName)

#: The states of documents that come below those that replace them, or lower than others.
SINKING: frozenset[StateName] = frozenset({"deprecated", "expired", "superseded"})
#: The states of documents that come lower than others.
LOWERED: frozenset[StateName] = SINKING | {"draft"}

#: The meaning of a field for the state of its document.
StateRole: TypeAlias = Literal[
    "status", "flag", "not_flag", "supersedes", "superseded_by", "valid_from", "valid_until"
]
#: How people write the states, as values of `status`, or as names of fields that are true.
WORDS: Mapping[StateName, str] = {
    "draft": (
        "draft, wip, work in progress, entwurf, brouillon, borrador, rascunho, bozza, "
        "черновик, 草稿, 草案, 下書き, ドラフト, 초안"
    ),
    "done": "done",
    "archived": (
        "archived, archiviert, archivé, archivée, archivado, archivada, arquivado, archiviato, "
        "в архиве, 已归档, 归档, アーカイブ, アーカイブ済み, 보관됨"
    ),
    "deprecated": (
        "deprecated, obsolete, outdated, out of date, retired, withdrawn, legacy, veraltet, "
        "überholt, zurückgezogen, obsolète, périmé, périmée, déprécié, dépréciée, obsoleto, "
        "obsoleta, desactualizado, retirado, descontinuado, ritirato, устарело, устарел, "
        "已废弃, 废弃, 过时, 已过时, 弃用, 已弃用, 作废, 已作废, 廃止, 非推奨, 폐기, 폐기됨"
    ),
    "expired": (
        "expired, abgelaufen, expiré, expirée, caducado, vencido, expirado, scaduto, 已过期, "
        "过期, 失效, 已失效, 期限切れ, 만료, 만료됨"
    ),
    "superseded": (
        "superseded, replaced, ersetzt, abgelöst, remplacé, remplacée, reemplazado, "
        "sustituido, substituído, sostituito, 已取代, 被取代, 已替代, 置き換え済み, 대체됨"
    ),
}
#: Words before the replacement of a document, in a value of `status`.
REPLACED_BY = (
    *(
        "superseded by ",
        "superceded by ",
        "superseded with ",
        "replaced by ",
        "obsoleted by ",
        "ersetzt durch ",
        "abgelöst durch ",
    ),
    *(
        "remplacé par ",
        "remplacée par ",
        "reemplazado por ",
        "sustituido por ",
        "substituído por ",
        "sostituito da ",
    ),
)
#: The keys of `state` in `index.yml`, which are also names of fields, and their meaning.
STATE_KEYS: Mapping[str, StateRole] = {
    "status": "status",
    "supersedes": "supersedes",
    "replaces": "supersedes",
    "superseded_by": "superseded_by",
    "valid_from": "valid_from",
    "valid_until": "valid_until",
    "expires": "valid_until",
}
#: The fields that are read if `index.yml` names no others: `superseded-by` is also written so.
STATE_FIELDS: Mapping[str, StateRole] = {
    **{
        word: "flag"
        for words in WORDS.values()
        for word in words.split(", ")
        if word not in ("done", "legacy")
    },
    "published": "not_flag",
    "expirydate": "valid_until",
    **{key.replace("_", gap): role for key, role in STATE_KEYS.items() for gap in ("_", "-", " ")},
}


class DocumentState(Note, frozen=True, omit_defaults=True):
    """The state of a document, with what replaces it or the day that it depends on, if they are known."""

    key = "state"

    name: StateName
    by: str = ""  #: The display path of the document that replaces it
    date: str = ""  #: The last day of a document that is expired, or the first of one that is upcoming

    @property
    def is_current(self) -> bool:
        return self.name == "current"

    @property
    def sinks(self) -> bool:
        """True if the document comes below its replacement, or lower than others."""
        return self.name in SINKING

    @property
    def is_lowered(self) -> bool:
        """True if the document comes lower than others."""
        return self.name in LOWERED

    @property
    def pattern(self) -> str:
        """The state in a few words, with `{by}` and `{date}` for the values."""
        match self.name:
            case "superseded" if self.by:
                return "superseded by {by}"
            case "expired" if self.date:
                return "expired on {date}"
            case "upcoming":
                return "valid from {date}"
        return self.name

    @property
    def line(self) -> str:
        """The state in a few words: `superseded by notes/new.md`."""
        return self.pattern.format(by=self.by, date=self.date)

    @property
    def rows(self) -> tuple[Row, ...]:
        return (("State", self.line, "name"),)

    @property
    def sentence(self) -> str:
        return f"is {self.line}"

    @property
    def warns(self) -> bool:
        return self.sinks

    def inert(self, address: Callable[[str], str], text: Callable[[str], str]) -> DocumentState:
        return replace(self, by=address(self.by))


CURRENT = DocumentState("current")
