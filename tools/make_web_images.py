"""Make docs/images: pictures of the web page with this project's documents and sample notes.

    python tools/make_web_images.py

It needs Chromium (see scripts/browser.sh), and fonts for Chinese (Debian: `fonts-noto-cjk`).
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "images"
QMD = [sys.executable, "-m", "qmd"]
#: By name: the address, what is typed there, and options of the browser.
PICTURES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "home": ("/", "", {}),
    "results": ("/", "restore a backup", {}),
    "document": ("/read/docs/reliability.md?q=restore+backup&line=16#hit", "", {}),
    "dark": ("/", "which files are indexed", {"color_scheme": "dark"}),
    "narrow": ("/", "restore a backup", {"viewport": {"width": 320, "height": 640}}),
    "chinese": ("/", "数据库备份", {"locale": "zh-CN"}),
}


_TO_WEBP = """async (source) => {
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext('2d').drawImage(image, 0, 0);
  return canvas.toDataURL('image/webp', 0.82);
}"""


def take(browser: Browser, url: str, name: str) -> None:
    path, typed, options = PICTURES[name]
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 760}, **options})
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(url + path)
    if typed:
        page.locator("#q").press_sequentially(typed)
        page.locator("#facets[data-filled]").wait_for(state="attached")
    page.locator("#related[data-from]").wait_for(state="detached")
    picture = base64.b64encode(page.screenshot()).decode()
    context.close()
    # The browser is also what makes the picture small.
    blank = browser.new_page()
    small = blank.evaluate(_TO_WEBP, f"data:image/png;base64,{picture}")
    blank.close()
    file = TARGET / f"{name}.webp"
    file.write_bytes(base64.b64decode(small.partition(",")[2]))
    print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes")


def main() -> None:
    chromium = subprocess.run(
        ["sh", str(ROOT / "scripts" / "browser.sh")], check=True, capture_output=True, text=True
    ).stdout.strip()
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "XDG_CONFIG_HOME": home}
        for folder, name in (("docs", "docs"), ("examples/notes", "notes")):
            subprocess.run(
                [*QMD, "collection", "add", ROOT / folder, "--name", name], env=environ, check=True
            )
        subprocess.run([*QMD, "embed"], env=environ, check=True)
        command = [*QMD, "server", "--transport", "http", "--port", "0"]
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                url = server.stdout.readline().split()[-1]
                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                    for name in PICTURES:
                        take(browser, url, name)
                    browser.close()
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
