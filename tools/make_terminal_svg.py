"""Record the commands of the README on a real terminal: `python tools/make_terminal_svg.py`.

The picture is docs/terminal.svg. Run it again after a change of the output of `search` or `query`. It indexes
`examples/notes` in a temporary folder; nothing else is written. Look at the picture in a browser, on a
system with fonts for Chinese and Japanese (Debian: `fonts-noto-cjk`).
"""

from __future__ import annotations

import html
import io
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from fcntl import ioctl
from itertools import groupby
from pathlib import Path
from termios import TIOCSWINSZ
from textwrap import fill

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "terminal.svg"
COLUMNS = 88
#: A session that fits on one screen: what the README promises first. Each command has the lines of its output
#: to show, and a note that says why there are no results comes after it.
SESSION = (
    ("qmd add notes", 2),
    ('qmd query "how do I get my data back" -n 1', 10),
    ('qmd query "パスワードを忘れた" -n 1', 7),
    ("cat draft.md", 4),
    ("qmd cite check draft.md", 5),
    ('qmd query "who won the world cup in 1998?" --min-score 0.5', 3),
)
#: The template of rich without its web font: a picture must not load anything.
TEMPLATE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
    <style>
    .{unique_id}-matrix {{
        font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
        font-size: {char_height}px;
        line-height: {line_height}px;
        font-variant-east-asian: full-width;
    }}
    .{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>
    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
    </g>
</svg>
"""


#: The size of wide characters, which almost fill their two cells.
WIDE = "font-size: 22.5px"
#: A text of the picture.
TEXT = re.compile(
    r'<text(?P<class> [^>]*?)x="(?P<x>[^"]+)"(?P<y> [^>]*?)textLength="(?P<length>[^"]+)"(?P<clip>[^>]*)>'
    r"(?P<text>[^<]*)</text>"
)


def main() -> None:
    """Run the session and write the picture."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
        environ = os.environ | {
            "HOME": folder,
            "QMD_CONFIG_DIR": folder,
            "QMD_INDEX_PATH": str(Path(folder) / "index.sqlite"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "TERM": "xterm-256color",
        }
        environ.pop("NO_COLOR", None)
        # The first embedding prepares the model and says so; the session shows an installation in use.
        subprocess.run(["qmd", "status"], cwd=folder, env=environ, check=True, capture_output=True)
        for command, lines in SESSION:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
            output = run(command, folder, environ)
            if not output.strip():
                sys.exit(f"{command} printed nothing")
            for line in output.splitlines()[:lines]:
                console.print(Text.from_ansi(line.replace(folder, "~")), soft_wrap=True)
            console.print()
    picture = console.export_svg(title="qmd", code_format=TEMPLATE, unique_id="qmd")
    PICTURE.write_text(TEXT.sub(in_cells, picture), encoding="utf-8")


def in_cells(found: re.Match[str]) -> str:
    """Return a text of the picture with each wide character in two cells of its own.

    rich gives a text one cell for each character, and a browser squeezes the whole text into these.
    """
    text = html.unescape(found["text"])
    if cell_len(text) <= len(text):
        return found[0]
    width, at = float(found["length"]) / len(text), float(found["x"])
    parts = []
    for cells, run in groupby(text, key=cell_len):
        part = "".join(run)
        places = [f"{at + width * cells * number:.1f}" for number in range(len(part))]
        at += width * cells * len(part)
        x, length = (
            (places, f'style="{WIDE}"')
            if cells > 1
            else (places[:1], f'textLength="{width * len(part):.1f}"')
        )
        escaped = html.escape(part).replace("\xa0", "&#160;")
        place = f'{found["class"]}x="{" ".join(x)}"{found["y"]}'
        parts.append(f"<text{place}{length}{found['clip']}>{escaped}</text>")
    return "".join(parts)


def run(command: str, folder: str, environ: dict[str, str]) -> str:
    """Run a command whose standard output is a terminal; return its output with its escape sequences."""
    reader, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    process = subprocess.Popen(
        shlex.split(command),
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,  # nothing is asked
        stdout=terminal,
        stderr=subprocess.PIPE,
    )
    os.close(terminal)
    output = b""
    while True:
        try:
            data = os.read(reader, 65_536)
        except OSError:  # Linux ends a terminal that nothing writes to any more with EIO.
            break
        if not data:
            break
        output += data
    os.close(reader)
    _, errors = process.communicate()
    if process.returncode not in (0, 1):  # 1 if a citation does not hold
        sys.exit(f"{command} failed: {errors.decode()}")
    return output.decode() + (fill(errors.decode(), COLUMNS) if output.startswith(b"No results") else "")


if __name__ == "__main__":
    main()
