"""The user of this machine who has opened a connection to the server.

Linux tells it of one connection (sock_diag(7)), and lists all in a file (proc(5)), for programs that may not
ask. macOS lists those of the own user to `lsof`, which it always has. Other systems are not asked, and every
user of such a machine counts as the own one.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Iterator
from functools import cached_property

from qmd.processes import run
from qmd.server.logs import client_logger
from qmd.system import user_id

#: The entry of the state of a request's ASGI scope for the peer of its connection.
PEER = "qmd.peer"
#: The message for another user.
REFUSAL = (
    "This server answers the user who runs it, and this connection is not known to be of that user. "
    "Send a key ('qmd server keys add NAME' makes one), or let the server be started with --trust-local-users"
)
#: Of netlink: its family of addresses, the protocol about sockets, their type, and the question.
_NETLINK, _SOCK_DIAG, _BY_FAMILY, _REQUEST = 16, 4, 20, 1
_TCP, _LISTENS, _ANY = 6, 10, 0xFFFFFFFF
#: The number of users without one, unless it was changed.
_NAMELESS = 65534
#: The state, both ports, the user and the inode in an answer.
_ANSWER = struct.Struct("=16x x B 2x 2s 2s 56x I I")
#: The file is read in parts, and an entry is missed if others end meanwhile.
_ATTEMPTS = 3
#: An address and a port, as the system tells them.
Address = tuple[str, int]

logger = client_logger(__name__)


def address_of(end: tuple[str, int | None] | None) -> Address | None:
    """Return the address of an end of a connection over TCP; None if it is of another kind, or has ended."""
    return None if end is None or end[1] is None else (end[0], end[1])


class Peer:
    """The other end of a connection. Its user is looked up once."""

    def __init__(self, client: Address | None, server: Address | None) -> None:
        self._client, self._server = client, server

    @property
    def known(self) -> bool:
        """True if the user was looked up."""
        return "is_own_user" in self.__dict__

    @cached_property
    def is_own_user(self) -> bool:
        """True if the connection is one of the user of this process, or of root, who may do everything."""
        if self._client is None or self._server is None:  # it has ended
            return False
        if sys.platform == "linux":
            user = _user_on_linux(self._client, self._server)
            if user is None:
                logger.info("refused a connection that its program has closed: %s port %d", *self._client)
                return False
            own = user in (os.geteuid(), 0) and user != _nameless_user()
        elif sys.platform == "darwin":
            own = _is_listed(self._client, self._server)
        else:
            own = True
        if not own:
            logger.warning("refused a connection of another user: %s port %d", *self._client)
        return own


def _user_on_linux(client: Address, server: Address) -> int | None:
    """Return the user of the client's end of a connection; None if there is none.

    If the program has closed its end, that has no inode, and 0 in place of its user.
    """
    try:
        user, inode = _asked(client, server)
    except OSError:
        user, inode = _read(client, server)
    return user if inode else None


def _nameless_user() -> int | None:
    """Return the number that stands for all users without one in this user namespace; None if all have one.

    See user_namespaces(7). In a namespace without a mapping, it is also that of the own user.
    """
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            if file.read().split() == ["0", "0", str(_ANY)]:
                return None
        with open("/proc/sys/kernel/overflowuid", encoding="ascii") as file:
            return int(file.read())
    except OSError:  # without /proc
        return _NAMELESS


def _asked(client: Address, server: Address) -> tuple[int, int]:
    """Return the user and the inode of an end of a connection. Raises `OSError` if that may not be asked."""
    family = socket.AF_INET6 if ":" in client[0] else socket.AF_INET
    ports = struct.pack("!HH", client[1], server[1])
    ends = b"".join(socket.inet_pton(family, host).ljust(16, b"\0") for host, _ in (client, server))
    # Any state, interface and cookie.
    question = struct.pack("=BBxxI", family, _TCP, _ANY) + ports + ends + struct.pack("=III", 0, _ANY, _ANY)
    with socket.socket(_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as asking:
        head = struct.pack("=IHHII", 16 + len(question), _BY_FAMILY, _REQUEST, 1, 0)
        asking.settimeout(1.0)
        asking.send(head + question)
        answer = asking.recv(8192)
    if len(answer) < _ANSWER.size or struct.unpack_from("=4xH", answer)[0] != _BY_FAMILY:
        return 0, 0
    state, *both, user, inode = _ANSWER.unpack_from(answer)
    # Without such a connection, the answer may be about a socket that listens there.
    return (user, inode) if state != _LISTENS and b"".join(both) == ports else (0, 0)


def _read(client: Address, server: Address) -> tuple[int, int]:
    """Return the user and the inode of an end of a connection, from the list of all."""
    for _ in range(_ATTEMPTS):
        for path, ends in _rows(client, server):
            try:
                with open(path, "rb", buffering=0) as file:
                    _, found, rest = file.read().partition(f" {ends} ".encode())
            except OSError:
                continue
            if found:
                # State, queues, timers, retransmissions, user, timeout and inode.
                _, _, _, _, user, _, inode, *_ = rest.split(None, 7)
                return int(user), int(inode)
    return 0, 0


def _rows(client: Address, server: Address) -> Iterator[tuple[str, str]]:
    """Yield the lists in which a connection may be, with both ends as they are written there."""
    ends = [(ipaddress.ip_address(host), port) for host, port in (client, server)]
    fours = [(getattr(address, "ipv4_mapped", None) or address, port) for address, port in ends]
    if all(address.version == 4 for address, _ in fours):
        yield "/proc/net/tcp", _written([(address.packed, port) for address, port in fours])
        # A program may connect to an address of version 4 by version 6.
        ends = [(ipaddress.IPv6Address(f"::ffff:{address}"), port) for address, port in fours]
    yield "/proc/net/tcp6", _written([(address.packed, port) for address, port in ends])


def _written(ends: list[tuple[bytes, int]]) -> str:
    return " ".join(f"{_hexadecimal(address)}:{port:04X}" for address, port in ends)


def _hexadecimal(address: bytes) -> str:
    """Return an address as words of the processor's byte order."""
    words = (address[at : at + 4] for at in range(0, len(address), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)


def _is_listed(client: Address, server: Address) -> bool:
    """Return whether `lsof` lists the client's end of a connection among those of this user."""
    listed = run(("lsof", "-nP", "-a", "-u", str(user_id()), f"-iTCP:{client[1]}", "-Fn"))
    ends = "->".join(
        f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in (client, server)
    )
    return f"n{ends}" in listed.stdout.splitlines()
