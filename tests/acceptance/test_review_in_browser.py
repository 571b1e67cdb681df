"""The whole journey: a run on a real Phoenix, a decision in a real browser, a person's annotation on the trace."""

import asyncio
import re
import signal

from tests.acceptance.command import until
from tests.acceptance.traces import FALSE, TRUE, answered, root
from tests.browser import chromium, window


async def test_a_decision_in_the_browser_stands_on_the_trace_as_a_persons_annotation(user, phoenix):
    bad = answered(FALSE)
    await phoenix.seed(answered(TRUE), bad)
    user.configure(
        connections={"phoenix": {"kind": "phoenix", "base_url": phoenix.server.base_url}},
        jobs={"nightly": {"projects": [phoenix.project], "rules": [{"name": "all"}], "risk_level": "high"}},
    )
    assert (await user.run("--json")).json["in_review"] == 1
    serving = user.start(
        "serve", "--config", "enricher.yaml", "--port", "0", is_fresh=True, ENRICHER_REVIEWER="ada"
    )  # fmt: skip
    await until(lambda: "listening on" in serving.files[1].read_text())
    url = re.search(r"listening on (\S+);", serving.files[1].read_text())[1]
    async with chromium() as browser, window(browser, url) as desk:
        page = desk.page
        await page.goto("/")
        await page.keyboard.press("j")
        await page.keyboard.press("o")
        await page.get_by_text("yours").wait_for()
        await page.click(".answer .seg-contradicted")
        assert TRUE.removesuffix(".") in await page.locator("#documents mark.chosen").first.text_content()
        link = await page.get_by_role("link", name="Open in Phoenix").get_attribute("href")
        assert link == f"{phoenix.server.base_url}/redirects/spans/{root(bad).span_id}"
        await page.keyboard.press("4")
        await page.keyboard.type("the source says 30")
        await page.check("[value=confirm]")
        await page.get_by_role("button", name="Decide and take the next").click()
        await page.get_by_text("Nothing is waiting for people").wait_for()
        assert desk.complaints == []

    async def persons() -> list:
        rows = await phoenix.annotations_on(root(bad).span_id)
        return [row for row in rows if row["annotator_kind"] == "HUMAN"]

    async with asyncio.timeout(60):
        while not (found := await persons()):
            await asyncio.sleep(0.1)
    (human,) = found
    assert (human["name"], human["result"]["label"]) == ("context_diff", "contradicted")
    assert human["identifier"].endswith("/ada")
    assert "the source says 30" in human["result"]["explanation"]
    serving.send(signal.SIGTERM)
    ended = await serving.wait()
    assert (ended.code, ended.err) == (0, "")
