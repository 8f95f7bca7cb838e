"""Readers of source formats do not crash on damaged files."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.files import CLAUDE, MAILS, NOTEBOOK, epub, lines, pdf

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).resolve().parents[3] / "bench" / "fuzz_formats.py"


def test_format_readers_refuse_damaged_files_with_a_reason(tmp_path: Path) -> None:
    docx, pptx = pytest.importorskip("docx"), pytest.importorskip("pptx")
    files = {
        "a.ipynb": json.dumps(NOTEBOOK).encode(),
        "a.mbox": MAILS.encode(),
        "a.eml": MAILS.partition("\n")[2].encode(),
        "a.jsonl": lines(CLAUDE).encode(),
        "a.pdf": pdf("The heron.", "The ibis."),
        "b.pdf": pdf("The stork."),
        "a.epub": epub(
            {"one": "<h1>One</h1><p>The gannet.</p>", "two": "<table><tr><td>x</td></tr></table>"}
        ),
        "a.html": b"<html><head><title>t</title></head><body><ul><li>The pelican.</li></ul></body></html>",
    }
    document, slides = docx.Document(), pptx.Presentation()
    document.add_heading("Birds", 1)
    document.add_table(2, 2).cell(0, 0).text = "kestrel"
    slides.slides.add_slide(slides.slide_layouts[0]).shapes.title.text = "An egret"
    for name, made in (("a.docx", document), ("a.pptx", slides)):
        data = io.BytesIO()
        made.save(data)
        files[name] = data.getvalue()
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    command = [sys.executable, str(SCRIPT), str(tmp_path), "--files", "90", "--group", "10", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("| 0 |") >= 9, done.stdout
