"""Keep this process from connecting to anything but the hosts it was told: the guard behind `local_only`.

The guard listens to the interpreter's own audit events, so that it holds for every library that uses Python's sockets,
and it can't be taken off again. A connection made by C code of its own (PostgreSQL's driver) raises no such event.
"""

import ipaddress
import socket
import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

from enricher.errors import SetupError


class Endpoint(NamedTuple):
    """A host, by name or address, and a port."""

    host: str
    port: int


_allowed: set[Endpoint] = set()
_addresses: dict[Endpoint, frozenset[str]] = {}  # what the names last resolved to
_state = {"is_on": False}


def confine(endpoints: Iterable[Endpoint]) -> None:
    """Allow connections to these endpoints only, from now on to the end of the process; more may be added later."""
    _allowed.update(Endpoint(endpoint.host.lower().strip("[]"), endpoint.port) for endpoint in endpoints)
    if not _state["is_on"]:
        _state["is_on"] = True
        sys.addaudithook(_look)


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        sock, address = arguments[0], arguments[1]
        if address is not None and not _may_reach(sock, address):
            raise SetupError(f"local_only: a connection to {_shown(address)} was refused; it is not the platform's")
    elif event == "socket.getaddrinfo":
        if not _may_ask(arguments[0]):
            raise SetupError(f"local_only: looking up {_shown(arguments[0])} was refused; it is not the platform's")
    elif event in ("socket.gethostbyname", "socket.gethostbyaddr") and not _may_ask(arguments[0]):
        raise SetupError(f"local_only: looking up {_shown(arguments[0])} was refused; it is not the platform's")


def _may_ask(host: Any) -> bool:
    name = _text(host)
    return name is None or _is_address(name) or any(name == endpoint.host for endpoint in _allowed)


def _may_reach(sock: Any, address: Any) -> bool:
    if not isinstance(address, tuple) or sock.family not in (socket.AF_INET, socket.AF_INET6):
        return False  # a Unix socket may lead anywhere
    host, port = _text(address[0]) or "", address[1]
    targets = [endpoint for endpoint in _allowed if endpoint.port == port]
    if any(host == endpoint.host for endpoint in targets):
        return True
    # Addresses of a name change; it is asked again before a connection is refused.
    return any(_canonical(host) in _known(endpoint, is_fresh) for is_fresh in (False, True) for endpoint in targets)


def _known(endpoint: Endpoint, is_fresh: bool) -> frozenset[str]:
    if is_fresh or endpoint not in _addresses:
        try:
            found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
        except OSError:
            found = []
        _addresses[endpoint] = frozenset(_canonical(str(entry[4][0])) for entry in found)
    return _addresses[endpoint]


def _canonical(host: str) -> str:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _text(host: Any) -> str | None:
    if isinstance(host, bytes | bytearray):
        host = bytes(host).decode("ascii", "replace")
    return host.lower() if isinstance(host, str) else None


def _shown(address: Any) -> str:
    if isinstance(address, tuple):
        return f"{address[0]}:{address[1]}"
    return str(_text(address) or address)
