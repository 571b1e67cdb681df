"""A dozen quick scenarios of the chaos suite; `make chaos` plays hundreds, also such that wait for minutes."""

from dataclasses import replace

import pytest

from tests.chaos.faults import DiskFull, Fault, Gone, Locked, Moment, Raving, Revoked, Signal, Troubled
from tests.chaos.scenarios import Scenario, drawn, play
from tests.chaos.world import Stage
from tests.servers.troubled import Trouble

SETTLED = Moment(what="settled", number=2)
CONFIRMED = Moment(what="confirmed", number=1)
KILLED = (
    Signal(at=Moment(what="model answered", number=3)),
    Signal(at=Moment(what="platform answered", number=6)),
    Signal(at=CONFIRMED),
)


def failing(whose: str, *troubles: Trouble, most: int = 4) -> Troubled:
    return Troubled(whose=whose, troubles=troubles, share=0.5, most=most, seed=1)


def scenario(platform: str, store: str, engine: str, *faults: Fault, together: bool = False) -> Scenario:
    rounds = (faults,) if together else tuple((fault,) for fault in faults)
    kind = "raving" if any(isinstance(fault, Raving) for fault in faults) else "test"
    return Scenario(
        seed=0, number=0, kind=kind, platform=platform, store=store, engine=engine, runner="run", traces=6,
        rounds=rounds,
    )  # fmt: skip


SCENARIOS = {
    "killed": scenario("langsmith", "sqlite", "openai", *KILLED),
    "killed on Phoenix and PostgreSQL": scenario("phoenix", "postgres", "openai", *KILLED[1:]),
    "platform cut off": scenario("langsmith", "sqlite", "local", failing("platform", Trouble.RESET_AFTER, Trouble.CUT)),
    "platform babbles": scenario(
        "phoenix", "sqlite", "local", failing("platform", Trouble.LOGIN_PAGE, Trouble.TRUNCATED, Trouble.OTHER_SHAPE)
    ),
    "platform busy, then killed": scenario(
        "langsmith", "postgres", "local", failing("platform", Trouble.BUSY, Trouble.BROKEN), KILLED[2], together=True
    ),
    "model babbles": scenario(
        "files", "sqlite", "openai", failing("model", Trouble.GARBAGE, Trouble.DUPLICATED, Trouble.TRUNCATED)
    ),
    "model cut off": scenario(
        "files", "postgres", "openai", failing("model", Trouble.RESET, Trouble.CUT, Trouble.BUSY)
    ),
    "model raves": scenario("langsmith", "sqlite", "openai", Raving(share=0.5)),
    "key revoked": scenario("langsmith", "sqlite", "openai", Revoked(whose="model", at=SETTLED)),
    "store locked": scenario("files", "sqlite", "openai", Locked(at=SETTLED, seconds=0.5)),
    "store restarted": scenario("files", "postgres", "openai", Gone(at=SETTLED, how="stopped", seconds=0.2)),
    "disk full": scenario("langsmith", "sqlite", "openai", DiskFull(at=SETTLED, how="limit")),
}


@pytest.fixture
def stage(starter, postgres):
    def not_here():
        raise AssertionError("a scenario of the short form wants what only make chaos starts")

    return Stage(
        starter=starter, open_phoenix=not_here, open_postgres=lambda: postgres, open_clock=not_here
    )  # fmt: skip


async def expect_all_is_well(chosen: Scenario, stage: Stage, folder) -> None:
    played = await play(chosen, stage, folder)
    assert played.skipped is None
    assert played.violations == []


LONG = {"platform cut off", "platform busy, then killed", "platform babbles", "key revoked", "model raves"}


def named(*, on_phoenix: bool) -> list[object]:
    names = [name for name, one in SCENARIOS.items() if (one.platform == "phoenix") is on_phoenix]
    return [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in names]


@pytest.mark.parametrize("name", named(on_phoenix=False))
async def test_once_a_fault_is_over_every_trace_is_annotated_once_and_accounted_for(stage, tmp_path, name):
    await expect_all_is_well(SCENARIOS[name], stage, tmp_path)


# Tests that use Phoenix share a worker, the others need not.
@pytest.mark.parametrize("name", named(on_phoenix=True))
async def test_once_a_fault_is_over_every_trace_in_phoenix_is_annotated_once(stage, phoenix_server, tmp_path, name):
    await expect_all_is_well(SCENARIOS[name], replace(stage, open_phoenix=lambda: phoenix_server), tmp_path)


def test_the_same_seed_and_number_give_the_same_scenario():
    assert drawn(7, 3) == drawn(7, 3)
    assert len({drawn(7, number) for number in range(40)}) == 40


@pytest.mark.parametrize("kind", ["killed", "gone", "clock"])
def test_a_kind_can_be_asked_for(kind):
    assert {drawn(7, number, kind).kind for number in range(10)} == {kind}
