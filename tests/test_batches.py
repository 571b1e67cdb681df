"""Calls that travel as batch files: each answer finds its trace, whatever becomes of the batch or of us."""

import asyncio
import json
from collections import Counter
from datetime import timedelta

import pytest

from enricher.errors import SetupError
from enricher.store import Store
from enricher.store.traffic import StoreBatchBook
from tests.servers.openai import Fail, OpenAIServer, Say
from tests.test_model_traffic import PRICES, USAGE, House

QUICK = {"collect": "0.2s", "poll": "0.05s"}


class BatchHouse(House):
    """The same house, where calls go out as batches."""

    async def run(self, *, openai=None, batch=None, **more):
        options = {"transport": "batch", "batch": {**QUICK, **(batch or {})}, **(openai or {})}
        return await super().run(openai=options, **more)

    @property
    def desk(self):
        return self.model.desk

    def handed_in(self) -> Counter:
        """Count in how many uploaded batches each call was, by its key."""
        return Counter(self.sent)

    def watch(self) -> None:
        """Keep the keys of all lines that are uploaded."""
        self.sent = []
        create = self.desk._create

        def noted(wanted):
            status, body = create(wanted)
            if status == 200:
                lines = self.desk.files[wanted["input_file_id"]][1].splitlines()
                self.sent += [json.loads(line)["custom_id"] for line in lines]
            return status, body

        self.desk._create = noted

    async def left(self) -> tuple[int, int]:
        """Return how many lines are kept, and how many batches are open."""
        from sqlalchemy import func, select

        from enricher.store.schema import batch_lines, batches

        lines = await self.store.look(lambda c: c.execute(select(func.count()).select_from(batch_lines)).scalar())
        query = select(func.count()).where(batches.c.state != "ended")
        return lines, await self.store.look(lambda c: c.execute(query).scalar())

    def scores(self):
        """Return the score of each trace, as written."""
        return {trace: a.score for trace, a in self.platform.named("context_diff").items()}


@pytest.fixture
async def house(tmp_path):
    async with await Store.open(f"sqlite:///{tmp_path / 'store.db'}") as store, OpenAIServer().running() as model:
        house = BatchHouse(store, model)
        house.watch()
        yield house


def right(house, count):
    """Assert that every trace carries its own score: of these answers only 'sixty days' is in the context."""
    assert set(house.scores()) == {f"t{number}" for number in range(count)}
    assert set(house.scores().values()) == {0.0}


async def test_a_run_travels_in_one_batch_at_half_price(house):
    house.fill(40)
    report = await house.run(openai=PRICES)
    assert (report.scored, report.is_clean) == (40, True)
    right(house, 40)
    assert report.cost == pytest.approx(40 * 0.01)
    assert (len(house.desk.batches), house.calls) == (1, 0)
    assert await house.left() == (0, 0)
    assert house.desk.files == {}  # no copy of the texts stays on the server


async def test_more_calls_than_a_batch_may_hold_make_several(house):
    house.fill(25)
    report = await house.run(batch={"max_calls": 10})
    assert report.scored == 25
    assert len(house.sent) == 25
    assert len(house.desk.batches) == 3


async def test_more_traces_than_may_be_under_way_go_in_rounds(house):
    house.fill(25)
    report = await house.run(batch={"traces": 10})
    assert report.scored == 25
    assert len(house.desk.batches) == 3


async def test_an_invalid_reply_is_asked_for_again_in_a_second_batch_with_the_error(house):
    house.fill(6)
    bad = "The notice period is 3 days"

    def answer(request):
        is_first = "PREVIOUS_ERROR" not in request.prompt
        return Say("no JSON", usage=USAGE) if bad in request.prompt and is_first else fair(request)

    fair = house.model.default
    house.model.default = answer
    report = await house.run()
    assert (report.scored, report.is_clean) == (6, True)
    assert len(house.desk.batches) == 2
    assert len(house.sent) == 7


async def test_lines_in_another_order_and_twice_reach_their_traces(house):
    house.desk.duplicates = True
    house.platform.add("true")  # the one answer that the context supports
    house.fill(9)
    assert (await house.run()).scored == 10
    scores = house.scores()
    assert scores.pop("true") == 1.0
    assert set(scores.values()) == {0.0}


async def test_what_an_expired_batch_left_out_goes_into_the_next(house):
    house.fill(20)
    house.desk.outcome = lambda batch, number: ("expired", 7) if number == 0 else ("completed", None)
    report = await house.run(openai=PRICES)
    assert (report.scored, report.is_clean) == (20, True)
    assert sorted(house.handed_in().values()) == [1] * 7 + [2] * 13
    assert report.cost == pytest.approx(20 * 0.01)


async def test_a_failed_batch_is_handed_in_again(house):
    house.fill(5)
    house.desk.outcome = lambda batch, number: ("failed", 0) if number == 0 else ("completed", None)
    assert (await house.run()).scored == 5
    assert len(house.desk.batches) == 2


async def test_transient_errors_of_lines_are_tried_again_and_others_are_told(house):
    house.fill(8)
    too_long = Fail(400, "maximum context length is 10 tokens", code="context_length_exceeded")
    house.model.script(too_long, when="is 5 days")
    fair = house.model.default
    tries = []

    def twice(request):
        if "is 2 days" in request.prompt and len(tries) < 2:
            tries.append(1)
            return Fail(500)
        return fair(request)

    house.model.default = twice
    report = await house.run()
    assert report.scored == 7
    assert report.failed == {"JUDGE_CONTEXT_TOO_LONG": 1}


async def test_batches_that_never_answer_leave_the_trace_due_after_so_many_tries(house):
    house.fill(3)
    house.desk.outcome = lambda batch, number: ("expired", 0)
    report = await house.run(openai={"attempts": 1})
    assert report.failed == {"JUDGE_UNAVAILABLE": 3}
    assert len(house.desk.batches) == 3
    house.desk.outcome = lambda batch, number: ("completed", None)
    assert (await house.run()).scored == 3


async def test_what_takes_too_long_is_cancelled_and_the_rest_goes_out_live(house):
    house.fill(10)
    house.desk.is_held = True
    house.desk.outcome = lambda batch, number: ("cancelled", 4)
    running = asyncio.create_task(house.run(openai=PRICES, batch={"live_after": "1h"}))
    while not house.desk.batches:
        await asyncio.sleep(0.01)
    house.now += timedelta(hours=1)
    report = await running
    assert (report.scored, report.is_clean) == (10, True)
    assert house.calls == 6
    assert report.cost == pytest.approx(4 * 0.01 + 6 * 0.02)


async def test_a_server_that_takes_no_batches_is_a_matter_for_people(house):
    house.fill(2)
    house.desk.faults = [("POST", "/files", 404)]
    with pytest.raises(SetupError, match="takes no batches"):
        await house.run()


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/files"), ("POST", "/batches"), ("GET", r"/batches/\S+"), ("GET", r"/files/\S+/content")],
)
@pytest.mark.parametrize("how", ["fault", "loss"])
async def test_a_fault_on_the_way_costs_nothing_twice(house, method, path, how):
    house.fill(5)
    if how == "fault":
        house.desk.faults = [(method, path, 503)]
    else:
        house.desk.losing = [(method, path)]
    report = await house.run()
    assert (report.scored, report.is_clean) == (5, True)
    assert len(house.desk.batches) == 1
    assert set(house.handed_in().values()) == {1}


@pytest.mark.parametrize("point", ["add_batch", "upload", "uploaded", "create", "submitted", "harvest", "ended"])
async def test_a_crash_at_any_point_uploads_and_pays_nothing_twice(house, point, monkeypatch):
    house.fill(12)
    there = crash_at(monkeypatch, point)
    running = asyncio.create_task(house.run(openai=PRICES))
    await asyncio.wait_for(there.wait(), 10)
    running.cancel()
    await asyncio.wait([running])
    monkeypatch.undo()
    # The next process is another owner, and knows that the first is gone.
    monkeypatch.setattr("enricher.store.traffic.this_process", lambda: "somebody else")
    monkeypatch.setattr("enricher.store.traffic.is_surely_gone", lambda owner: True)
    report = await house.run(openai=PRICES)
    assert (report.scored, report.left) == (12, 0)
    right(house, 12)
    assert set(house.handed_in().values()) == {1}
    assert sum(entry == "POST /files" for entry in house.desk.log) == 1
    assert await house.left() == (0, 0)


def crash_at(monkeypatch, point):
    """Stop for ever after a step of the first batch, and tell when that is reached."""
    there = asyncio.Event()

    def after(owner, name):
        real = getattr(owner, name)

        async def done(*args, **more):
            await real(*args, **more)
            there.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(owner, name, done)

    from enricher.judges.batch_api import BatchApi

    steps = {
        "add_batch": (StoreBatchBook, "add_batch"),
        "upload": (BatchApi, "upload"),
        "create": (BatchApi, "create"),
        "harvest": (BatchApi, "content"),
        "ended": (StoreBatchBook, "end_batch"),
    }
    if point in steps:
        after(*steps[point])
        return there
    real = StoreBatchBook.advance

    async def advance(self, batch_id, state, **more):
        await real(self, batch_id, state, **more)
        if state.value == point:
            there.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(StoreBatchBook, "advance", advance)
    return there


async def test_a_run_that_is_stopped_leaves_its_batch_to_the_next(house):
    house.fill(6)
    house.desk.is_held = True
    running = asyncio.create_task(house.run())
    while not house.desk.batches:
        await asyncio.sleep(0.01)
    house.stop.set()
    report = await asyncio.wait_for(running, 5)
    assert report.state == "interrupted"
    assert report.scored == 0
    house.stop.clear()
    house.desk.is_held = False
    assert (await house.run()).scored == 6
    assert (len(house.desk.batches), set(house.handed_in().values())) == (1, {1})


async def test_forgetting_a_trace_forgets_its_answers_in_batches(house):
    house.fill(2)
    house.desk.is_held = True
    running = asyncio.create_task(house.run())
    while not house.desk.batches:
        await asyncio.sleep(0.01)
    assert (await house.left())[0] == 2
    await house.store.forget("t0")
    assert (await house.left())[0] == 1
    house.stop.set()
    await running


async def test_a_dry_run_reckons_with_the_price_of_batches(house):
    house.fill(4)
    live = await house.run(openai={**PRICES, "transport": "live"}, dry_run=True)
    batched = await house.run(openai=PRICES, dry_run=True)
    assert batched.cost == pytest.approx(live.cost / 2)
    assert house.desk.log == []
