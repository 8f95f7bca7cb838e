"""Links between the notes of Obsidian vaults, compared with the links that other programs find.

    python bench/links.py VAULT... [--obsidiantools PYTHON] [--json OUT]

`markdown-it-py` parses the notes again. If `--obsidiantools` is given, so does that package; PYTHON is an
interpreter that has it. Their links are resolved here by the rules of Obsidian, in a second implementation.
Each link from one note to another counts once. Every difference is listed with its line.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from common import say, table, write_json

#: (target, whether it is a wikilink) by the path of a note.
Found = Mapping[str, list[tuple[str, bool]]]
Edges = set[tuple[str, str]]

_WIKI = re.compile(r"\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]")
_OBSIDIANTOOLS = """
import contextlib, io, json, sys
from pathlib import Path
import obsidiantools.api as api
with contextlib.redirect_stdout(io.StringIO()):
    vault = api.Vault(Path(sys.argv[1])).connect()
print(json.dumps({
    path.as_posix(): [(target, True) for target in vault.wikilinks_index[name]]
    + [(target, True) for target in vault.embedded_files_index[name]]
    + [(target, False) for target in vault.md_links_index[name]]
    for name, path in vault.md_file_index.items()
}))
"""


def by_qmd(vault: Path) -> Edges:
    """Return the links in qmd's index of the vault."""
    import qmd

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index.sqlite"
        file.with_suffix(".yml").write_text(
            json.dumps({"collections": {"v": {"path": str(vault.resolve())}}})
        )
        with qmd.open_index(file) as index:
            index.update()
            links = [link for document in index.documents() for link in index.links(document.file)]
    return {(link.file[2:], link.to[2:]) for link in links if link.to and link.to != link.file}


def by_markdown_it(vault: Path) -> Found:
    """Return the targets that a CommonMark parser finds."""
    from markdown_it import MarkdownIt

    # A name with underscores is not emphasized, and a bar in a table is part of the link.
    parser = MarkdownIt("commonmark").disable("emphasis")

    def targets(text: str) -> Iterator[tuple[str, bool]]:
        body = re.sub(r"\A---\n.*?\n---\n", "", text, count=1, flags=re.S)
        yield from ((target, True) for target in _WIKI.findall(text.removesuffix(body)))
        for token in parser.parse(re.sub(r"%%.*?%%", "", body, flags=re.S)):
            shown = ""
            for child in token.children or ():
                if child.type in ("link_open", "image"):
                    yield unquote(str(child.attrs.get("href") or child.attrs.get("src"))), False
                shown += child.content if child.type == "text" else "\n" if "break" in child.type else "\0"
            yield from ((target, True) for target in _WIKI.findall(shown))

    return {path: list(targets(text)) for path, text in notes(vault).items()}


def by_obsidiantools(vault: Path, python: str) -> Found:
    """Return the targets that obsidiantools finds."""
    done = subprocess.run([python, "-c", _OBSIDIANTOOLS, str(vault)], stdout=subprocess.PIPE, check=True)
    found: Found = json.loads(done.stdout)
    return found


def notes(vault: Path) -> dict[str, str]:
    """Return the texts of the notes by path."""
    files = sorted(vault.rglob("*.md"))
    return {file.relative_to(vault).as_posix(): file.read_text(encoding="utf-8") for file in files}


def resolved(vault: Path, found: Found) -> Edges:
    """Return the notes that links resolve to, by the rules of Obsidian and then by alias."""
    import yaml

    paths = {path.casefold().removesuffix(".md"): path for path in found}
    aliases: dict[str, str] = {}
    for path, text in notes(vault).items():
        front = re.match(r"---\n(.*?)\n---\n", text, re.S)
        try:
            listed = (yaml.safe_load(front[1]) or {}).get("aliases") or [] if front else []
        except yaml.YAMLError:
            continue  # such front matter is text
        for alias in listed if isinstance(listed, list) else [listed]:
            aliases.setdefault(str(alias).casefold(), path)

    def target_of(source: str, target: str, wiki: bool) -> str | None:
        if "://" in target or target.startswith(("#", "mailto:")):
            return None
        # In a table the bar is escaped with a backslash.
        name = unquote(target).split("#")[0].rstrip("\\ ").strip().casefold().removesuffix(".md")
        folder = posixpath.dirname(source).casefold()
        relative = posixpath.normpath(posixpath.join(folder, name))
        for exact in (name, relative) if wiki else (relative, name):
            if exact.strip("/") in paths:
                return paths[exact.strip("/")]
        ending = [key for key in paths if f"/{key}".endswith(f"/{name}")] if name else []
        # Notes in the folder of the source come first, then short paths.
        ending.sort(key=lambda key: (not key.startswith(f"{folder}/"), len(key)))
        return paths[ending[0]] if ending else aliases.get(name)

    return {
        (source, to)
        for source, targets in found.items()
        for target, wiki in targets
        if (to := target_of(source, target, wiki)) and to != source
    }


def differences(vault: Path, edges: Iterable[tuple[str, str]]) -> list[str]:
    """Return (source, target) with the first line in the source that names the target."""
    texts = notes(vault)
    lines = []
    for source, to in sorted(edges):
        name = Path(to).stem
        line = next(
            (line.strip() for line in texts[source].splitlines() if name in line), "(not by its name)"
        )
        lines.append(f"{source} -> {to}: {line[:160]}")
    return lines


def compare(vault: Path, python: str | None) -> dict[str, Any]:
    """Return the number of common links, and the other links, for each other program."""
    ours = by_qmd(vault)
    others = {"markdown-it-py": by_markdown_it(vault)}
    if python:
        others["obsidiantools"] = by_obsidiantools(vault, python)
    result: dict[str, Any] = {"notes": len(notes(vault)), "links": len(ours)}
    for name, found in others.items():
        theirs = resolved(vault, found)
        result[name] = {
            "both": len(ours & theirs),
            "only qmd": differences(vault, ours - theirs),
            f"only {name}": differences(vault, theirs - ours),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("vaults", nargs="+", type=Path, metavar="VAULT")
    parser.add_argument("--obsidiantools", metavar="PYTHON")
    parser.add_argument("--json", type=Path, metavar="OUT")
    options = parser.parse_args()
    results = {vault.name: compare(vault, options.obsidiantools) for vault in options.vaults}
    rows = []
    for vault, result in results.items():
        for name in result.keys() - {"notes", "links"}:
            both, *only = result[name].values()
            rows.append([vault, result["notes"], name, both, *map(len, only)])
            for line in (line for lines in only for line in lines):
                say(f"{vault}, {name}: {line}")
    print(table(["vault", "notes", "beside", "in both", "only qmd", "only the other"], rows))
    write_json(options.json, {"vaults": results})


if __name__ == "__main__":
    main()
