"""What a run costs and whom it asks: caps, estimates, outages, and verdicts that are known already."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from enricher.app import App
from enricher.choosing import Request
from enricher.errors import SetupError
from enricher.judges.diff import ModelDiffJudge
from enricher.progress import Silent
from enricher.report import as_text, show
from enricher.settings import Settings
from enricher.store import Store
from enricher.store.traffic import spent_on
from enricher.verdict import Status
from tests.acceptance.cases import case
from tests.doubles import START, MemoryConnector
from tests.servers import oracle
from tests.servers.openai import RESET, Fail, OpenAIServer, Say
from tests.test_run import THUMBS_DOWN

USAGE = {"prompt_tokens": 1000, "completion_tokens": 100}
PRICES = {"price_in": 10.0, "price_out": 100.0}  # 0.02 a call


class House:
    """A platform in memory, a model server, and an app over both."""

    def __init__(self, store: Store, model: OpenAIServer) -> None:
        self.store = store
        self.model = model
        self.platform = MemoryConnector()
        self.now = START + timedelta(hours=1)
        self.stop = asyncio.Event()
        store.clock = lambda: self.now
        model.default = lambda request: Say(oracle.answer(request.prompt), usage=USAGE)

    def fill(self, count: int, *, start: int = 0, **parts) -> None:
        for number in range(start, start + count):
            self.platform.add(f"t{number}", answer=f"The notice period is {number} days.", **parts)

    async def run(self, *, openai=None, job=None, name="nightly", **more):
        options = {"base_url": self.model.url, "model": "m-2026-01-01", "context_window": 32768, **(openai or {})}
        request = Request(**{key: more.pop(key) for key in ("dry_run", "limit", "trace_ids") if key in more})
        job = {"connection": "memory", "rules": [{"name": "all"}], "second_check": {"by": []}, **(job or {})}
        settings = Settings.model_validate(
            {
                "engine": "openai",
                "openai": options,
                "connections": {"memory": {"kind": "files", "paths": []}},
                "jobs": {name: job},
                **more,
            }
        )
        app = App(settings=settings, store=self.store, connectors={"memory": self.platform})
        return (await app.run(name, request, Silent(), self.stop)).report

    @property
    def calls(self) -> int:
        return len(self.model.requests)


@pytest.fixture
async def house(tmp_path: Path):
    async with await Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store, OpenAIServer().running() as model:
        yield House(store, model)


async def test_a_cap_for_a_run_is_used_up_and_the_rest_stays_due(house):
    known = case("CO-01")
    given, expected = known["input"], known["expected"]
    house.fill(400)
    house.platform.add("reported", answer="The notice period is 999 days.", report=THUMBS_DOWN)
    rules = [{"name": "all"}, {"name": "reported", "reports": [{"name": "user_feedback", "labels": ["thumbs-down"]}]}]
    budget = {"max_traces": given["max_traces"]}
    report = await house.run(openai=PRICES, job={"rules": rules, "budget": budget}, budget={"per_run": 5.0})
    assert house.calls < given["max_traces"]
    assert report.cost <= given["max_cost_usd"]
    assert 245 <= report.scored <= 250
    assert report.left + report.failed.get("BUDGET_EXCEEDED", 0) == 401 - report.scored
    assert not report.is_clean
    assert any("budget of 5 a run" in problem for problem in report.problems)
    assert any("999 days" in request.prompt for request in house.model.requests[:32])  # flagged first
    assert set(report.failed) <= {expected["status"]}
    assert report.in_review == 0
    again = await house.run()
    assert again.scored == 401 - report.scored
    assert house.calls == 401


async def test_a_cap_for_a_day_holds_over_runs_and_ends_with_the_day(house):
    house.fill(20)
    first = await house.run(openai=PRICES, budget={"per_day": 0.2}, limit=5)
    assert (first.scored, await spent_on(house.store, house.now)) == (5, pytest.approx(0.1))
    second = await house.run(openai=PRICES, budget={"per_day": 0.2})
    assert second.scored == 5
    assert "a day (budget.per_day)" in second.problems[0]
    third = await house.run(openai=PRICES, budget={"per_day": 0.2})
    assert (third.scored, house.calls) == (0, 10)
    house.now += timedelta(days=1)
    fourth = await house.run(openai=PRICES, budget={"per_day": 0.2})
    assert fourth.scored == 10
    assert fourth.is_clean


async def test_what_a_killed_run_had_reserved_counts_as_spent(house):
    house.fill(20)
    house.model.latency_s = 0.2
    run = asyncio.create_task(house.run(openai=PRICES, budget={"per_day": 0.4}))
    while house.model.in_flight < 5:
        await asyncio.sleep(0.01)
    assert await spent_on(house.store, house.now) >= 5 * 0.02
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run


async def test_a_job_has_caps_of_its_own(house):
    house.fill(10)
    report = await house.run(openai=PRICES, job={"budget": {"per_run": 0.1}})
    assert report.scored == 5
    assert "jobs.nightly.budget.per_run" in report.problems[0]
    other = await house.run(openai=PRICES, name="other", job={"budget": {"per_day": 0.2}})
    assert other.scored == 10


async def test_a_cap_on_traces_leaves_the_rest_due_and_says_so(house):
    house.fill(10)
    report = await house.run(job={"budget": {"max_traces": 4}})
    assert (report.scored, report.left) == (4, 6)
    assert "max_traces" in report.problems[0]
    rest = await house.run(job={"budget": {"max_traces": 6}})
    assert (rest.scored, rest.is_clean) == (6, True)


async def test_a_trace_that_waits_for_money_is_never_forgotten(house):
    house.fill(3)
    for _ in range(12):
        assert (await house.run(openai=PRICES, budget={"per_run": 0.001})).scored == 0
    assert house.calls == 0
    assert (await house.run()).scored == 3


async def test_a_budget_without_a_price_is_a_matter_for_people(house):
    house.fill(1)
    with pytest.raises(SetupError, match="no price for the model m-2026-01-01"):
        await house.run(budget={"per_run": 1.0})


async def test_the_price_table_goes_before_the_prices_without_a_name(house):
    house.fill(1)
    table = {"m-2026-01-01": {"in": 1.0, "out": 10.0}}
    report = await house.run(openai={**PRICES, "prices": table})
    assert report.cost == pytest.approx(0.002)


async def test_a_dry_run_estimates_calls_tokens_and_money_and_asks_nobody(house, capsys):
    house.fill(10)
    estimate = await house.run(openai=PRICES, dry_run=True)
    assert (house.calls, estimate.calls) == (0, 10)
    real = await house.run(openai={**PRICES, "max_tokens": 2048})
    assert estimate.cost >= real.cost
    show(as_text(estimate))
    shown = capsys.readouterr().out
    assert f"10 calls, about {estimate.prompt_tokens} tokens in" in shown
    assert (await house.run(openai=PRICES, dry_run=True)).calls == 0  # all known now


async def test_a_model_server_that_is_down_costs_few_calls_and_no_trace(house):
    house.fill(100)
    house.model.script(RESET)
    report = await house.run(openai={"patience": "1s", "concurrency": 4, "deadline": "20s"})
    assert not report.is_clean
    assert "is down" in " ".join(report.problems)
    assert house.calls < 60
    assert set(report.failed) <= {"JUDGE_UNAVAILABLE"}
    assert report.left + report.failed["JUDGE_UNAVAILABLE"] == 100
    house.model._script.clear()
    again = await house.run()
    assert (again.scored, again.is_clean) == (100, True)


async def test_a_fallback_is_asked_while_the_first_endpoint_is_not_to_be_had(house):
    async with OpenAIServer().running() as second:
        house.fill(20)
        house.model.script(Fail(429, headers={"Retry-After": "3600"}))
        fallback = {"base_url": second.url, "model": "deployment-7"}
        report = await house.run(openai={"fallbacks": [fallback], "concurrency": 4})
        assert (report.scored, report.is_clean) == (20, True)
        assert house.calls <= 4
        assert {request.body["model"] for request in second.requests} == {"deployment-7"}
        versions = {e.verdict.provenance.version async for e in house.store.evaluations(report.run_id)}
        assert len(versions) == 1


async def test_a_key_whose_quota_is_used_up_gives_way_to_the_next(house):
    async with OpenAIServer(api_key="sk-second").running() as second:
        house.fill(5)
        house.model.script(Fail(429, "You exceeded your current quota", code="insufficient_quota"))
        fallback = {"base_url": second.url, "api_key": "sk-second"}
        report = await house.run(openai={"fallbacks": [fallback]})
        assert (report.scored, report.is_clean) == (5, True)


async def test_without_a_fallback_a_used_up_quota_ends_the_run(house):
    house.fill(50)
    house.model.script(Fail(429, "You exceeded your current quota", code="insufficient_quota"))
    with pytest.raises(SetupError, match="quota"):
        await house.run()
    assert house.calls <= 32


async def test_a_trace_chosen_twice_is_judged_once_with_both_reasons(house):
    known = case("CO-02")
    house.platform.add("t1", answer="The notice period is 1 day.")
    house.platform.add("t2", answer="The notice period is 2 days.", report=THUMBS_DOWN)
    house.platform.add("t3", answer="The notice period is 3 days.", report=THUMBS_DOWN, at=START - timedelta(days=2))
    reported = {"name": "user_report", "reports": [{"name": "user_feedback", "labels": ["thumbs-down"]}]}
    report = await house.run(job={"rules": [{"name": "sampling"}, reported]})
    assert house.calls == known["expected"]["judge_runs"]
    assert report.scored == len(known["expected"]["judged"])
    story = await house.store.explain("t2")
    assert list(story.refs[0].ref.rules) == known["expected"]["reasons_t2"]


async def test_the_same_input_under_the_same_version_is_not_judged_again(house):
    known = case("CO-03")
    house.fill(2)
    await house.run()
    before = house.calls
    await house.run(trace_ids=("t0", "t1"))
    assert house.calls - before == known["expected"]["judge_calls_second_run"]
    await house.run(trace_ids=("t0", "t1"), job={"additional_constraints": "Dates count."})
    assert house.calls - before == 2  # no cache hit after the prompt changed


async def test_two_traces_with_the_same_input_share_a_verdict_with_ids_of_their_own(house):
    house.platform.add("t1", answer="The notice period is 7 days.")
    await house.run(openai=PRICES)
    house.platform.add("t2", answer="The notice period is 7 days.")
    house.platform.add("t3", answer="The notice period is 8 days.")
    report = await house.run(openai=PRICES, trace_ids=("t2", "t3"))
    assert (house.calls, report.scored, report.cost) == (2, 2, pytest.approx(0.02))
    written = house.platform.named("context_diff")
    assert written["t2"].span_id == "t2-root"
    assert written["t1"].score == written["t2"].score
    assert "t1-" not in written["t2"].model_dump_json()
    other = await house.run(trace_ids=("t2",), job={"additional_constraints": "Dates count."})
    assert (house.calls, other.scored) == (3, 1)


async def test_a_bug_in_a_judge_costs_one_trace_and_no_other(house, monkeypatch):
    known = case("CN-02")
    house.fill(known["input"]["traces"])
    real = ModelDiffJudge.judge

    async def judge(self, item):
        if item.trace_id == "t3":
            raise ZeroDivisionError
        return await real(self, item)

    monkeypatch.setattr(ModelDiffJudge, "judge", judge)
    report = await asyncio.wait_for(house.run(), 60)
    assert report.scored == known["expected"]["ok"]
    assert report.failed == {"BUG": 1}
    assert "t3" in report.problems[0]


async def test_a_deadline_for_a_trace_bounds_all_its_calls(house):
    house.fill(1)
    house.model.latency_s = 5
    report = await house.run(openai={"deadline_per_trace": "1s", "timeout": "10s"})
    assert report.failed == {str(Status.JUDGE_UNAVAILABLE): 1}
