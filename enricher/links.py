"""Where the platform shows a span, for whoever decides about it."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from enricher.settings import Connection, LangSmithConnection, PhoenixConnection


def platform_link(section: Connection | None, span_id: str, locator: Mapping[str, str]) -> str | None:
    """Return the address of a span's page; None where the platform has none, or the config does not say enough."""
    if not span_id:
        return None
    if isinstance(section, PhoenixConnection):
        return f"{section.base_url.rstrip('/')}/redirects/spans/{quote(span_id, safe='')}"
    project = locator.get("project_id")
    if isinstance(section, LangSmithConnection) and section.workspace_id and project:
        return f"{_pages(section.base_url)}/o/{section.workspace_id}/projects/p/{project}/r/{quote(span_id, safe='')}"
    return None


def _pages(api: str) -> str:
    """Return where the pages of a LangSmith are whose API is at an address."""
    host = re.sub(r"(//(?:[\w-]+\.)?)api\.smith\.", r"\1smith.", api.rstrip("/"))
    return re.sub(r"/api(?:/v\d+)?$", "", host)
