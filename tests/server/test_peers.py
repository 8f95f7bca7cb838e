"""Which user has opened a connection, by each way of asking the system."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from qmd.server import peers
from qmd.server.peers import Address

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="connections are looked up as Linux tells them"
)

ADDRESSES = ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1"]
Ends = tuple[socket.socket, Address, Address]


@contextmanager
def connected(host: str) -> Iterator[Ends]:
    """Yield the client's end of a connection, and both addresses as the server sees them."""
    listens_at = host.removeprefix("::ffff:")
    of = socket.AF_INET6 if ":" in listens_at else socket.AF_INET
    with (
        socket.create_server((listens_at, 0), family=of) as listener,
        closing(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)) as client,
    ):
        client.connect((host, listener.getsockname()[1]))
        with closing(listener.accept()[0]) as accepted:
            yield client, accepted.getpeername()[:2], accepted.getsockname()[:2]


@pytest.mark.parametrize("host", ADDRESSES)
def test_both_ways_tell_the_user_and_the_inode(host: str) -> None:
    with connected(host) as (client, there, here):
        expected = (os.getuid(), os.fstat(client.fileno()).st_ino)
        assert peers._asked(there, here) == peers._read(there, here) == expected
        assert peers.Peer(there, here).is_own_user
        client.close()
        # The system tells 0, which is root, of an end that its program has closed.
        assert peers._asked(there, here)[1] == peers._read(there, here)[1] == 0
        assert not peers.Peer(there, here).is_own_user


@pytest.mark.parametrize("host", ADDRESSES)
def test_a_socket_that_listens_is_no_end_of_a_connection(host: str) -> None:
    with connected(host) as (_, there, here):
        assert peers._asked(here, (there[0], there[1] ^ 1)) == (0, 0)
        assert peers._read(here, (there[0], there[1] ^ 1)) == (0, 0)


@pytest.mark.skipif(shutil.which("lsof") is None, reason="lsof is not installed")
@pytest.mark.parametrize("host", ADDRESSES[:3])
def test_lsof_lists_connections_of_the_user(host: str) -> None:
    with connected(host) as (client, there, here):
        assert peers._is_listed(there, here)
        assert not peers._is_listed(there, (here[0], here[1] ^ 1))
        client.close()
        assert not peers._is_listed(there, here)


def test_an_unknown_peer_is_another_user() -> None:
    assert not peers.Peer(None, ("127.0.0.1", 1)).is_own_user
    assert not peers.Peer(("127.0.0.1", 1), ("127.0.0.1", 2)).is_own_user
