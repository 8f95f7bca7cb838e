"""Sessions of coding agents on the page: what resumes one can be read, selected and copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.clients import server_of
from tests.features.page.browser.conftest import watched
from tests.transcripts import UUID, claude, lines, populate, write
from tests.users import MakeUser

RESUME = f"cd '/work/my shop' && claude --resume {UUID}"


@pytest.mark.parametrize("scripts", [True, False])
def test_hits_and_documents_have_the_command_to_copy(
    browser: Browser, make_user: MakeUser, scripts: bool
) -> None:
    user = make_user("web-sessions")
    populate(Path(user.environ["HOME"]))
    user.ok("collection", "add", "--sessions")
    permissions = ["clipboard-read", "clipboard-write"]
    options = {"permissions": permissions, "java_script_enabled": scripts}
    with server_of(user) as server, watched(browser, server, **options) as (context, complaints):
        page = context.new_page()
        for address in ("/?q=feather&mode=words", f"/read/claude-sessions/-work-my-shop/{UUID}.jsonl"):
            page.goto(address)
            line = page.locator(".session")
            expect(line).to_contain_text("Session of Claude Code · /work/my shop")
            expect(line.locator("code")).to_have_text(RESUME)
            button = line.get_by_role("button")
            if scripts:
                button.click()
                expect(button).to_have_text("Copied")
                assert page.evaluate("navigator.clipboard.readText()") == RESUME
            else:
                expect(button).to_be_hidden()
        assert not complaints


def test_sessions_are_escaped_and_in_chinese(browser: Browser, make_user: MakeUser) -> None:
    user = make_user("web-sessions-zh")
    hostile = claude(UUID, "/w/<img src=x onerror=alert(1)>")
    write(Path(user.environ["HOME"]) / ".claude/projects/-w/a.jsonl", lines(hostile))
    user.ok("collection", "add", "--sessions")
    with server_of(user) as server, watched(browser, server, locale="zh-CN") as (context, complaints):
        page = context.new_page()
        page.goto("/?q=feather&mode=words")
        expect(page.locator(".session")).to_contain_text(
            "Claude Code 的会话 · /w/<img src=x onerror=alert(1)>"
        )
        expect(page.locator(".session img")).to_have_count(0)
        assert not complaints
