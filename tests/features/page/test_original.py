"""The PDF beside its text: only what the page itself shows may be in its frame."""

from __future__ import annotations

import pytest

from tests.clients import server_of
from tests.edge.http.pages import page
from tests.files import pdf
from tests.users import MakeUser

pytestmark = pytest.mark.slow


def test_pdf_is_shown_beside_its_text_if_one_asks(make_user: MakeUser) -> None:
    user = make_user("original")
    papers = user.home / "papers"
    papers.mkdir()
    (papers / "report.pdf").write_bytes(pdf("A kestrel hovers.", "A heron waits."))
    (papers / "note.md").write_text("# A note\n\nA kestrel.\n", encoding="utf-8")
    user.ok("collection", "add", str(papers), "--formats", "all")
    with server_of(user) as server:
        shown = page(server, "/read/papers/report.pdf")
        assert "<iframe" not in shown
        assert 'href="/read/papers/report.pdf?view=original"' in shown
        answer = server.ask("GET", "/read/papers/report.pdf?view=original&line=3")
        assert '<iframe class="original" src="/file/papers/report.pdf' in answer.text
        assert "A heron waits." in answer.text
        assert "frame-src 'self'" in answer.headers["content-security-policy"]
        file = server.ask("GET", "/file/papers/report.pdf").headers["content-security-policy"]
        assert "frame-ancestors 'self'" in file
        other = server.ask("GET", "/read/papers/note.md?view=original")
        assert "<iframe" not in other.text
        assert "frame-src" not in other.headers["content-security-policy"]
