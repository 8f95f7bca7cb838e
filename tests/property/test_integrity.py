"""Whatever notes contain and whatever happens to them, doctor finds the index intact."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings, strategies as st

import qmd

#: Words that are equal but for case, accents, width, composition or white space, and odd ones.
NAMES = (
    *("Links", "links", "LINKS", "Internal  links", " internal links", "Straße", "STRASSE", "İstanbul"),
    *("Café", "cafe\u0301", "CAFE", "Ｌｉｎｋｓ", "ﬁle", "file", "2024", "2024-01-02", "2024-1-2", "1.0"),
    *("true", "yes", "null", "~", "笔记", "筆記", "ノート", "ﾉｰﾄ", "a\u00a0b", "a\u200bb", "x\0y", "👍🏽"),
    *(
        "1",
        "'",
        '"',
        "-",
        "- a",
        "a: b",
        "[x]",
        "{y}",
        "#tag",
        "&a",
        "*a",
        "!!str x",
        "|",
        ">",
        "%",
        "@",
        "`",
    ),
    *("w" * 600, ""),
)
names = st.one_of(st.sampled_from(NAMES), st.text(max_size=6))
lists = st.lists(names, max_size=5)


def _entry(key: str, values: list[str], form: str) -> str:
    match form:
        case "block":
            return "\n".join((f"{key}:", *(f"  - {value}" for value in values)))
        case "flow":
            return f"{key}: [{', '.join(values)}]"
        case "quoted":
            return f"{key}: [{', '.join(repr(value) for value in values)}]"
    return f"{key}: {', '.join(values)}"


FIELDS = ("aliases", "alias", "Aliases", "tags", "tag", "title", "author", "date", "format", "ext", "é")
forms = st.sampled_from(("block", "flow", "quoted", "one"))
entries = st.one_of(st.builds(_entry, st.sampled_from(FIELDS), lists, forms), st.text(max_size=20))
bodies = st.builds(
    lambda title, words, tag, target: f"# {title}\n\n{words} #{tag} [[{target}|{title}]] [t]({target})\n",
    names, names, names, names,
)  # fmt: skip
texts = st.builds(
    lambda mark, front, body: f"{mark}\n" + "\n".join((*front, mark)) + f"\n{body}" if front else body,
    st.sampled_from(("---", "---", "---", "+++")),
    st.lists(entries, max_size=4),
    bodies,
)
FILES = ("a.md", "A b.md", "é.md", "sub/a.md", "x.org", "t.txt", "links.md")
vaults = st.dictionaries(st.sampled_from(FILES), texts, max_size=5)

ALIASES = "---\naliases: [Links, links, LINKS]\ntags: [a, A]\n---\n# Internal links\n"


@settings(
    max_examples=12,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(before=vaults, after=vaults)
@example(before={"a.md": ALIASES}, after={"a.md": "# Links\n", "sub/a.md": ALIASES})
@pytest.mark.slow
def test_doctor_finds_the_index_of_any_vault_intact(
    environ: dict[str, str], before: dict[str, str], after: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "vault"
        _write(root, before)
        with qmd.open_index(Path(folder) / "index.sqlite", environ=environ) as index:
            index.add_collection(str(root), "n", pattern="**/*.{md,org,txt}")
            _check(index)
            for path in before.keys() & after.keys():  # others stay as they are
                (root / path).unlink()
            _write(root, after)
            index.update()
            _check(index)
            for number, file in enumerate(sorted(root.rglob("*.*"))):
                if number % 2:
                    file.unlink()
                else:
                    file.rename(file.with_name(f"renamed {file.name}"))
            index.update()
            _check(index)
            index.rename_collection("n", "m")
            index.cleanup()
            _check(index)
            shutil.rmtree(root)
            root.mkdir()
            index.update(allow_empty=True)
            _check(index)


def _write(root: Path, files: dict[str, str]) -> None:
    root.mkdir(exist_ok=True)
    for path, text in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_bytes(text.encode("utf-8", "surrogatepass"))


def _check(index: qmd.Index) -> None:
    found = [finding for finding in index.doctor() if finding.check == "index"]
    assert {finding.level for finding in found} <= {"ok"}, found
