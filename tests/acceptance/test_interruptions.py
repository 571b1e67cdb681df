"""Runs that are stopped, killed, or started twice: nothing is judged twice, nothing is lost, no lock is left."""

import asyncio
import signal
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from tests.acceptance.cases import case
from tests.acceptance.command import User, until
from tests.acceptance.model import HeldBack, questions
from tests.acceptance.traces import FALSE, TRUE, answered, root
from tests.servers.openai import OpenAIServer, Say
from tests.servers.phoenix import PhoenixPlatform

AN_HOUR = timedelta(hours=1)


def configure(user: User, platform: PhoenixPlatform, model: OpenAIServer, *, concurrency: int = 1) -> None:
    user.configure(
        engine="openai",
        openai={"base_url": model.url, "model": "judge-2026-01-01", "deadline": "60s"},
        concurrency=concurrency,
        connections={"phoenix": {"kind": "phoenix", "base_url": platform.server.base_url}},
        jobs={"nightly": {"projects": [platform.project], "rules": [{"name": "all"}]}},
    )


def numbered(count: int) -> list:
    """Return traces whose answers can be told apart."""
    moment = datetime.now(UTC) - AN_HOUR
    return [
        answered(f"{(TRUE, FALSE)[n % 2]} Case number {n:03} is closed.", ended=moment - timedelta(minutes=n))
        for n in range(count)
    ]


async def diffs(platform: PhoenixPlatform, traces: list) -> list[int]:
    """Return how many diffs of ours each trace carries."""
    spans = [("span_ids", root(trace).span_id) for trace in traces]
    path = f"/v1/projects/{platform.project}/span_annotations"
    reply = await platform.client.get(path, params=[*spans, ("limit", "1000")])
    counts = Counter(row["span_id"] for row in reply.json()["data"] if row["name"] == "context_diff")
    return [counts[root(trace).span_id] for trace in traces]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
async def test_a_signal_lets_what_is_under_way_finish_and_leaves_no_lock(user, phoenix, number):
    known = case("CN-04")
    traces = numbered(10)
    await phoenix.seed(*traces)
    async with HeldBack(known["expected"]["saved"]).running() as model:
        configure(user, phoenix, model)
        process = user.start("run", "--config", "enricher.yaml", "--json")
        await until(lambda: user.count("evaluations") == 3 and model.in_flight == 1)
        process.send(number)
        await asyncio.sleep(0.2)
        model.let_go.set()
        stopped = await process.wait()
        assert stopped.code == 1
        assert stopped.err == ""
        assert stopped.json["state"] == "interrupted"
        assert stopped.json["scored"] == 4  # the three, and the one under way
        assert stopped.json["confirmed"] == stopped.json["written"] > 0
        assert (user.count("leases"), user.count("watermarks")) == (0, 0)
        assert sum(await diffs(phoenix, traces)) == 4
        finished = await user.run("--json")
    assert finished.code == 0, finished.err
    assert finished.json["scored"] == 6
    assert len(model.requests) == 10
    assert await diffs(phoenix, traces) == [1] * 10


async def test_a_second_signal_ends_at_once_with_a_sentence(user, phoenix):
    traces = numbered(3)
    await phoenix.seed(*traces)
    async with HeldBack(1).running() as model:
        configure(user, phoenix, model)
        process = user.start("run", "--config", "enricher.yaml", "--json")
        await until(lambda: user.count("evaluations") == 1 and model.in_flight == 1)
        process.send(signal.SIGINT)
        await asyncio.sleep(0.3)
        process.send(signal.SIGINT)
        stopped = await process.wait(within_s=20)
        assert stopped.code == 1
        assert stopped.out == ""
        assert stopped.err == "enricher: stopped before the end\n"
        assert user.count("leases") == 0
        model.let_go.set()
        assert (await user.run("--json")).json["scored"] == 2
    assert await diffs(phoenix, traces) == [1] * 3


async def test_of_two_processes_one_runs_and_the_other_says_who_and_is_content(user, phoenix):
    known = case("SC-04")
    traces = numbered(len(known["input"]["traces"]))
    await phoenix.seed(*traces)
    async with HeldBack(0).running() as model:
        configure(user, phoenix, model, concurrency=4)
        first = user.start("run", "--config", "enricher.yaml", "--json")
        await until(lambda: model.in_flight == 3)
        second = await user.enricher("run", "--config", "enricher.yaml", "--json", is_fresh=True)
        assert second.code == 0
        assert second.json["state"] == "skipped"
        (warning,) = second.json["warnings"]
        assert "job nightly is being run by" in warning
        assert str(first.pid) in warning
        model.let_go.set()
        finished = await first.wait()
    assert finished.code == 0, finished.err
    assert [questions(model, f"Case number {n:03}") for n in range(3)] == [1, 1, 1]
    assert await diffs(phoenix, traces) == [1, 1, 1]
    assert user.count("runs") == 1


async def test_results_of_parallel_calls_keep_their_own_trace(user, phoenix):
    delays = case("CN-01")["input"]["delays_ms"]
    answers = [f"Refunds are paid within {days} days." for days in (31, 45, 60)]
    traces = [answered(answer) for answer in answers]
    await phoenix.seed(*traces)

    class Uneven(OpenAIServer):
        async def _respond(self, request, writer):
            (delay,) = [d for d, answer in zip(delays, answers, strict=True) if answer in request.prompt]
            await asyncio.sleep(delay / 1000)
            return await super()._respond(request, writer)

    async with Uneven().running() as model:
        configure(user, phoenix, model, concurrency=3)
        assert (await user.run()).code == 0
    assert model.most_in_flight == 3
    for trace, answer in zip(traces, answers, strict=True):
        (row,) = [a for a in await phoenix.annotations_on(root(trace).span_id) if a["name"] == "context_diff"]
        assert [s["generated_text"] for s in row["metadata"]["segments"]] == [answer]


async def test_failures_are_told_apart_from_the_mean(user, phoenix):
    expected = case("RP-01")["expected"]
    replies = {
        TRUE: None,
        FALSE: None,
        "Refunds are paid to the card.": Say("I think it is fine."),
        "Refunds are paid to the bank.": Say(None, refusal="I can't help with that."),
        "How else may I help you?": None,
    }
    await phoenix.seed(*(answered(answer) for answer in replies))
    async with OpenAIServer().running() as model:
        for answer, reply in replies.items():
            if reply is not None:
                model.script(reply, when=answer)
        configure(user, phoenix, model, concurrency=5)
        finished = await user.run("--json")
    report = finished.json
    assert finished.code == 1
    assert sum(report["failed"].values()) == expected["n_failed"]
    assert (report["scored"], report["no_claims"]) == (expected["n_scored"], expected["n_no_claims"])
    assert report["mean_score"] == expected["mean"]
    text = (await user.enricher("report", "--config", "enricher.yaml")).out
    assert "2, mean score 0.500" in text
    assert "2 (JUDGE_PARSE_ERROR 1, JUDGE_REFUSED 1)" in text
