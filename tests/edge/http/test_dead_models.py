"""If the only retriever of a search fails, the search is an error on every interface, never an empty list."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.clients import server_of
from tests.model_server import serving
from tests.users import MakeUser, User

pytestmark = pytest.mark.slow


@pytest.fixture
def user_without_models(make_user: MakeUser) -> Iterator[tuple[User, str]]:
    """A user whose notes were embedded by a server that is down, and the expected error."""
    user = make_user("user_without_models")
    user.ok("collection", "add", str(user.notes), "--name", "notes")
    with serving() as short_lived:
        user.environ["QMD_EMBED_MODEL"] = f"openai:tiny@{short_lived.url}"
        user.ok("embed")
    yield user, f"The server of 'tiny@{short_lived.url}' cannot be reached"


def test_search_without_a_working_retriever_is_an_error_on_every_interface(
    user_without_models: tuple[User, str],
) -> None:
    user, told = user_without_models
    for command in (["vsearch", "rollback"], ["query", "vec: rollback"]):
        result = user.invoke(*command, "--json", "--mode", "local")
        assert (result.exit_code, result.stdout) == (1, "")
        assert f"Error: {told}" in result.stderr
    with server_of(user) as server:
        typed = {"searches": [{"type": "vec", "query": "rollback"}]}
        assert told in server.ask("POST", "/vsearch", {"query": "rollback"}).detail(503)
        assert told in server.ask("POST", "/query", typed).detail(503)
        for tool, arguments in (("vsearch", {"query": "rollback"}), ("query", typed)):
            result = server.mcp("tools/call", name=tool, arguments=arguments).json["result"]
            assert result["isError"] is True
            assert told in result["content"][0]["text"]
        attached = user.run("vsearch", "rollback", "--json", "--mode", "server")
        assert (attached.returncode, attached.stdout) == (1, "")
        assert f"Error: {told}" in attached.stderr
        # Words can still be searched, so the answer has results and says that vectors are missing.
        answer = server.ok("POST", "/query", {"query": "rollback", "rerank": False})
        assert answer["results"]
        assert [each["status"] for each in answer["stages"] if each["stage"] == "vector"] == ["failed"]
