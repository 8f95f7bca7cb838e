"""Links between notes, compared with a CommonMark parser and a second resolver."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.judges.calls import ROOT

VAULT = Path(__file__).parent / "vault"


def test_links_equal_those_of_another_implementation(tmp_path: Path) -> None:
    found = tmp_path / "links.json"
    command = [sys.executable, ROOT / "bench" / "links.py", VAULT, "--json", found]
    subprocess.run(command, check=True, capture_output=True)
    result = json.loads(found.read_text(encoding="utf-8"))["vaults"]["vault"]
    assert (result["notes"], result["links"]) == (5, 14)
    assert result["markdown-it-py"] == {"both": 14, "only qmd": [], "only markdown-it-py": []}
