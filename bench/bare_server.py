"""The limit of the HTTP server: a bare Starlette app that answers every search with the same bytes.

    python bench/bare_server.py --port PORT --answer FILE

It has the same event loop and HTTP parser, but no checks, no threads and no index.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def main() -> None:
    parser = argparse.ArgumentParser(description="A bare Starlette app.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--answer", type=Path, required=True, help="a file with the body of every answer")
    options = parser.parse_args()
    body = options.answer.read_bytes()

    async def search(request: Request) -> Response:
        await request.json()
        return Response(body, media_type="application/json")

    app = Starlette(routes=[Route("/search", search, methods=["POST"])])
    uvicorn.run(
        app, port=options.port, http="h11", loop="asyncio", ws="none", log_config=None, access_log=False
    )


if __name__ == "__main__":
    main()
