"""The pages in a real browser: nobody is kept out, the keyboard is enough, and so is a browser without scripts."""

import re

import pytest

from enricher.store import QueueFilter, ReviewState
from tests.browser import PHONE, chromium, window
from tests.serve.conftest import TOKEN, served
from tests.serve.samples import diff, evaluation, item, settle, settle_everything, verdict

PAGES = (
    "/queue",
    "/queue?judge=faithfulness",
    "/trace/t1?statement=s1",
    "/trace/unknown",
    "/login",
    "/nights",
    "/runs",
    "/comparisons",
)


async def decisions(store):
    found = await store.questions(QueueFilter(state=ReviewState.DECIDED))
    return {one.review.trace_id: decision for one in found for decision in one.decisions}


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.long), "dark"])
async def test_axe_finds_nothing_serious_on_any_page_and_a_phone_is_wide_enough(store, theme):
    await settle_everything(store)
    (consistent,) = await store.questions(QueueFilter(judge="consistency"))
    (failed,) = await store.questions(QueueFilter(judge="halves"))
    verdicts = [f"/trace/t1?verdict={one.evaluation.id}" for one in (consistent, failed)]
    async with served(store, token=TOKEN) as site, chromium() as browser, window(browser, site.url, theme) as desk:
        await desk.page.goto("/")
        assert await desk.serious_violations() == []
        await desk.page.fill("[name=person]", "ada")
        await desk.page.fill("[name=token]", TOKEN)
        await desk.page.click("main button")
        for path in (*PAGES, *verdicts):
            await desk.page.set_viewport_size({"width": 1360, "height": 900})
            await desk.page.goto(path)
            assert await desk.serious_violations() == [], path
            await desk.page.set_viewport_size({"width": PHONE[0], "height": PHONE[1]})
            assert not await desk.is_too_wide(), path
        assert [line for line in desk.complaints if "404" not in line] == []


async def test_a_morning_by_keyboard_alone(store):
    for number in range(3):
        asked = item(f"t{number}", question=f"Question {number}?")
        await settle(store, f"t{number}", evaluation(verdict(f"t{number}", "diff", diff()), asked, "contradicted"))
    async with served(store) as site, chromium() as browser, window(browser, site.url) as desk:
        page, press = desk.page, desk.page.keyboard.press
        await page.goto("/queue")
        await press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to the content"
        for key in ("j", "j", "k", "x"):
            await press(key)
        assert await page.locator(".item.at .ask").text_content() == "Question 0?"
        assert await page.locator("#chosen").text_content() == "With the 1 chosen:"
        await press("1")
        await page.get_by_text("1 item confirmed.").wait_for()
        await press("j")
        await press("2")
        await page.get_by_text("1 item rejected.").wait_for()
        await press("j")
        await press("o")
        await page.get_by_text("yours").wait_for()  # the open item is taken by itself
        await press("j")
        passage = page.locator("#documents mark.chosen")
        assert await passage.text_content() == "Notice is sixty (60) days."
        assert await page.evaluate("document.activeElement.dataset.statement") == "s1"
        assert "statement=s1" in page.url
        await press("3")
        await page.select_option('[name="set.s1"]', "PARTIALLY_SUPPORTED")
        await press("Escape")
        await page.locator("#decide [value=correct]").focus()
        await press("4")
        await page.keyboard.type("60, not 90")
        await page.get_by_role("button", name="Decide and stay").focus()
        await press("Enter")
        await page.get_by_text("Corrected: unsupported. It goes back").wait_for()
        assert desk.complaints == []
    found = await decisions(store)
    assert {trace: (d.outcome, d.label) for trace, d in found.items()} == {
        "t0": ("confirm", "contradicted"),
        "t1": ("reject", "faithful"),
        "t2": ("correct", "unsupported"),
    }
    assert (found["t2"].labels, found["t2"].comment) == ({"s1": "PARTIALLY_SUPPORTED"}, "60, not 90")


async def test_without_scripts_a_statement_leads_to_its_passage_and_an_item_is_decided(store):
    await settle_everything(store)
    async with (
        served(store) as site,
        chromium() as browser,
        window(browser, site.url, size=(1360, 500), java_script_enabled=False) as desk,
    ):
        page = desk.page
        await page.goto("/queue?judge=diff")
        await page.click(".ask")
        await page.click(".answer .seg-contradicted")
        assert await page.locator("mark#passage").text_content() == "Notice is sixty (60) days."
        box = await page.locator("mark#passage").bounding_box()
        assert 0 <= box["y"] < 500
        await page.check("[value=confirm]")
        await page.get_by_role("button", name="Decide and stay").click()
        assert await page.get_by_text("Confirmed: contradicted. It goes back").count() == 1
    assert (await decisions(store))["t1"].outcome == "confirm"


async def test_filters_apply_as_they_are_chosen(store):
    await settle_everything(store)
    async with served(store) as site, chromium() as browser, window(browser, site.url) as desk:
        await desk.page.goto("/queue")
        await desk.page.select_option("[name=judge]", "consistency")
        await desk.page.wait_for_url(re.compile("judge=consistency"))
        assert await desk.page.locator(".item").count() == 1
