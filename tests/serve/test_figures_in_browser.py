"""Nights, runs and comparisons in a real browser: nobody is kept out, charts have colours, progress ends by itself."""

import json
import re

import pytest

from enricher.comparing import CompareRequest, compare
from enricher.progress import Silent
from enricher.settings import Settings
from tests.browser import PHONE, chromium, window
from tests.serve.conftest import served
from tests.serve.seeded import HOSTILE, World, contradicted, good, invented, pair
from tests.serve.under_way import run_under_way

TRUE = "The notice period is sixty (60) days."
FALSE = "The notice period is 90 days. A manager in Lisbon approves every request."
ODD = {"team": HOSTILE}


async def filled(folder, store):
    """Fill the store with nights and a comparison, and return the addresses of pages that show them."""
    world = World(folder=folder, store=store)
    await world.night(good("q1"), contradicted("q2", metadata=ODD), good("q3", is_broken=True))
    result = await world.night(good("q4"), invented(HOSTILE, metadata=ODD), contradicted("q5", model="gpt-4.1"))
    (folder / "pairs.jsonl").write_text(
        "".join(json.dumps(pair(*one)) + "\n" for one in (("lost", TRUE, FALSE + HOSTILE), ("same", TRUE, TRUE)))
    )
    request = CompareRequest(file=folder / "pairs.jsonl", gate="challenger_losses <= 0.1")
    await compare(Settings(store=f"sqlite:///{folder / 'store.db'}"), request, Silent())
    run = f"/runs/{result.report.run_id}"
    return world, [
        *("/nights?by=metadata.team", "/nights?project=nosuch", "/nights/traces?judge=diff&unsound=1"),
        *("/runs", run, f"{run}/causes", "/comparisons"),
    ]


async def more_addresses(site):
    one = (await site.get("/comparisons?format=json")).json()["comparisons"][0]["id"]
    (row, _) = (await site.get(f"/comparisons/{one}?format=json")).json()["pairs"]
    return [f"/comparisons/{one}", f"/comparisons/{one}/pairs/{row['record_id']}"]


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.long)])
async def test_axe_finds_nothing_serious_and_a_phone_is_wide_enough(tmp_path, store, theme):
    world, paths = await filled(tmp_path, store)
    async with served(store) as site, chromium() as browser, window(browser, site.url, theme) as desk:
        paths += await more_addresses(site)
        async with run_under_way(world) as (run, _):
            for path in (*paths, f"/runs/{run.id}"):
                await desk.page.set_viewport_size({"width": 1360, "height": 900})
                await desk.page.goto(path, wait_until="networkidle" if path.endswith("causes") else "load")
                await desk.page.locator("main details").evaluate_all("all => all.forEach(one => one.open = true)")
                assert await desk.serious_violations() == [], path
                await desk.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
                assert not await desk.is_too_wide(), path
        assert desk.complaints == []


async def test_charts_have_colours_that_follow_the_theme_and_figures_lead_on(tmp_path, store):
    await filled(tmp_path, store)
    colours = {}
    async with served(store) as site, chromium() as browser:
        for theme in ("light", "dark"):
            async with window(browser, site.url, theme) as desk:
                await desk.page.goto("/nights")
                bars = desk.page.locator("#findings .series .rect")
                colours[theme] = await bars.evaluate_all("bars => bars.map(bar => getComputedStyle(bar).fill)")
                heights = [(await bar.bounding_box())["height"] for bar in await bars.all()]
        assert len(set(colours["light"])) == 2  # contradicted and added
        assert not set(colours["light"]) & set(colours["dark"])
        assert min(heights) > 20
        async with window(browser, site.url) as desk:
            await desk.page.goto("/nights")
            await desk.page.select_option("[name=by]", "model")
            await desk.page.wait_for_url(re.compile("by=model"))
            assert await desk.page.locator("#scores .legend li").all_text_contents() == ["gpt-4o-mini", "gpt-4.1"]
            await desk.page.locator("#findings summary").click()
            await desk.page.locator("#findings td a").first.click()
            await desk.page.wait_for_url(re.compile("/nights/traces"))
            assert await desk.page.locator(".judged tbody tr").count() == 1
            assert desk.complaints == []


async def test_the_progress_of_a_run_gives_way_to_its_report_without_a_reload(tmp_path, store):
    world = World(folder=tmp_path, store=store)
    async with run_under_way(world) as (run, finish), served(store) as site, chromium() as browser:
        async with window(browser, site.url) as desk:
            await desk.page.goto(f"/runs/{run.id}")
            assert "1 of 3 traces are done" in await desk.page.locator("#progress").text_content()
            await finish()
            await desk.page.locator("#causes").wait_for()
            await desk.page.get_by_text("answers leaves its context").wait_for()
            assert await desk.page.locator("#progress").count() == 0
            assert desk.complaints == []
        async with window(browser, site.url, java_script_enabled=False) as desk:
            await desk.page.goto(f"/runs/{run.id}")
            await desk.page.get_by_role("link", name="What changed, and what the findings have in common").click()
            assert await desk.page.get_by_text("answers leaves its context").count() == 1
            await desk.page.goto("/nights")
            await desk.page.select_option("[name=by]", "model")
            await desk.page.get_by_role("button", name="Show").click()
            assert await desk.page.locator("#scores svg").count() == 1
