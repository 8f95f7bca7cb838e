"""Each extra alone: the command that the program names for it is enough."""

from __future__ import annotations

import re
import subprocess

from PIL import Image, ImageDraw, ImageFont

from tests.clients import server_of
from tests.extras.conftest import UserOf
from tests.users import User


def add(user: User) -> str:
    """Add the notes with all formats; return the notices."""
    done = user.run("add", str(user.notes), "--formats", "all")
    assert done.returncode == 0, done
    return done.stderr


def install(told: str, extra: str) -> None:
    """Run the command for an extra that stands in a text of the program."""
    command = re.search(rf"\S+ -P -m pip install '[^']+\[{extra}\]'", told)
    assert command, told
    subprocess.run(f"{command[0]} --quiet --disable-pip-version-check --no-compile", shell=True, check=True)


def test_formats_are_read_after_their_extra_is_installed(user_of: UserOf) -> None:
    user = user_of("formats")
    install(add(user), "formats")
    assert "qmd update" in user.run("status").stdout
    done = user.run("update", "--no-embed")
    assert done.returncode == 0, done
    assert "waits for" in done.stderr  # the code
    assert "[formats]" not in done.stderr
    assert "a.pdf" in user.run("search", "heron").stdout
    assert "b.html" in user.run("search", "ibis").stdout


def test_scans_are_read_after_their_extra_is_installed(user_of: UserOf) -> None:
    user = user_of("ocr")
    picture = Image.new("L", (500, 80), 255)
    font = ImageFont.load_default(size=32)
    ImageDraw.Draw(picture).text((20, 20), "The heron waits", font=font, fill=0)
    picture.save(user.notes / "d.png")
    done = user.run("add", str(user.notes), "--name", "notes", "--formats", "all", "--ocr")
    assert done.returncode == 0, done
    refused = user.run("ocr")
    assert refused.returncode != 0
    install(refused.stderr, "ocr")
    assert user.run("ocr", "--no-embed").returncode == 0
    assert "d.png" in user.run("search", "heron", "--ext", "png").stdout


def test_code_is_read_after_its_extra_is_installed(user_of: UserOf) -> None:
    user = user_of("code")
    install(add(user), "code")
    assert "[code]" not in user.run("update", "--no-embed").stderr
    assert "c.py" in user.run("search", "stork").stdout
    assert user.run("get", "notes/a.pdf").returncode == 1


def test_page_opens_after_its_extra_is_installed(user_of: UserOf) -> None:
    user = user_of("web")
    add(user)
    install(user.run("open").stderr, "web")
    with server_of(user) as server:
        page = server.ask("GET", "/?q=performance")
        assert page.status == 200
        assert "deploy.md" in page.text
        assert server.ask("GET", "/metrics").status == 501


def test_metrics_are_there_after_their_extra_is_installed(user_of: UserOf) -> None:
    user = user_of("server")
    with server_of(user) as server:
        install(server.ask("GET", "/metrics").detail(501), "server")
    with server_of(user) as server:
        assert b"qmd_requests" in server.ask("GET", "/metrics").body
        assert server.ask("GET", "/").status == 501


def test_index_files_are_encrypted_after_the_extra_is_installed(user_of: UserOf) -> None:
    user = user_of("crypt")
    add(user)
    words, secret = ("backup", "--portable", "--encrypt", str(user.home / "x.qmd")), {"QMD_PASSPHRASE": "p"}
    install(user.run(*words, **secret).stderr, "crypt")
    assert user.run(*words, **secret).returncode == 0
    found = user.run("search", "rollback", "--index-file", str(user.home / "x.qmd"), **secret)
    assert "deploy.md" in found.stdout


def test_milvus_store_opens_after_its_extra_is_installed(user_of: UserOf) -> None:
    user = user_of("milvus")
    store = {"QMD_STORE": f"milvus://{user.home}/milvus.db"}
    words = ("add", str(user.notes), "--no-embed")
    install(user.run(*words, **store).stderr, "milvus")
    done = user.run(*words, **store)
    assert done.returncode == 0, done
    assert "deploy.md" in user.run("search", "rollback", **store).stdout


def test_gguf_model_is_read_after_the_extra_is_installed(user_of: UserOf) -> None:
    user = user_of("llm")
    add(user)
    model = user.home / "model.gguf"
    model.write_bytes(b"GGUF")
    chosen = {"QMD_EMBED_MODEL": str(model)}
    install(user.run("embed", "--force", **chosen).stderr, "llm")
    told = user.run("embed", "--force", **chosen).stderr
    assert "extra" not in told
    assert str(model) in told
