"""Drawings of Excalidraw and canvases of Obsidian: the texts of their elements are found, scenes are not."""

from __future__ import annotations

import json

import pytest

import qmd
from tests.conftest import Notes

TEXTS = "harbour plan ^a1b2c3\n\ndecision box ^d4e5f6\n\n"
SCENE = "\n\n".join("Kestrelx" + f"{number:03}" * 80 for number in range(200))
PLAIN = json.dumps(
    {"type": "excalidraw", "elements": [{"type": "line", "seed": n} for n in range(900)]}, indent=1
)


SCENES = {"compressed": f"compressed-json\n{SCENE}", "plain": f"json\n{PLAIN}"}
BODIES = {
    "before": "# Text Elements\n{texts}%%\n# Drawing\n```{scene}\n```\n%%\n",
    "now": "# Excalidraw Data\n\n## Text Elements\n{texts}%%\n## Drawing\n```{scene}\n```\n%%",
    "hidden": "%%\n# Excalidraw Data\n\n## Text Elements\n{texts}%%\n## Drawing\n```{scene}\n```\n",
}


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.parametrize("form", BODIES)
def test_texts_of_drawings_are_found_and_scenes_are_not(
    index: qmd.Index, notes: Notes, form: str, scene: str
) -> None:
    body = BODIES[form].format(texts=TEXTS, scene=SCENES[scene])
    text = f"---\nexcalidraw-plugin: parsed\ntags: [sketch]\n---\n{body}"
    index.add_collection(str(notes({"d.excalidraw.md": text, "other.md": "# Other\n"})))
    assert index.get("d.excalidraw.md").text == text
    for query in ("decision box", '"harbour plan"', "tag:sketch decision"):
        assert [hit.path for hit in index.search(query).hits] == ["d.excalidraw.md"]
    assert not any(index.search(query).hits for query in ("seed", "kestrelx*"))
    pack = index.pack("harbour decision", tokens=600)
    said = "".join(passage.text for passage in pack.passages)
    assert "harbour plan" in said
    assert "Kestrelx" not in said
    assert "seed" not in said
    index.embed()
    assert sum(each.chunks for each in index.status().vectors) < 4


def test_canvases_and_drawing_files_are_their_texts(index: qmd.Index, notes: Notes) -> None:
    canvas = {
        "nodes": [
            {"id": "2", "type": "text", "text": "# Second\n\nwheatear", "x": 0, "y": 90},
            {"id": "1", "type": "text", "text": "First whinchat [[b]]", "x": 0, "y": 0},
            {"id": "3", "type": "file", "file": "b.md", "x": 0, "y": 200},
            {"id": "4", "type": "link", "url": "https://example.org/x", "x": 0, "y": 300},
            {"id": "5", "type": "group", "label": "Birds", "x": 0, "y": 400, "width": 200, "height": 200},
            {"id": "6", "type": "text", "text": "# Finches\n\nsiskin", "x": 50, "y": 450},
            {"id": "7", "type": "file", "file": "b.md", "subpath": "#B", "x": 50, "y": 500},
            {"id": "8", "type": "file", "file": "nest.png", "x": 50, "y": 520},
        ],
        "edges": [{"id": "e", "fromNode": "1", "toNode": "2", "label": "leads to"}],
    }
    drawing = {
        "type": "excalidraw",
        "elements": [
            {"type": "text", "text": "lower", "x": 0, "y": 50},
            {"type": "text", "text": "up\nper", "originalText": "upper words", "x": 9, "y": 1},
            {"type": "text", "text": "gone", "isDeleted": True, "x": 0, "y": 0},
            {"type": "frame", "name": "Frame one", "x": 0, "y": 99},
            {"type": "line", "x": 0, "y": 0, "link": "[[b]]"},
        ],
    }
    files = {
        "a.canvas": json.dumps(canvas),
        "a.excalidraw": json.dumps(drawing),
        "empty.canvas": "",
        "b.md": "# B\n",
    }
    index.add_collection(str(notes(files)), formats=["all"])
    assert index.get("a.canvas").text == (
        "First whinchat [[b]]\n\n# Second\n\nwheatear\n\n[[b.md]]\n\nhttps://example.org/x\n\n"
        "## Birds\n\n### Finches\n\nsiskin\n\n[[b.md#B]]\n\n![[nest.png]]\n\nleads to\n"
    )
    outline = index.outline("a.canvas")[1]
    assert [(each.heading, each.level) for each in outline] == [("Second", 1), ("Birds", 2), ("Finches", 3)]
    assert index.get("a.excalidraw").text == "[[b]]\n\nupper words\n\nlower\n\nFrame one\n"
    linking = {(link.file, link.line) for link in index.backlinks("b.md")}
    assert linking == {*(("notes/a.canvas", line) for line in (1, 7, 17)), ("notes/a.excalidraw", 1)}
