"""Answers of a model on the page: each sentence with its quotation, as soon as it is proven."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

from tests.clients import Server, server_of
from tests.edge.http.pages import page, post
from tests.model_server import Server as Models, serving, streamed
from tests.users import MakeUser, User
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

QUESTION = "when does the nightly backup run?"
GOOD = 'The nightly backup runs at 02:30. [1] "The nightly backup runs at 02:30"'


@pytest.fixture(scope="module")
def models() -> Iterator[Models]:
    with serving() as found:
        yield found


def with_notes(user: User) -> User:
    """Give a user two collections, of which one has the answer."""
    notes = {"open": "# Backups\n\nThe nightly backup runs at 02:30.\n", "closed": "# Zanzibar\n"}
    for name, text in notes.items():
        folder = user.home / name
        folder.mkdir()
        (folder / "note.md").write_text(text, encoding="utf-8")
        user.ok("collection", "add", str(folder), "--name", name)
    return user


@pytest.fixture(scope="module")
def owner(make_user: MakeUser) -> User:
    return with_notes(make_user("answers"))


@pytest.fixture(scope="module")
def server(owner: User, models: Models) -> Iterator[Server]:
    with server_of(owner, QMD_GENERATE_MODEL=f"openai:writer@{models.url}") as server:
        yield server


def test_question_is_answered_with_quotations_that_lead_to_their_lines(
    server: Server, models: Models
) -> None:
    models.lines = f'{GOOD}\nIt costs <b>9</b> euros. [1] "The nightly backup runs"'
    assert 'action="/answer"' in page(server, f"/?{urlencode({'q': QUESTION})}")
    answer = post(server, "/answer", q=QUESTION)
    assert answer.status == 200
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "etag" not in answer.headers
    assert '<p dir="auto">The nightly backup runs at 02:30.</p>' in answer.text
    assert 'href="/read/open/note.md?line=3#hit"' in answer.text
    assert "1 sentence that no quotation supports was left out." in answer.text
    assert "euros" not in answer.text
    assert answer.text.rstrip().endswith("</html>")


def test_sentence_is_sent_before_the_next_is_written(server: Server, models: Models) -> None:
    read = threading.Event()
    models.faults.append(lambda: streamed(GOOD + "\n", "More.", then=lambda: read.wait(PATIENCE)))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    origin = {
        "origin": f"http://127.0.0.1:{server.port}",
        "content-type": "application/x-www-form-urlencoded",
    }
    connection.request("POST", "/answer", urlencode({"q": QUESTION}), origin)
    answer, shown = connection.getresponse(), b""
    while b"</blockquote>" not in shown:
        shown += answer.read1() or pytest.fail(shown.decode())
    assert not read.is_set()
    assert b"</html>" not in shown
    read.set()
    assert answer.read().rstrip().endswith(b"</html>")
    connection.close()


def test_answer_says_that_the_notes_do_not_say_and_escapes_what_a_model_writes(
    server: Server, models: Models
) -> None:
    models.lines = "<script>alert(1)</script> is what I say."
    shown = post(server, "/answer", q="what is <i>falcon</i>?").text
    assert "Your notes do not say." in shown
    assert "alert" not in shown
    assert "<i>" not in shown


def test_failure_of_the_model_is_told(server: Server, models: Models) -> None:
    models.faults += [lambda: (500, {}, b"{}")] * 9
    shown = post(server, "/answer", q=QUESTION)
    models.faults.clear()
    assert shown.status == 200
    assert 'role="alert"' in shown.text
    assert post(server, "/answer", q=" ").status == 400
    assert post(server, "/answer", q=QUESTION, origin="https://example.org").status == 403
    assert server.ask("GET", "/answer").status == 405


def test_limited_key_is_answered_from_what_it_may_see(make_user: MakeUser, models: Models) -> None:
    user = with_notes(make_user("answers-limited"))
    key = user.ok("keys", "add", "limited", "--collection", "closed").strip()
    with server_of(user, QMD_GENERATE_MODEL=f"openai:writer@{models.url}") as server:
        cookie = post(server, "/sign-in", key=key).headers["set-cookie"].partition(";")[0]
        models.lines = GOOD
        models.requests.clear()
        shown = post(server, "/answer", cookie=cookie, q=QUESTION).text
        assert "open/note.md" not in shown
        assert "02:30" not in shown + str(models.requests)


def test_page_offers_no_answers_without_a_model(make_user: MakeUser) -> None:
    with server_of(with_notes(make_user("answers-none"))) as server:
        assert "/answer" not in page(server, f"/?{urlencode({'q': QUESTION})}")
        assert "&#39;qmd ask&#39; needs a model of yours" in post(server, "/answer", q=QUESTION).text
