"""The memory provider for Hermes, against the interface that Hermes publishes for such providers."""

from __future__ import annotations

import importlib.util
import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.integrations.conftest import FOLDER, KEY
from tests.users import User

pytestmark = pytest.mark.models


class MemoryProvider(ABC):
    """What `agent.memory_provider` of Hermes requires of a provider."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @abstractmethod
    def is_available(self) -> bool: ...

    @abstractmethod
    def initialize(self, session_id: str, **kwargs: Any) -> None: ...

    @abstractmethod
    def get_tool_schemas(self) -> list[dict[str, Any]]: ...


@pytest.fixture
def provider(host: User, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The provider as a host has registered and initialized it."""
    agent, published = ModuleType("agent"), ModuleType("agent.memory_provider")
    published.MemoryProvider = MemoryProvider  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "agent", agent)
    monkeypatch.setitem(sys.modules, "agent.memory_provider", published)
    for name, value in host.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(host.home)
    spec = importlib.util.spec_from_file_location("hermes_qmd", FOLDER / "hermes" / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    registered: list[Any] = []
    context = ModuleType("context")
    context.register_memory_provider = registered.append  # type: ignore[attr-defined]
    module.register(context)
    (made,) = registered
    made.initialize("hermes-1", hermes_home=str(host.home), platform="cli")
    yield made


def test_provider_is_available_where_the_program_is(provider: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = yaml.safe_load((FOLDER / "hermes" / "plugin.yaml").read_text(encoding="utf-8"))
    assert provider.name == manifest["name"] == "qmd"
    assert provider.is_available()
    monkeypatch.setenv("PATH", "/nonexistent")
    assert not provider.is_available()


def test_prefetch_gives_passages_once_in_a_session(provider: Any) -> None:
    session = "hermes-once"
    said = provider.prefetch("How are our backups restored?", session_id=session)
    assert "notes/ops/backup.md:" in said
    assert provider.prefetch("How are our backups restored?", session_id=session) == ""


def test_prefetch_is_silent_where_nothing_answers(provider: Any) -> None:
    assert provider.prefetch("Write a haiku about the sea at night", session_id="hermes-silent") == ""


def test_compression_leads_to_the_addresses_of_what_was_given(provider: Any) -> None:
    provider.on_session_switch("hermes-compressed")
    assert provider.prefetch("How are our backups restored?")
    assert provider.on_pre_compress([{"role": "user", "content": "x"}]) == ""
    assert "notes/ops/backup.md:" in provider.prefetch("Write a haiku about the sea at night")


def test_tools_search_and_read(provider: Any) -> None:
    search, get = provider.get_tool_schemas()
    assert [search["name"], get["name"]] == ["qmd_search", "qmd_get"]
    (hit,) = json.loads(
        provider.handle_tool_call("qmd_search", {"query": "how are backups restored", "limit": 1})
    )
    assert hit["file"] == "qmd://notes/ops/backup.md"
    read = json.loads(provider.handle_tool_call("qmd_get", {"path": f"{hit['file']}:5:1"}))
    assert read["body"].strip() == "# Backups"
    failed = json.loads(provider.handle_tool_call("qmd_get", {"path": "--help"}))
    assert "not found" in failed["error"]


def test_tools_give_no_secret_and_nothing_that_is_kept_from_agents(provider: Any) -> None:
    asked = {"query": "the vault and the diary of zebrafish", "limit": 3}
    found = provider.handle_tool_call("qmd_search", asked)
    read = provider.handle_tool_call("qmd_get", {"path": "notes/vault.md"})
    assert "notes/vault.md" in found
    assert "[secret" in read
    assert not [part for part in (KEY, "diary") if part in found + read]
    assert "not found" in provider.handle_tool_call("qmd_get", {"path": "notes/diary.md"})
