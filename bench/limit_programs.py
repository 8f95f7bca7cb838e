"""What `limits.py` compares with: programs that do the least of a kind of work."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Starts Python, and ends.
BARE = "pass"
#: Loads the graph of the default model into memory, with the settings of qmd.
GRAPH = """
import os
from pathlib import Path
from qmd.config.paths import cache_dir
from qmd.models.e5.embedder import load_embedder
load_embedder(Path(cache_dir(os.environ)))._session
"""
#: Answers each search with the same bytes, in one process with the settings of qmd's server.
PLAIN_SERVER = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
HIT = b'{"docid":"#123456","path":"000/000001.md","score":0.5,"snippet":"' + b"x" * 200 + b'"}'
BODY = b'{"hits":[' + b",".join([HIT] * 10) + b"]}"
async def search(request):
    await request.body()
    return Response(BODY, media_type="application/json")
app = Starlette(routes=[Route("/search", search, methods=["POST"])])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[-1]), log_level="error", access_log=False)
"""
#: A page with a box. After a key the same request as that of qmd's page shows one line.
BLANK_SERVER = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.routing import Route
PAGE = '''<!doctype html><body><input id=q autofocus><main id=main><div id=view></div></main><script>
let asked;
document.getElementById("q").oninput = (event) => {
  asked?.abort();
  asked = new XMLHttpRequest();
  asked.responseType = "document";
  asked.onload = () => {
    const view = document.importNode(asked.response.getElementById("view"), true);
    document.getElementById("view").replaceWith(view);
  };
  asked.open("GET", "/?part=list&q=" + encodeURIComponent(event.target.value));
  asked.send();
};</script>'''
async def page(request):
    return HTMLResponse("<div id=view>one line</div>" if "part" in request.query_params else PAGE)
uvicorn.run(Starlette(routes=[Route("/", page)]), host="127.0.0.1", port=int(sys.argv[-1]), log_level="error")
"""


@contextmanager
def blank_page(work: Path) -> Iterator[str]:
    """Serve the blank page; yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-c", BLANK_SERVER, str(port)], cwd=work)
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.kill()
        server.wait()


def memory(pid: int) -> float:
    """Return the megabytes of a process's memory; pages that it shares count in part."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemExit("no Pss")
