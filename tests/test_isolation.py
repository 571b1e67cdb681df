"""The suite itself: nothing from outside leaks in, and nothing gets out."""

import os
import socket

import pytest

from tests.conftest import OutsideWorld


def test_no_credentials_of_the_user_are_visible():
    assert not [name for name in os.environ if name.startswith(("OPENAI_", "LANGSMITH_", "PHOENIX_"))]


@pytest.mark.parametrize("host", ["192.0.2.1", "10.0.0.1"])
def test_a_connection_off_this_machine_is_refused(host):
    with socket.socket() as sock, pytest.raises(OutsideWorld, match=host):
        sock.connect((host, 80))


def test_loopback_is_open():
    with socket.socket() as listener, socket.socket() as sock:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sock.connect(listener.getsockname())
