"""`enricher run` is killed again and again over 200 traces in a real Phoenix, and every trace ends annotated once."""

import asyncio
import random
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from enricher.store import RefState, Store
from enricher.trace import Span
from enricher.verdict import DeliveryState
from tests.acceptance.cases import case
from tests.acceptance.command import Finished, Process, User, until
from tests.acceptance.model import HeldBack
from tests.acceptance.traces import FALSE, TRUE, answered, root
from tests.acceptance.wire import Watcher, Wire
from tests.servers.phoenix import PhoenixPlatform

TRACES = 200
RECENT = 100
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


@dataclass(frozen=True)
class Seeded:
    """What both tests work on: seeding is most of their cost, and they write under different identifiers."""

    project: str
    traces: list[list[Span]]


def _asked(number: int, trace: list[Span]) -> list[Span]:
    """Ask a question of its own: what a model said of one input is not asked for again on another trace."""
    question = {"input.value": f"When are refunds paid in case {number}?"}
    return [replace(s, attributes={**s.attributes, **question}) if s.parent_id is None else s for s in trace]


@pytest.fixture(scope="module")
def seeded(phoenix_server) -> Seeded:
    """Send 200 traces: a hundred between one and three hours old, the others older than four."""
    newest = datetime.now(UTC) - timedelta(hours=1)
    ages = [timedelta(minutes=number * (1 if number < RECENT else 2)) for number in range(TRACES)]
    traces = [
        _asked(number, answered((TRUE, FALSE)[number % 2], ended=newest - age)) for number, age in enumerate(ages)
    ]

    async def seed() -> str:
        platform = PhoenixPlatform(server=phoenix_server)
        await platform.seed(*traces)
        await platform.aclose()
        return platform.project

    return Seeded(project=asyncio.run(seed()), traces=traces)


@pytest.fixture
async def world(user, seeded, phoenix_server):
    platform = PhoenixPlatform(server=phoenix_server, project=seeded.project)
    async with Wire(phoenix_server.base_url).running() as wire:
        yield World(user=user, platform=platform, wire=wire, traces=seeded.traces)
    await platform.aclose()


def configure(world: World, *rules: dict[str, Any], job: dict[str, Any] | None = None, **settings: Any) -> None:
    world.user.configure(
        concurrency=4,  # so that one moment is not like another
        connections={"phoenix": {"kind": "phoenix", "base_url": world.wire.base_url}},
        jobs={"nightly": {"projects": [world.platform.project], "rules": [*rules, {"name": "all"}], **(job or {})}},
        **settings,
    )


async def test_a_run_that_is_killed_anywhere_and_restarted_annotates_every_trace_exactly_once(world):
    configure(world, {"name": "reported", "reports": [{"name": "user_feedback", "labels": ["thumbs-down"]}]})
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


async def test_after_a_kill_only_what_was_not_settled_is_judged(world):
    known = case("SC-07")
    total, killed_after = known["input"]["traces"], known["input"]["killed_after"]
    async with HeldBack(killed_after).running() as model:
        options = {"base_url": model.url, "model": "judge-2026-01-01"}
        configure(world, engine="openai", openai=options, job={"first_window": "220m"})
        process = world.user.start("run", "--config", "enricher.yaml")
        await until(lambda: world.settled() == killed_after and model.in_flight == 4)
        process.send(signal.SIGKILL)
        assert (await process.wait()).code == -signal.SIGKILL
        assert world.user.count("watermarks") == 0
        before = len(model.requests)
        model.let_go.set()
        finished = await world.user.run("--json")
    assert finished.code == 0, finished.err
    assert len(model.requests) < 140
    assert len(model.requests) - before == known["expected"]["second_run_judges"]
    assert finished.json["scored"] == known["expected"]["second_run_judges"]
    rows = [row for row in await _annotations(world) if "judge-2026-01-01" in row["identifier"]]
    expected = {root(trace).span_id: 1 for trace in world.traces[:total]}
    assert Counter(row["span_id"] for row in rows if row["name"] == "context_diff") == expected
    assert world.user.count("watermarks") == 1


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
    ours = [row for row in rows if "diff/local" in row["identifier"]]
    assert Counter(row["name"] for row in ours) == {"context_diff": TRACES}
    assert len({row["identifier"] for row in ours}) == 1
    labels = {row["span_id"]: (row["result"]["label"], row["result"]["score"]) for row in ours}
    right = {0: ("faithful", 1.0), 1: ("contradicted", 0.0)}
    assert labels == {root(trace).span_id: right[number % 2] for number, trace in enumerate(world.traces)}
    for trace in world.traces[::20]:
        retriever = next(span for span in trace if span.name == "retrieve")
        on_documents = await world.platform.document_annotations_on(retriever.span_id)
        assert sorted(row["documentPosition"] for row in on_documents) == [0, 1]
