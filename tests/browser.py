"""A real headless Chromium: Debian's, driven by Playwright, which brings none of its own here."""

import contextlib
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, async_playwright

# Without these it looks for hosts that are not on this machine, at every start.
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
DESK, PHONE = (1360, 900), (390, 844)
_WAIT_MS = 60_000  # a shared machine may be busy


@dataclass
class Window:
    """A page in a window of its own, and what it complained of."""

    page: Page
    complaints: list[str] = field(default_factory=list)

    async def serious_violations(self) -> list[str]:
        """Ask axe what keeps people out; only what is serious or critical counts."""
        found = await Axe().run(self.page, options={"resultTypes": ["violations"]})
        return [
            f"{rule['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
            for rule in found.response["violations"]
            if rule["impact"] in ("serious", "critical")
            for node in rule["nodes"]
        ]

    async def is_too_wide(self) -> bool:
        """Tell whether the page has to be scrolled sideways."""
        return bool(await self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


@contextlib.asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """Start a browser."""
    program = shutil.which("chromium")
    if program is None:
        pytest.fail("chromium is missing; run: apt-get install chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        try:
            yield browser
        finally:
            await browser.close()


@contextlib.asynccontextmanager
async def window(
    browser: Browser, url: str, theme: Literal["light", "dark"] = "light", size: tuple[int, int] = DESK, **options: Any
) -> AsyncIterator[Window]:
    """Open a window on a site."""
    viewport = {"width": size[0], "height": size[1]}
    context = await browser.new_context(base_url=url, color_scheme=theme, viewport=viewport, **options)
    context.set_default_timeout(_WAIT_MS)
    opened = Window(page=await context.new_page())
    opened.page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    opened.page.on(
        "console", lambda line: opened.complaints.append(line.text) if line.type in ("error", "warning") else None
    )
    try:
        yield opened
    finally:
        await context.close()
