"""Files and images that the web page sends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients import Server, server_of
from tests.edge.http.pages import page, post
from tests.users import MakeUser

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def files(make_user: MakeUser) -> Iterator[tuple[Path, Server]]:
    user = make_user("web-files")
    folder = user.home / "folder"
    (folder / "sub" / ".hidden").mkdir(parents=True)
    for name in ("a.png", "sub/b.svg", "sub/.hidden/c.png", "d.html", ".e.png"):
        (folder / name).write_bytes(b"<svg onload='alert(1)'>")
    (user.home / "out.png").write_bytes(b"secret")
    (folder / "link.png").symlink_to(user.home / "out.png")
    (folder / "away").symlink_to(user.home)
    (folder / "doc.md").write_text(
        "# Doc\n\n![[b.svg]] ![x](../out.png) ![y](away/out.png)\n", encoding="utf-8"
    )
    user.ok("collection", "add", str(folder), "--name", "folder")
    with server_of(user) as server:
        yield folder, server


def test_unchanged_file_is_not_sent_again(files: tuple[Path, Server]) -> None:
    folder, server = files
    path = "/file/folder/sub/b.svg"
    first = server.ask("GET", path).headers
    for known in (
        {"if_none_match": first["etag"]},
        {"if_none_match": f'"other", W/{first["etag"]}'},
        {"if_modified_since": first["last-modified"]},
    ):
        again = server.ask("GET", path, **known)
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == first["etag"]
    assert server.ask("GET", path, if_none_match='"other"').status == 200
    (file,) = folder.rglob("b.svg")
    file.write_text("<svg xmlns='http://www.w3.org/2000/svg'><g/></svg>")
    assert server.ask("GET", path, if_none_match=first["etag"]).status == 200


def test_file_stays_in_its_collection_and_has_a_known_type(files: tuple[Path, Server]) -> None:
    _, server = files
    answer = server.ask("GET", "/file/folder/sub/b.svg")
    assert (answer.status, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert "sandbox" in answer.headers["content-security-policy"]
    for path in (
        *("link.png", "away/out.png", "../out.png", "%2e%2e/out.png", "..%2fout.png", "sub/../../out.png"),
        *("d.html", "doc.md", ".e.png", "sub/.hidden/c.png", "none.png", "sub", "a.png%00.png", "/etc/x.png"),
    ):
        assert server.ask("GET", f"/file/folder/{path}").status == 404, path
    shown = page(server, "/read/folder/doc.md")
    assert 'src="/file/folder/sub/b.svg"' in shown
    assert shown.count("<img") == 1


def test_only_indexed_files_and_images_of_documents_are_sent(make_user: MakeUser) -> None:
    user = make_user("web-left-out")
    notes = user.home / "vault"
    for path in ("paper.pdf", "hr/pay.pdf", "private/plan.pdf", "node_modules/x.pdf", "raw.svg", "chart.png"):
        (notes / path).parent.mkdir(parents=True, exist_ok=True)
        (notes / path).write_bytes(b"%PDF-1.4")
    for path in (
        "hr/face.png",
        "hr/chart.png",
        "hr/logo.png",
        "private/seal.png",
        "pics/map.svg",
        "pics/a.webp",
    ):
        (notes / path).parent.mkdir(exist_ok=True)
        (notes / path).write_bytes(b"image")
    (notes / "doc.md").write_text(
        "# Doc\n\n![[map.svg#part|600]] [![a](pics/a.webp)](doc.md) ![[face.png]] ![](hr/logo.png?raw=true)\n"
        "[raw](raw.svg) [pay](hr/pay.pdf) [paper](paper.pdf) ![[pay.pdf]]\n",
        encoding="utf-8",
    )
    (notes / "hr" / "staff.md").write_text("![](face.png) ![](chart.png)\n", encoding="utf-8")
    (notes / "private" / "own.md").write_text("![](seal.png)\n", encoding="utf-8")
    formats = ("--formats", "markdown,pdf")
    ignored = ("--ignore", "hr/", "--ignore", "private/")
    user.ok("collection", "add", str(notes), "--name", "notes", *formats, *ignored)
    user.ok("collection", "add", str(notes / "hr"), "--name", "hr", *formats)
    key = user.ok("keys", "add", "notes", "--collection", "notes").strip()
    with server_of(user) as server:
        cookie = post(server, "/sign-in", key=key).headers["set-cookie"].partition(";")[0]

        def sent(path: str) -> bool:
            return server.ask("GET", f"/file/{path}", cookie=cookie).status == 200

        paths = {str(path.relative_to(notes)) for path in notes.rglob("*") if path.is_file()}
        files = {"paper.pdf", "pics/map.svg", "pics/a.webp", "hr/logo.png"}
        assert {path for path in paths if sent(f"notes/{path}")} == files
        assert not any(sent(f"hr/{path}") for path in ("pay.pdf", "face.png"))
        shown = page(server, "/read/notes/doc.md", cookie=cookie)
        assert set(re.findall('"/file/notes/([^"]*)"', shown)) <= files
        (notes / "doc.md").write_text("# Doc\n", encoding="utf-8")
        user.ok("update", "--no-embed")
        assert not sent("notes/pics/map.svg")


def test_remote_images_are_allowed_for_one_answer(make_user: MakeUser) -> None:
    user = make_user("web-images")
    (user.notes / "image.md").write_text("![x](https://example.org/a.png)\n", encoding="utf-8")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    with server_of(user) as server:
        assert "<img" not in page(server, "/read/notes/image.md")
        answer = post(server, "/read/notes/image.md")
        assert 'src="https://example.org/a.png"' in answer.text
        assert "img-src 'self' data: http: https:" in answer.headers["content-security-policy"]
        assert post(server, "/read/notes/image.md", origin="http://localhost:1").status == 403
        assert "<img" not in page(server, "/read/notes/image.md")
