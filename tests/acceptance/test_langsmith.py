"""The same job on LangSmith: killed anywhere it annotates each trace once, and a pasted address shows one diff."""

import signal
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from tests.acceptance.command import until
from tests.servers.langsmith import StandIn
from tests.servers.langsmith.platform import LangSmithPlatform

_TRACES = 30


@pytest.fixture
def platform():
    with StandIn() as service:
        platform = LangSmithPlatform(service)
        yield platform
        platform.close()


def _configure(user, platform: LangSmithPlatform) -> dict[str, str]:
    pace = {"queries_per_second": 1000, "calls_per_second": 1000, "settle": "0s"}
    user.configure(
        connections={"langsmith": {"kind": "langsmith", "base_url": platform.service.url, **pace}},
        jobs={"nightly": {"connection": "langsmith", "projects": [platform.project], "rules": [{"name": "all"}]}},
    )
    return {"LANGSMITH_API_KEY": platform.service.key}


async def test_a_run_that_is_killed_and_restarted_leaves_each_trace_with_one_feedback(user, platform):
    roots = [platform.trace(documents=("Refunds are paid within 30 days.",)) for _ in range(_TRACES)]
    by_person = platform.report(roots[0].id, key="context_diff", score=1.0, comment="I checked it")
    env = _configure(user, platform)
    for confirmed in (1, 8, 20):
        process = user.start("run", "--config", "enricher.yaml", **env)
        await until(lambda least=confirmed: user.count("outbox", "state = 'confirmed'") >= least)
        process.send(signal.SIGKILL)
        await process.wait()
    finished = await user.run(**env)
    assert finished.code == 0, finished.err
    assert user.count("evaluations") == user.count("outbox", "state = 'confirmed'") == _TRACES
    written = Counter()
    for root in roots:
        ours = [f for f in platform.service.feedback_of(str(root.id)) if f["id"] != by_person]
        written.update((str(root.id), f["key"]) for f in ours)
        assert [f["score"] for f in ours] == [0.0]
    assert set(written.values()) == {1}
    assert len(written) == _TRACES
    (kept,) = [f for f in platform.service.feedback_of(str(roots[0].id)) if f["id"] == by_person]
    assert (kept["score"], kept["comment"]) == (1.0, "I checked it")


async def test_a_pasted_address_judges_that_trace_and_prints_its_diff(user, platform):
    asked = platform.trace(
        documents=("Refunds are paid within 30 days.",),
        answer="Refunds are paid within 90 days.",
        started=datetime.now(UTC) - timedelta(days=6),
    )
    platform.trace(documents=("Refunds are paid within 30 days.",))
    platform.report(asked.id, score=0, comment="I waited three months")
    env = _configure(user, platform)
    address = f"{platform.service.url}/o/tenant/projects/p/{platform.project_id()}/r/{asked.id}?poll=true"
    finished = await user.run("--trace", address, **env)
    assert finished.code == 0, finished.err
    assert "answer says" in finished.out
    assert "Refunds are paid within 30 days." in finished.out
    assert user.count("evaluations") == 1
    told = await user.enricher("explain", str(asked.id), "--config", "enricher.yaml", **env)
    assert "I waited three months" in told.out
