"""`pull`: download models from a faulty mirror on the loopback interface."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec import Struct, field

from tests.users import MakeUser, User

pytestmark = pytest.mark.slow

NAME = "hf:someone/some-models/small.gguf"
CONTENT = bytes(range(256)) * 4000
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


class Mirror(Struct):
    """A server of one file. Response n ends after `breaks[n]` bytes."""

    url: str = ""
    checksum: str | None = CHECKSUM
    status: int = 200
    ranges: bool = True
    redirects: bool = False
    breaks: list[int] = field(default_factory=list)
    requests: list[tuple[str, str | None, str | None]] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    mirror: Mirror

    def do_GET(self) -> None:
        mirror, span = self.mirror, self.headers["Range"]
        mirror.requests.append((self.path, span, self.headers["Authorization"]))
        if mirror.status != 200:
            self.respond(mirror.status)
        elif self.path == "/someone/some-models/resolve/main/small.gguf" and mirror.redirects:
            # The checksum comes with the redirection, not with the file.
            other = mirror.url.replace("127.0.0.1", "localhost")
            self.respond(302, Location=f"{other}/cdn", **{"X-Linked-ETag": f'"{mirror.checksum}"'})
        elif self.path in ("/someone/some-models/resolve/main/small.gguf", "/cdn"):
            self.send_file(int(span[6:-1]) if span and mirror.ranges else 0)
        else:
            self.respond(404)

    def send_file(self, start: int) -> None:
        if start >= len(CONTENT):
            self.respond(416)
            return
        headers = {"Content-Length": str(len(CONTENT) - start)}
        if self.mirror.checksum and self.path != "/cdn":
            headers["ETag"] = f'"{self.mirror.checksum}"'
        self.respond(206 if start else 200, **headers)
        length = self.mirror.breaks.pop(0) if self.mirror.breaks else len(CONTENT)
        self.wfile.write(CONTENT[start : start + length])

    def respond(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    mirror = Mirror()
    http = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"mirror": mirror}))
    mirror.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield mirror
    http.shutdown()
    http.server_close()
    thread.join()


@pytest.fixture
def puller(user: User, mirror: Mirror) -> User:
    """A user with an empty cache who downloads from the mirror."""
    user.environ |= {"XDG_CACHE_HOME": str(user.home / "own"), "HF_ENDPOINT": mirror.url + "/"}
    return user


def place(user: User) -> Path:
    return user.home / "own" / "qmd" / "models" / "someone" / "some-models" / "small.gguf"


def test_pull_downloads_verifies_and_does_not_repeat(puller: User, mirror: Mirror) -> None:
    message = puller.ok("pull", NAME)
    assert message == f"Downloaded small (1.0 MB, SHA-256 {CHECKSUM[:12]}): {place(puller)}\n"
    assert place(puller).read_bytes() == CONTENT
    assert [path.name for path in place(puller).parent.iterdir() if path.suffix != ".lock"] == ["small.gguf"]
    assert puller.ok("pull", NAME) == f"small is already installed: {place(puller)}\n"
    assert len(mirror.requests) == 1


def test_pull_resumes_an_interrupted_download(puller: User, mirror: Mirror) -> None:
    mirror.breaks = [300_000, 400_000]
    puller.ok("pull", NAME)
    assert [span for _, span, _ in mirror.requests] == [None, "bytes=300000-", "bytes=700000-"]
    assert place(puller).read_bytes() == CONTENT


def test_pull_keeps_a_partial_download_for_the_next_run(puller: User, mirror: Mirror) -> None:
    mirror.breaks = [300_000, 0, 0, 0]
    result = puller.invoke("pull", NAME)
    assert result.exit_code == 1
    assert "run the command again to resume" in result.stderr
    assert not place(puller).exists()
    puller.ok("pull", NAME)
    assert mirror.requests[-1][1] == "bytes=300000-"
    assert place(puller).read_bytes() == CONTENT


def test_pull_restarts_if_the_mirror_cannot_resume(puller: User, mirror: Mirror) -> None:
    mirror.breaks, mirror.ranges = [300_000], False
    puller.ok("pull", NAME)
    assert place(puller).read_bytes() == CONTENT


def test_pull_removes_a_file_with_a_wrong_checksum(puller: User, mirror: Mirror) -> None:
    mirror.checksum = "0" * 64
    result = puller.invoke("pull", NAME)
    assert result.exit_code == 1
    assert "does not match its checksum" in result.stderr
    assert not [path for path in place(puller).parent.iterdir() if path.suffix != ".lock"]


def test_pull_uses_the_checksum_of_a_redirect_without_forwarding_the_token(
    puller: User, mirror: Mirror
) -> None:
    mirror.redirects = True
    puller.environ["HF_TOKEN"] = "hf_secret"
    assert f"SHA-256 {CHECKSUM[:12]}" in puller.ok("pull", NAME)
    assert [(path, token) for path, _, token in mirror.requests] == [
        ("/someone/some-models/resolve/main/small.gguf", "Bearer hf_secret"),
        ("/cdn", None),
    ]


def test_pull_reports_a_missing_checksum(puller: User, mirror: Mirror) -> None:
    mirror.checksum = None
    assert "the server gave no checksum" in puller.ok("pull", NAME)


@pytest.mark.parametrize(
    ("status", "message"), [(404, "Check the owner"), (403, "set HF_TOKEN"), (410, "answered 410")]
)
def test_pull_reports_a_refusal_with_a_hint(puller: User, mirror: Mirror, status: int, message: str) -> None:
    mirror.status = status
    result = puller.invoke("pull", NAME)
    assert result.exit_code == 1
    assert message in result.stderr
    assert len(result.stderr.splitlines()) <= 2


@pytest.mark.parametrize("name", ["word2vec", "hf:someone", "hf:a/b/../../../etc/passwd", "hf:../b/c.gguf"])
def test_pull_refuses_an_invalid_name_without_a_request(puller: User, mirror: Mirror, name: str) -> None:
    result = puller.invoke("pull", name)
    assert result.exit_code == 1
    assert "hf:owner/repository/file.gguf" in result.stderr
    assert mirror.requests == []


def test_pull_without_a_name_downloads_the_configured_models(puller: User, mirror: Mirror) -> None:
    assert puller.ok("pull").startswith("Nothing to pull")
    assert puller.ok("pull", "embed").startswith("Nothing to pull")
    assert mirror.requests == []
    puller.environ["QMD_GENERATE_MODEL"] = NAME
    assert puller.ok("pull", "rerank").startswith("Nothing to pull")
    assert puller.ok("pull").startswith("Downloaded small")


def test_models_can_be_copied_to_a_machine_without_a_network(
    puller: User, mirror: Mirror, make_user: MakeUser
) -> None:
    puller.ok("pull", NAME)
    puller.ok("collection", "add", str(puller.notes), "--name", "notes")
    puller.ok("embed")
    offline = make_user("offline")
    offline.environ |= {"XDG_CACHE_HOME": str(offline.home / "own"), "HF_ENDPOINT": "http://127.0.0.1:9"}
    shutil.copytree(puller.home / "own" / "qmd" / "models", offline.home / "own" / "qmd" / "models")
    assert offline.ok("pull", NAME) == f"small is already installed: {place(offline)}\n"
    assert place(offline).read_bytes() == CONTENT
    # The default models are converted files there, and work without being converted again.
    assert json.loads(offline.ok("models", "--json"))[0]["condition"] == "ready"
    offline.ok("collection", "add", str(offline.notes), "--name", "notes")
    result = offline.invoke("embed")
    assert result.exit_code == 0
    assert "Preparing" not in result.stderr
    checks = {row["check"]: row["level"] for row in json.loads(offline.invoke("doctor", "--json").stdout)}
    assert checks["model embed"] == checks["vectors"] == "ok"
    assert len(mirror.requests) == 1


def test_commands_other_than_pull_download_no_model(puller: User, mirror: Mirror) -> None:
    pytest.importorskip("xllamacpp", reason="the extra 'llm' is not installed")
    puller.ok("collection", "add", str(puller.notes / "2026"), "--name", "few")
    puller.environ |= {f"QMD_{role}_MODEL": NAME for role in ("EMBED", "RERANK", "GENERATE")}
    for args in (["status"], ["models"], ["query", "review"], ["vsearch", "review"], ["embed"], ["doctor"]):
        puller.invoke(*args)
    assert mirror.requests == []
    assert "small is not downloaded" in puller.invoke("embed").stderr.replace("'", "").replace("Model ", "")
    assert f"qmd pull {NAME}" in puller.invoke("embed").stderr
