"""A browser, and servers whose pages it opens."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.clients import Server, server_of
from tests.users import MakeUser, User
from tests.waiting import PATIENCE

expect.set_options(timeout=1_000 * PATIENCE)

#: Opens a page of a context with the given options.
OpenPage = Callable[..., Page]

#: Notes for reading and searching, of which some are long enough to scroll.
NOTES = {
    "guide.md": "---\ntitle: The guide\ntags: [work, work/ops]\nstatus: draft\nauthor: Ann\n"
    "date: 2024-06-01\n---\n\n"
    "# The guide\n\nSee [[deploy]] and [the table](table.md#rows), or [elsewhere](https://example.org).\n\n"
    "- [x] done already\n- [ ] open still\n\n==marked text== and $a_b + c_d$.[^1]\n\n"
    "> [!warning] Take care\n> A backup first.\n\n![a dot](dot.png)\n![remote](https://example.org/a.png)\n\n"
    "[^1]: A footnote.\n\n"
    + "".join(f"Paragraph {n} of the guide.\n\n" for n in range(60))
    + "## Restoring\n\nRestore the xylophone.\n",
    "deploy.md": "# Deploying\n\nDeploy with `make deploy`, after a backup.\n\n"
    "```python\ndef deploy():\n    return 1\n```\n",
    "table.md": "# Table\n\n## Rows\n\n| name | size |\n|---|--:|\n| backup | 12 |\n",
    "wide.md": "---\n" + "a_very_long_name" * 6 + ": " + "and_a_long_value" * 6 + "\n---\n"
    "# Wide " + "LongWord" * 20 + "\n\n" + "https://example.org/" + "path/" * 30 + "\n\n"
    "```mermaid\nflowchart LR\n  " + "A --> " * 40 + "B\n```\n\n$$" + "x + " * 60 + "y$$\n\n"
    "| Amount | Organisation | Remarks | Responsible | Department |\n"
    "|---|---|---|---|---|\n"
    "| 1200 | Municipality | Unremarkable | Administration | Infrastructure |\n\n```sh\nmake\n```\n",
    "two\nlines.md": "# Marmalade\n\nIts name has two lines.\n",
    "数据库.md": "# 数据库迁移指南\n\n数据库迁移需要先备份数据。迁移工具支持回滚。\n",
    "arabic.md": "# النسخ الاحتياطي\n\nاحفظ نسخة احتياطية من الملفات كل يوم.\n",
    "sub/old.md": "# Old backup\n\nAn older note about the backup of 2019.\n",
}
#: A notebook with a long second cell.
NOTEBOOK = {
    "nbformat": 4,
    "metadata": {},
    "cells": [
        {"cell_type": "markdown", "source": "# A notebook\n\nIt begins here."},
        {"cell_type": "markdown", "source": "## Second\n\n" + "Words.\n\n" * 60 + "A cassowary."},
        {"cell_type": "code", "source": "print(1)", "outputs": []},
    ],
}
#: A red dot.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080200000090775 3de".replace(" ", "")
    + "0000000c49444154789c63f8cfc00000030101 00c9fe92ef0000000049454e44ae426082".replace(" ", "")
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser. Its event loop ends with this folder: other tests of the process have their own."""
    names = (os.environ.get("QMD_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if name and (found := shutil.which(name))), None)
    if path is None:
        if os.environ.get("QMD_BROWSER") == "required":
            pytest.fail("no Chromium: see scripts/browser.sh")
        pytest.skip("no Chromium: see scripts/browser.sh")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def watched(browser: Browser, server: Server, **options: Any) -> Iterator[tuple[BrowserContext, list[str]]]:
    """Open a context of the browser; record console messages, errors, dialogs and requests to other hosts."""
    context = browser.new_context(base_url=f"http://127.0.0.1:{server.port}", **options)
    complaints: list[str] = []
    context.on("console", lambda message: complaints.append(f"console: {message.text}"))
    context.on("weberror", lambda error: complaints.append(f"error: {error.error}"))
    context.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    context.on(
        "request",
        lambda request: (
            complaints.append(f"request: {request.url}")
            if not request.url.startswith((f"http://127.0.0.1:{server.port}/", "data:"))
            else None
        ),
    )
    try:
        yield context, complaints
    finally:
        context.close()


@pytest.fixture(scope="session")
def writer(make_user: MakeUser) -> User:
    """A user with indexed notes, and a picture beside them."""
    user = make_user("web")
    notes = user.home / "wiki"
    for name, text in NOTES.items():
        file = notes / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (notes / "dot.png").write_bytes(PNG)
    (user.home / "secret.png").write_bytes(PNG)
    (notes / "out.png").symlink_to(user.home / "secret.png")
    user.ok("collection", "add", str(notes), "--name", "wiki")
    books = user.home / "books"
    books.mkdir()
    (books / "book.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
    user.ok("collection", "add", str(books), "--formats", "notebook")
    return user


@pytest.fixture(scope="session")
def server(writer: User) -> Iterator[Server]:
    with server_of(writer) as server:
        yield server


@pytest.fixture
def open_page(browser: Browser, server: Server) -> Iterator[OpenPage]:
    """Open pages. At the end, the test fails if the browser recorded a complaint."""
    contexts = []

    def open_page(path: str = "/", **options: Any) -> Page:
        entered = watched(browser, server, **options)
        context, complaints = entered.__enter__()
        contexts.append((entered, complaints))
        page = context.new_page()
        page.goto(path)
        if page.locator("[autofocus]").count():
            # The browser reports it at the first paint, which can be after the page is loaded.
            expect(page.locator("[autofocus]")).to_be_focused()
        return page

    yield open_page
    for entered, complaints in contexts:
        entered.__exit__(None, None, None)
        assert complaints == []
