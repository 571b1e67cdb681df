"""`enricher run` is killed again and again over 200 traces in a real Phoenix, and every trace ends annotated once."""

import asyncio
import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from enricher.store import RefState, Store
from enricher.trace import Span
from enricher.verdict import DeliveryState
from tests.acceptance.command import Finished, Process, User
from tests.acceptance.traces import FALSE, TRUE, answered, root
from tests.acceptance.wire import Watcher, Wire
from tests.servers.phoenix import PhoenixPlatform

TRACES = 200
SEED = 20261101
LISTING = re.compile(r"GET /v1/projects/[^/]+/traces")
READING = re.compile(r"GET /v1/projects/[^/]+/spans")
PREPARING = re.compile(r"GET /v1/.*annotation_configs")
WRITING = re.compile(r"POST /v1/(span|document)_annotations")
NOTHING = re.compile("(?!)")


@dataclass
class World:
    """200 traces on a platform behind a wire, and somebody who runs a job over them."""

    user: User
    platform: PhoenixPlatform
    wire: Wire
    traces: list[list[Span]]

    def chosen(self) -> int:
        return self.user.count("refs")

    def settled(self) -> int:
        return self.user.count("evaluations")

    def confirmed(self) -> int:
        return self.user.count("outbox", "state = 'confirmed'")


def never(_: World) -> int:
    return 0


@dataclass(frozen=True, kw_only=True)
class Strike:
    """When a run is killed: at its n-th request of a kind, when something has grown, or after a time."""

    moment: str = "asked"  # or "answered": the platform has acted and the run does not know
    request: re.Pattern[str] = NOTHING
    number: int = 1
    grows: Callable[[World], int] = never
    by: int = 1
    after_s: float = 3600.0

    async def on(self, process: Process, world: World) -> Finished:
        """Return what is left of the run; it has ended by itself when it was faster."""
        world.wire.watch = self._watcher(process)
        loop = asyncio.get_running_loop()
        started, before = loop.time(), self.grows(world)
        ending = asyncio.create_task(process.wait())
        while not ending.done():
            if self.grows(world) >= before + self.by or loop.time() > started + self.after_s:
                process.send(signal.SIGKILL)
            await asyncio.sleep(0.005)
        return await ending

    def _watcher(self, process: Process) -> Watcher:
        seen = 0

        def watch(moment: str, request: str) -> bool:
            nonlocal seen
            seen += moment == self.moment and bool(self.request.fullmatch(request))
            if seen >= self.number:
                process.send(signal.SIGKILL)
            return seen >= self.number

        return watch


def strikes(chance: random.Random) -> Iterator[Strike]:
    """Strike once in every phase, then anywhere."""
    for moment in ("asked", "answered"):
        yield Strike(moment=moment, request=LISTING)
    yield Strike(grows=World.chosen)
    for moment in ("asked", "answered"):
        yield Strike(moment=moment, request=PREPARING, number=2)
        yield Strike(moment=moment, request=READING)
        yield Strike(moment=moment, request=WRITING)
    for _ in range(30):
        yield chance.choice(
            (
                Strike(grows=World.settled, by=chance.randint(1, 8)),
                Strike(grows=World.settled, by=chance.randint(1, 8)),
                Strike(grows=World.confirmed, by=chance.randint(1, 60)),
                Strike(moment="asked", request=WRITING, number=chance.randint(1, 2)),
                Strike(moment="answered", request=WRITING, number=chance.randint(1, 2)),
                Strike(after_s=chance.uniform(0, 1.5)),
            )
        )


@pytest.fixture
async def world(user, phoenix):
    moment = datetime.now(UTC) - timedelta(hours=1)
    traces = [
        answered((TRUE, FALSE)[number % 2], ended=moment - timedelta(minutes=number * (1 if number < 100 else 2)))
        for number in range(TRACES)
    ]
    await phoenix.seed(*traces)
    async with Wire(phoenix.server.base_url).running() as wire:
        rules = [
            {"name": "reported", "reports": [{"name": "user_feedback", "labels": ["thumbs-down"]}]},
            {"name": "all"},
        ]
        user.configure(
            concurrency=4,  # so that one moment is not like another
            connections={"phoenix": {"kind": "phoenix", "base_url": wire.base_url}},
            jobs={"nightly": {"projects": [phoenix.project], "rules": rules}},
        )
        yield World(user=user, platform=phoenix, wire=wire, traces=traces)


async def test_a_run_that_is_killed_anywhere_and_restarted_annotates_every_trace_exactly_once(world):
    people = await _annotated_by_people(world)
    kills = 0
    for strike in strikes(random.Random(SEED)):
        finished = await strike.on(world.user.start("run", "--config", "enricher.yaml", "--json"), world)
        if finished.code == 0:
            break
        assert finished.code == -signal.SIGKILL, finished.err
        kills += 1
    else:
        finished = await Strike().on(world.user.start("run", "--config", "enricher.yaml", "--json"), world)
    assert finished.code == 0, finished.err
    assert kills >= 12
    await _expect_every_verdict_settled_once(world)
    await _expect_every_trace_annotated_once(world, people)
    assert world.user.query("SELECT state, count(*) FROM runs GROUP BY state ORDER BY state") == [
        ("completed", 1),
        ("interrupted", world.user.count("runs") - 1),
    ]
    assert world.user.count("leases") == 0


async def _annotated_by_people(world: World) -> dict[str, Any]:
    """Let people report every tenth trace, and annotate some under the very name that is ours; return those rows."""
    for number, trace in enumerate(world.traces[::10]):
        span_id = root(trace).span_id
        await world.platform.annotate_span(span_id, name="user_feedback", result={"label": "thumbs-down", "score": 0})
        if number % 2:
            await world.platform.annotate_span(span_id, name="context_diff", result={"label": "faithful", "score": 1})
    return {row["id"]: row for row in await _annotations(world)}


async def _annotations(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for start in range(0, TRACES, 100):
        spans = [("span_ids", span.span_id) for trace in world.traces[start : start + 100] for span in trace]
        path = f"/v1/projects/{world.platform.project}/span_annotations"
        reply = await world.platform.client.get(path, params=[*spans, ("limit", "1000")])
        body = reply.raise_for_status().json()
        assert body["next_cursor"] is None
        found += body["data"]
    return found


async def _expect_every_verdict_settled_once(world: World) -> None:
    async with await Store.open(f"sqlite:///{world.user.folder / 'store.db'}") as store:
        for number, trace in enumerate(world.traces):
            story = await store.explain(trace[0].trace_id)
            assert [record.state for record in story.refs] == [RefState.DONE]
            assert story.refs[0].ref.rules == (("reported", "all") if number % 10 == 0 else ("all",))
            assert [evaluation.verdict.score for evaluation in story.evaluations] == [1.0 - number % 2]
            assert {entry.state for entry in story.outbox} == {DeliveryState.CONFIRMED}
            names = Counter((entry.annotation.name, entry.annotation.document_position) for entry in story.outbox)
            assert names == {("context_diff", None): 1, ("document_relevance", 0): 1, ("document_relevance", 1): 1}
    assert (world.settled(), world.chosen()) == (TRACES, TRACES)


async def _expect_every_trace_annotated_once(world: World, people: dict[str, Any]) -> None:
    rows = await _annotations(world)
    assert {row["id"]: row for row in rows if row["id"] in people} == people
    ours = [row for row in rows if row["id"] not in people]
    assert Counter(row["name"] for row in ours) == {"context_diff": TRACES}
    assert len({row["identifier"] for row in ours}) == 1
    labels = {row["span_id"]: (row["result"]["label"], row["result"]["score"]) for row in ours}
    right = {0: ("faithful", 1.0), 1: ("contradicted", 0.0)}
    assert labels == {root(trace).span_id: right[number % 2] for number, trace in enumerate(world.traces)}
    for trace in world.traces[::20]:
        retriever = next(span for span in trace if span.name == "retrieve")
        on_documents = await world.platform.document_annotations_on(retriever.span_id)
        assert sorted(row["documentPosition"] for row in on_documents) == [0, 1]
