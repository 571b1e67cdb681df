"""Load Phoenix's Python client without the Phoenix server that may be installed beside it."""

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import extend_path
from types import ModuleType
from typing import Any

import httpx


def phoenix_client(http_client: httpx.AsyncClient) -> Any:
    """Return a `phoenix.client.AsyncClient` over the given connection.

    With a connection of our own it reads neither PHOENIX_* variables nor a `.env.phoenix` file.
    """
    return _client_module().AsyncClient(http_client=http_client)


@cache
def _client_module() -> ModuleType:
    if "phoenix" in sys.modules:
        return import_module("phoenix.client")
    # Client and server share the package `phoenix`, whose `__init__` starts importing the whole server: 16 CPU-seconds
    # and 400 MB. An empty package stands in for it while the client is loaded.
    spec = find_spec("phoenix")
    places = list(spec.submodule_search_locations or []) if spec else []
    stand_in = ModuleType("phoenix")
    stand_in.__path__ = list(extend_path(places, "phoenix"))
    sys.modules["phoenix"] = stand_in
    try:
        return import_module("phoenix.client")
    finally:
        del sys.modules["phoenix"]
