"""The SDK's own client over both transports and with both kinds of handshake."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from tests.agents import Site
from tests.users import User

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from mcp.client.stdio import StdioServerParameters


@pytest.fixture(params=["stdio", "http"])
def place(request: pytest.FixtureRequest, reader: User) -> StdioServerParameters | str:
    """The address or command of the server for the client."""
    # Imported here, because the quick run imports the module but has no extra.
    from mcp.client.stdio import StdioServerParameters

    if request.param == "http":
        site: Site = request.getfixturevalue("site")
        return site.url
    return StdioServerParameters(
        command=sys.executable, args=["-m", "qmd", "mcp"], env=reader.environ, cwd=os.fspath(reader.home)
    )


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_sdk_client_can_use_every_feature(place: StdioServerParameters | str, mode: str) -> None:
    import mcp_types as types
    from mcp.client.client import Client

    async def talk() -> None:
        async with Client(place, mode=mode) as client:
            assert client.server_info is not None
            assert client.server_info.name == "qmd"
            assert "37 documents" in (client.instructions or "")
            tools = await client.list_tools()
            assert len(tools.tools) == 6
            found = await client.call_tool("search", {"query": "zebra"})
            assert not found.is_error
            assert found.structured_content["results"][0]["file"] == "notes/odd #1?.md"
            read = await client.call_tool("get", {"file": "plan.md", "lineNumbers": True})
            assert isinstance(read.content[0], types.EmbeddedResource)
            wrong = await client.call_tool("search", {"query": "zebra", "limit": 5000})
            assert wrong.is_error
            assert (await client.list_resources()).resources == []
            templates = await client.list_resource_templates()
            assert [each.uri_template for each in templates.resource_templates] == ["qmd://{+path}"]
            resource = await client.read_resource("qmd://notes/meeting.md")
            assert resource.contents[0].uri == "qmd://notes/meeting.md"
            prompt = await client.get_prompt("query")
            assert prompt.messages[0].role == "user"

    anyio.run(talk)


def test_concurrent_calls_are_all_answered(place: StdioServerParameters | str) -> None:
    import mcp_types as types
    from mcp.client.client import Client

    async def talk() -> None:
        names = [f"crowd/bird{number:02}.md" for number in range(30)]
        read: dict[str, str] = {}

        async with Client(place, mode="legacy") as client:

            async def one(name: str) -> None:
                result = await client.call_tool("get", {"file": name})
                block = result.content[0]
                assert isinstance(block, types.EmbeddedResource)
                read[name] = block.resource.uri

            async with anyio.create_task_group() as tasks:
                for name in names:
                    tasks.start_soon(one, name)
        assert read == {name: f"qmd://{name}" for name in names}

    anyio.run(talk)
