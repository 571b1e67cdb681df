"""The page of nights: figures, charts, filters, groups, and the answers behind each figure."""

import re
import threading
from datetime import timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest

from enricher.serve.charts import draw
from tests.serve.conftest import served
from tests.serve.seeded import FIRST_NIGHT, HOSTILE, World, contradicted, good, invented
from tests.servers.openai import OpenAIServer, Say

PRICES = {"judge-1": {"in": 1.0, "out": 2.0}}


@pytest.fixture
async def world(tmp_path, store):
    return World(folder=tmp_path, store=store)


@pytest.fixture
async def site(store):
    async with served(store) as visited:
        yield visited


async def three_nights(world):
    await world.night(good("q1", metadata={"tier": "gold"}), contradicted("q2", metadata={"tier": "silver"}))
    await world.night(good("q3", model="gpt-4.1"), good("q4"), good("q5", is_broken=True))
    await world.night(contradicted("q6"), invented("q7"), invented("q8"), good("q9"))


async def twin(site, path="/nights", **fields):
    answer = await site.get(path, params={**fields, "format": "json"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def links_of(page, figure):
    """Return the addresses in the row of a night of one chart's table."""
    return re.findall(r'href="([^"]+)"', page.partition(f'id="{figure}"')[2].partition("</table>")[0])


async def test_without_a_run_the_page_says_how_to_begin(site):
    page = (await site.get("/nights")).text
    assert "No run yet" in page
    assert "enricher run" in page
    assert (await twin(site))["nights"] == []


async def test_one_night_shows_its_figures_and_compares_them_with_nothing(site, world):
    await world.night(good("q1"), contradicted("q2"))
    page = (await site.get("/nights")).text
    assert "the only night in the window" in page
    assert "before</span>" not in page
    assert "1 contradicted" in page


async def test_charts_are_drawn_beside_the_event_loop(site, world, monkeypatch):
    await world.night(good("q1"), contradicted("q2"))
    drawn_by = set()

    def recorded(chart):
        drawn_by.add(threading.get_ident())
        return draw(chart)

    monkeypatch.setattr("enricher.serve.charts.draw", recorded)
    assert "<svg" in (await site.get("/nights")).text
    assert drawn_by
    assert threading.get_ident() not in drawn_by


async def test_a_night_without_any_trace_says_that_the_rules_took_none(site, world):
    await world.night()
    page = (await site.get("/nights")).text
    assert "Nothing was judged" in page
    assert "enricher doctor" in page


async def test_the_twin_holds_the_figures_of_every_night(site, world):
    await three_nights(world)
    found = await twin(site)
    diffs = [night["judges"]["diff"] for night in found["nights"]]
    assert [one["judged"] for one in diffs] == [2, 2, 4]
    assert [one["labels"] for one in diffs] == [
        {"contradicted": 1, "faithful": 1},
        {"faithful": 2},
        {"contradicted": 1, "faithful": 1, "unsupported": 2},
    ]
    assert [night["rejected"] for night in found["nights"]] == [{}, {"empty_retrieval": 1}, {}]
    assert [night["halves"] for night in found["nights"]][2] == {"generation": 3, "none": 1}
    assert found["judge"] == "diff"
    assert "tier" in found["groupings"]["metadata"]
    assert (await site.get("/nights", headers={"accept": "application/json"})).json() == found


async def test_the_page_draws_what_there_is_and_names_what_there_is_not(site, world):
    await three_nights(world)
    page = (await site.get("/nights")).text
    drawn = re.findall(r'<figure class="card chart" id="(\w+)"', page)
    assert drawn == ["faithfulness", "scores", "findings", "halves", "rejections"]
    assert "Nothing in these nights of: who agrees with the judges; judges that failed, by status; cost." in page
    assert page.count("<svg") == len(drawn)
    assert '<th scope="row"><a href="/runs/' in page
    assert 'style="' not in page


async def test_a_figure_leads_to_the_answers_behind_it(site, world):
    await three_nights(world)
    page = (await site.get("/nights")).text
    (behind,) = {link for link in links_of(page, "findings") if "issue=ADDED" in link}  # from the bar and the table
    answers = (await site.get(behind.replace("&amp;", "&"))).text
    assert sorted(re.findall(r'class="clip soft">(\w+):', answers)) == ["q7", "q8"]
    assert "A manager in Lisbon" not in answers  # the finding is told, not the whole answer
    assert answers.count('href="/trace/') == 2
    low = next(link for link in links_of(page, "faithfulness") if "buckets=0%2C1" in link).replace("&amp;", "&")
    rows = await twin(site, urlsplit(low).path, **dict(_pairs(low)))
    assert [row["question"][:2] for row in rows["traces"]] == ["q2"]


def _pairs(link):
    return parse_qsl(urlsplit(link).query)


async def test_the_tile_of_findings_leads_to_every_answer_that_is_not_sound(site, world):
    await three_nights(world)
    page = (await site.get("/nights")).text
    link = re.search(r'href="([^"]*unsound=1[^"]*)">75%', page)
    assert link, page
    rows = await twin(site, "/nights/traces", **dict(_pairs(link[1].replace("&amp;", "&"))))
    assert sorted(row["question"][:2] for row in rows["traces"]) == ["q6", "q7", "q8"]
    assert rows["traces"][0]["worst"] == "contradicted"


async def test_nights_are_narrowed_down_by_project_model_day_and_metadata(site, world):
    await three_nights(world)

    async def judged(**fields):
        return [night["judges"].get("diff", {}).get("judged", 0) for night in (await twin(site, **fields))["nights"]]

    assert await judged(model="gpt-4.1") == [0, 1, 0]
    assert await judged(key="tier", value="silver") == [1, 0, 0]
    assert await judged(project="another") == [0, 0, 0]
    assert await judged(runs=1) == [4]
    second = f"{FIRST_NIGHT + timedelta(days=1):%Y-%m-%d}"
    assert await judged(since=second, until=second) == [2]
    assert "Nothing matches" in (await site.get("/nights", params={"project": "another"})).text
    assert "No night matches" in (await site.get("/nights", params={"job": "another"})).text


async def test_groups_are_summed_up_and_each_can_be_looked_at_alone(site, world):
    await three_nights(world)
    found = await twin(site, by="model")
    assert {group["name"]: (group["judged"], group["unsound"]) for group in found["groups"]} == {
        "gpt-4o-mini": (7, 4),
        "gpt-4.1": (1, 0),
    }
    page = (await site.get("/nights", params={"by": "model"})).text
    assert 'href="/nights?model=gpt-4.1"' in page
    assert page.partition('id="scores"')[2].partition("</figure>")[0].count("<li class=") == 2
    by_tier = (await site.get("/nights", params={"by": "metadata.tier"})).text
    assert 'href="/nights?key=tier&amp;value=gold"' in by_tier
    assert "(not given)" in by_tier


async def test_hostile_metadata_questions_and_filters_are_only_text(site, world):
    odd = {"team": HOSTILE}
    await world.night(contradicted(HOSTILE, metadata=odd, model=HOSTILE), good("q"))
    for path, fields in (
        ("/nights", {"by": "metadata.team"}),
        ("/nights", {"by": "model", "value": HOSTILE, "key": "team"}),
        ("/nights/traces", {"key": HOSTILE, "value": HOSTILE}),
        ("/nights/traces", {}),
    ):
        page = (await site.get(path, params=fields)).text
        assert "<script>alert" not in page
        assert "<b onmouseover" not in page
        assert "\u202e" not in page
        assert "\x07" not in page
    assert "⟦U+202E⟧" in page


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/nights?by=colour", "nights can&#39;t be grouped by &#39;colour&#39;"),
        ("/nights?runs=many", "runs: &#39;many&#39; is no whole number"),
        ("/nights?since=yesterday", "write it as 2026-11-30"),
        ("/nights?value=gold", "Choose the metadata key"),
        ("/nights?format=xml", "use html or json"),
        ("/nights/traces?issue=ODD", "there is no kind of finding"),
        ("/nights/traces?buckets=11", "buckets: write tenths"),
        ("/nights/traces?status=ODD", "status: there is no"),
    ],
)
async def test_what_can_not_be_asked_is_refused_with_a_sentence(site, path, sentence):
    answer = await site.get(path)
    assert answer.status_code == 400
    assert sentence in answer.text


async def test_answers_come_page_by_page(site, world):
    await world.night(*(contradicted(f"q{number}") for number in range(60)))
    first = (await site.get("/nights/traces?judge=diff")).text
    assert "1 to 50, the worst first" in first
    later = re.search(r'href="(/nights/traces[^"]*offset=50)"', first)
    second = (await site.get(later[1].replace("&amp;", "&"))).text
    assert "51 to 60" in second
    assert 'rel="next"' not in second


async def test_a_judge_that_fails_is_counted_apart_and_its_answers_can_be_listed(tmp_path, store, site):
    async with OpenAIServer().running() as server:
        server.default = lambda _request: Say("no JSON at all")
        openai = {"base_url": server.url, "model": "judge-1", "prices": PRICES}
        world = World(folder=tmp_path, store=store, config={"engine": "openai", "openai": openai})
        await world.night(good("q1"), contradicted("q2"))
    (night,) = (await twin(site))["nights"]
    assert night["judges"]["diff"]["scored"] == 0
    assert night["judges"]["diff"]["statuses"] == {"JUDGE_PARSE_ERROR": 2}
    assert night["cost"] > 0
    page = (await site.get("/nights")).text
    failures = [link for link in links_of(page, "failures") if "status=" in link]
    rows = await twin(site, "/nights/traces", **dict(_pairs(failures[0].replace("&amp;", "&"))))
    assert [(row["status"], row["score"]) for row in rows["traces"]] == [("JUDGE_PARSE_ERROR", None)] * 2
    assert re.search(r'id="cost".*?<svg', page, re.S)
