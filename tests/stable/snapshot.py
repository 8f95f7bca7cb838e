"""The interfaces and indexes that users rely on, as data: `python -m tests.stable.snapshot` writes it.

Each version with such data has a folder, named after it. Later versions are compared with all of them.
"""

from __future__ import annotations

import gzip
import json
import runpy
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import qmd
from qmd.cli.app import app, command_of
from qmd.cli.command import Command, Group
from qmd.cli.commands import OLDER
from qmd.http.api_docs import describe
from qmd.mcp.tools import TOOLS
from tests.edge.cli.schemas import SCHEMAS
from tests.edge.cli.test_help import ALL, commands

HERE = Path(__file__).parent
MAKER = HERE.parents[1] / "tools" / "make_python_docs.py"
#: The path of the notes in the stored index.yml.
NOTES = "/home/ann/notes"
Schema = dict[str, Any]


def python() -> str:
    """Return the public names of Python, as source without bodies."""
    stub: str = runpy.run_path(str(MAKER))["stub"]()
    return stub


def interfaces() -> Schema:
    """Return the commands and their JSON, the endpoints, and the tools."""
    return {"commands": _commands(), "json": SCHEMAS, "http": _endpoints(), "mcp": _tools()}


def _commands() -> Schema:
    named = [*ALL, *_hidden()]
    return {
        " ".join(path): {
            "options": sorted(name for each in command.parameters for name in (*each.names, *each.off)),
            "arguments": [each.to for each in command.parameters if not each.names],
            "required": [
                each.to if each.names else each.metavar for each in command.parameters if each.required
            ],
        }
        for path, command in [
            ((), app),
            *((path, getattr(each, "otherwise", None) or each) for path, each in named),
        ]
    }


def _hidden() -> Iterator[tuple[tuple[str, ...], Command]]:
    """Yield the older names of commands, with those below them."""
    for name in OLDER:
        command, _, _ = command_of(app, "qmd", [name])
        yield (name,), command
        if isinstance(command, Group):
            yield from commands(command, (name,))


def _endpoints() -> Schema:
    document = describe()
    found = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            endpoint: Schema = {
                "parameters": {
                    f"{each['name']} in {each['in']}": {
                        "required": each.get("required", False),
                        "schema": _inlined(each["schema"], document),
                    }
                    for each in operation.get("parameters", [])
                },
                "responses": {
                    status: _inlined(_content(response), document)
                    for status, response in operation["responses"].items()
                    if status.startswith("2")
                },
            }
            if "requestBody" in operation:
                endpoint["body"] = _inlined(_content(operation["requestBody"]), document)
            found[f"{method.upper()} {path}"] = endpoint
    return found


def _content(value: Schema) -> Schema:
    (content,) = value.get("content", {"": {}}).values()
    schema: Schema = content.get("schema", {})
    return schema


def _inlined(schema: Any, document: Schema, inside: tuple[str, ...] = ()) -> Any:
    """Return a schema with its references resolved.

    A recursive reference becomes a schema that allows anything.
    """
    if isinstance(schema, list):
        return [_inlined(each, document, inside) for each in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rsplit("/", 1)[-1]
        if name in inside:
            return {}
        return _inlined(document["components"]["schemas"][name], document, (*inside, name))
    return {
        key: _inlined(value, document, inside)
        for key, value in schema.items()
        if key not in ("description", "title", "example", "examples") or not isinstance(value, str)
    }


def _tools() -> Schema:
    listed = [tool.listed() for tool in TOOLS.values()]
    return {
        tool["name"]: {"arguments": tool["inputSchema"], "result": tool.get("outputSchema", {})}
        for tool in listed
    }


def make_index(folder: Path) -> None:
    """Index the notes in a folder. The index and its configuration are made beside them."""
    with tempfile.TemporaryDirectory() as home:
        environ = {"HOME": home, "XDG_CONFIG_HOME": home}
        with qmd.open_index(folder / "index.sqlite", environ=environ) as index:
            index.add_collection(str(folder / "notes"), "notes")
            index.add_context("qmd://notes/ops", "How we run things")
            index.embed()
            index.cleanup()
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        (folder / name).unlink(missing_ok=True)
    config = folder / "index.yml"
    config.write_text(
        config.read_text(encoding="utf-8").replace(str(folder / "notes"), NOTES), encoding="utf-8"
    )


if __name__ == "__main__":
    kept = HERE / qmd.__version__
    kept.mkdir(exist_ok=True)
    (kept / "python.txt").write_text(python(), encoding="utf-8")
    text = json.dumps(interfaces(), indent=1, sort_keys=True, ensure_ascii=False)
    (kept / "interfaces.json").write_text(text + "\n", encoding="utf-8")
    # The index stores the path at which it was made.
    made = Path("/tmp/qmd-stable")
    try:
        shutil.copytree(HERE / "notes", made / "notes")
        make_index(made)
        data = (made / "index.sqlite").read_bytes()
        (kept / "index.sqlite.gz").write_bytes(gzip.compress(data, mtime=0))
        shutil.copy(made / "index.yml", kept)
    finally:
        shutil.rmtree(made)
