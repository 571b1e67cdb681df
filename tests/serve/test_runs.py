"""The pages of runs: the list, the report of one, and the progress of one that is under way."""

import re
from datetime import timedelta

import pytest

from enricher.store import RunState
from tests.serve.conftest import served
from tests.serve.seeded import HOSTILE, World, contradicted, good
from tests.serve.under_way import run_under_way


@pytest.fixture
async def world(tmp_path, store):
    return World(folder=tmp_path, store=store)


@pytest.fixture
async def site(store):
    async with served(store) as visited:
        yield visited


@pytest.fixture
async def under_way(world):
    async with run_under_way(world) as held:
        yield held


async def test_without_a_run_the_list_says_how_to_begin(site):
    page = (await site.get("/runs")).text
    assert "No run yet" in page
    assert (await site.get("/runs?format=json")).json() == {"runs": [], "older": None}


async def test_the_list_tells_the_figures_of_every_run_newest_first(site, world):
    await world.night(good("q1"), contradicted("q2"), good("q3", is_broken=True))
    await world.night(good("q4"))
    newest, oldest = (await site.get("/runs?format=json")).json()["runs"]
    figures = ("state", "pulled", "judged", "contradicted", "rejected", "failed")
    assert [oldest[name] for name in figures] == ["completed", 3, 2, 1, 1, 0]
    assert (newest["judged"], newest["mean_score"], newest["progress"]) == (1, 1.0, None)
    page = (await site.get("/runs")).text
    assert page.index(newest["run_id"]) < page.index(oldest["run_id"])
    assert "hx-trigger" not in page


async def test_the_list_is_paged_and_narrowed_down_to_a_job(site, store):
    for number in range(35):
        await store.finish_run(
            await store.start_run(("nightly", "hourly")[number % 2]), RunState.COMPLETED, counters={"pulled": number}
        )
    first = (await site.get("/runs?format=json")).json()
    assert len(first["runs"]) == 30
    second = (await site.get(f"{first['older']}&format=json")).json()
    assert (len(second["runs"]), second["older"]) == (5, None)
    hourly = (await site.get("/runs?job=hourly&format=json")).json()["runs"]
    assert {run["job"] for run in hourly} == {"hourly"}
    assert 'name="job"' in (await site.get("/runs")).text


async def test_a_run_shows_its_report_with_findings_and_rejections(site, world):
    result = await world.night(good("q1"), contradicted("q2"), good("q3", is_broken=True))
    run_id = result.report.run_id
    page = (await site.get(f"/runs/{run_id}")).text
    assert "answer says 90 days, d1 says sixty (60) days" in page
    assert re.search(r'label=contradicted"[^>]*>\s*1 contradicted', page)
    assert "empty retrieval" in page.partition('id="rejected"')[2]
    assert "every 2s" not in page
    report = (await site.get(f"/runs/{run_id}?format=json")).json()["report"]
    assert report["rejected"] == {"empty_retrieval": 1}
    assert report == result.report.model_dump(mode="json")


async def test_the_report_is_there_as_one_file_in_which_nothing_runs(site, world):
    result = await world.night(contradicted(HOSTILE))
    answer = await site.get(f"/runs/{result.report.run_id}/report.html")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "<script>alert" not in answer.text
    assert "answer says 90 days" in answer.text


async def test_what_changed_and_what_findings_have_in_common_comes_after_the_page_or_as_a_page(site, world):
    await world.night(*(good(f"q{number}") for number in range(6)))
    result = await world.night(*(contradicted(f"q{number}", model=f"m{number % 2}") for number in range(6)))
    run_id = result.report.run_id
    page = (await site.get(f"/runs/{run_id}")).text
    assert f'hx-get="/runs/{run_id}/causes" hx-trigger="load"' in page
    alone = (await site.get(f"/runs/{run_id}/causes")).text
    part = (await site.get(f"/runs/{run_id}/causes", headers={"hx-request": "true"})).text
    assert part.startswith("<section")
    for shown in (alone, part):
        assert "6 of 6 answers leave their context" in shown
        assert "All figures against the runs before" in shown
        assert "Next steps" in shown
        assert ">m0<" in shown.replace("\n", "")
    twin = (await site.get(f"/runs/{run_id}/causes?format=json")).json()
    assert twin["answers_with_findings"] == 6
    assert twin["run_id"] == run_id


async def test_a_run_under_way_shows_how_far_it_is_and_is_asked_again_until_it_ends(site, under_way):
    run, finish = under_way
    page = (await site.get(f"/runs/{run.id}")).text
    assert "1 of 3 traces are done" in page
    assert 'hx-trigger="every 2s"' in page
    assert "<noscript><p><a" in page
    assert "1 of 3" in (await site.get("/runs")).text
    progress = (await site.get(f"/runs/{run.id}?format=json")).json()["progress"]
    assert (progress["done"], progress["total"], progress["is_alive"]) == (1, 3, True)
    part = await site.get(f"/runs/{run.id}/progress", headers={"hx-request": "true"})
    assert part.text.lstrip().startswith("<section")
    lines = await site.get("/runs", headers={"hx-request": "true"})
    assert lines.text.lstrip().startswith("<div")
    assert 'hx-trigger="every 3s"' in lines.text

    await finish()
    ended = await site.get(f"/runs/{run.id}/progress", headers={"hx-request": "true"})
    assert (ended.status_code, ended.headers["hx-refresh"]) == (204, "true")
    page = (await site.get(f"/runs/{run.id}")).text
    assert "every 2s" not in page
    assert "empty retrieval" in page
    assert "hx-trigger" not in (await site.get("/runs")).text


async def test_a_run_whose_process_went_away_says_that_nobody_works_on_it(site, world):
    run_id = await world.store.start_run("nightly")
    world.now += timedelta(hours=3)
    page = (await site.get(f"/runs/{run_id}")).text
    assert "Nobody is working on this run" in page
    await world.night(good("q1"))  # the next run of the job takes over
    page = (await site.get(f"/runs/{run_id}")).text
    assert "This run was interrupted" in page
    assert "No report" in page


async def test_a_run_that_does_not_exist_is_said_not_to(site):
    for path in ("/runs/nosuch", "/runs/nosuch/progress", "/runs/nosuch/causes", "/runs/nosuch/report.html"):
        answer = await site.get(path)
        assert answer.status_code == 404
        assert "There is no run nosuch." in answer.text


async def test_hostile_texts_of_a_run_are_only_text(site, world):
    result = await world.night(contradicted(HOSTILE), good("q", metadata={"team": HOSTILE}))
    page = (await site.get(f"/runs/{result.report.run_id}")).text
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;alert(1)" in page
