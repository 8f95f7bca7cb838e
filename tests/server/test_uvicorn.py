"""The internal names of uvicorn that the server uses. `pyproject.toml` allows the versions that have them."""

from __future__ import annotations

import asyncio

import h11
import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import ServerState

METHODS = {
    H11Protocol: "connection_made data_received on_response_complete pause_writing resume_writing "
    "send_400_response",
    uvicorn.Server: "serve startup main_loop on_tick handle_exit",
}


@pytest.mark.parametrize("owner", METHODS)
def test_overridden_uvicorn_methods_exist(owner: type) -> None:
    assert [name for name in METHODS[owner].split() if not callable(getattr(owner, name, None))] == []


def test_attributes_of_uvicorn_in_use_exist() -> None:
    async def talk() -> None:
        config = uvicorn.Config(lambda: None, log_config=None)
        protocol = H11Protocol(config=config, server_state=ServerState(), app_state={})
        assert {"conn", "connections", "cycle", "flow", "loop", "transport"} <= set(vars(protocol))
        assert isinstance(protocol.conn, h11.Connection)
        assert FlowControl(asyncio.Transport()).write_paused is False
        assert {"server_state", "should_exit"} <= set(vars(uvicorn.Server(config)))
        cycle = set(RequestResponseCycle.__init__.__code__.co_names)
        assert {"disconnected", "message_event", "response_started"} <= cycle

    asyncio.run(talk())
