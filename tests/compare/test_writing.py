"""Writing a verdict to both sides: a win of one is a loss of the other, repeats replace themselves."""

from functools import partial

import pytest

from enricher.compare.judging import Compared
from enricher.compare.writing import annotations_of, write_back
from enricher.errors import TryAgain
from enricher.verdict import Delivery, DeliveryState, Status
from tests.compare.samples import compared, flag, verdict

WRITE = partial(annotations_of, champion="old", challenger="new")


class Platform:
    """Takes annotations; `failing` calls raise first, `refused` spans fail for good, `slow` looks see nothing yet."""

    name = "memory"

    def __init__(self, failing=0, refused=(), slow=0):
        self.failing, self.refused, self.slow = failing, refused, slow
        self.shown = {}
        self.calls = 0

    async def annotate(self, annotations):
        self.calls += 1
        if self.calls <= self.failing:
            raise TryAgain("busy")
        self.shown |= {a.key: a for a in annotations if a.span_id not in self.refused}
        states = [DeliveryState.FAILED if a.span_id in self.refused else DeliveryState.SENT for a in annotations]
        pairs = zip(annotations, states, strict=True)
        return [Delivery(key=a.key, state=state, reason="no") for a, state in pairs]

    async def confirm(self, annotations):
        self.slow -= 1
        state = DeliveryState.RETRY if self.slow >= 0 else DeliveryState.CONFIRMED
        return [Delivery(key=a.key, state=state) for a in annotations]


async def no_sleep(seconds):
    assert seconds > 0


@pytest.mark.parametrize(
    ("preferred", "labels"), [("A", ["win", "loss"]), ("B", ["loss", "win"]), ("TIE", ["tie", "tie"])]
)
def test_each_side_sees_how_it_fared(preferred, labels):
    found = WRITE(compared(verdict(preferred)))
    assert [a.label for a in found] == labels
    assert [a.score for a in found] == [{"win": 1.0, "tie": 0.5, "loss": 0.0}[label] for label in labels]
    assert [a.span_id for a in found] == ["ta-root", "tb-root"]
    assert {a.name for a in found} == {"pairwise_preference"}
    assert found[0].identifier == "trace-enricher/pairwise/local/grounding/against new"
    assert found[1].identifier.endswith("/against old")
    assert found[0].annotator_kind == "CODE"


def test_the_explanation_speaks_of_this_answer_and_the_other():
    won, lost = WRITE(compared(verdict("A", flags=[flag()])))
    assert won.explanation == (
        "Win against new. This answer is better: "
        "the other answer says 'It flies.', which the documents do not bear out."
    )
    assert lost.explanation.startswith("Loss against old. The other answer is better: this answer says 'It flies.'")
    assert lost.metadata["compared_with"] == {"source": "old", "trace_id": "ta", "span_id": "ta-root"}


def test_what_is_not_accepted_is_a_call_for_review_and_no_preference():
    found = WRITE(compared(verdict("A", 0.2)))
    assert [(a.name, a.label) for a in found] == [("needs_review", "low_confidence")] * 2
    failed = WRITE(compared(verdict(status=Status.JUDGE_INVALID)))
    assert [(a.name, a.label) for a in failed] == [("needs_review", "judge_failed:JUDGE_INVALID")] * 2
    biased = WRITE(compared(verdict("TIE", None, orders=(("A", "A"), ("B", "B")))))
    assert [a.name for a in biased] == ["pairwise_preference", "needs_review"] * 2


def test_refused_pairs_and_plain_records_write_nothing():
    assert WRITE(compared(verdict(status=Status.SKIPPED, raised=("contexts_differ",)))) == ()
    assert WRITE(compared(verdict("A"), has_refs=False)) == ()


def test_a_prefix_is_kept():
    found = annotations_of(compared(verdict("A")), "old", "new", prefix="te_")
    assert {a.name for a in found} == {"te_pairwise_preference"}


async def test_a_busy_platform_is_asked_again_and_a_repeat_replaces_itself():
    platform = Platform(failing=2, slow=2)
    for _ in range(2):
        written = await write_back([compared(verdict("A"))], {"memory": platform}, WRITE, sleep=no_sleep)
        assert (written.annotations, dict(written.problems)) == (2, {})
    assert len(platform.shown) == 2


async def test_what_the_platform_refuses_is_told_and_the_rest_is_written():
    platform = Platform(refused=("tb-root",))
    written = await write_back([compared(verdict("A"))], {"memory": platform}, WRITE, sleep=no_sleep)
    assert written.annotations == 1
    assert list(written.problems) == ["memory: no"]
    assert written.record_ids == []


async def test_a_platform_that_stays_away_is_told_of():
    written = await write_back([compared(verdict("A"))], {"memory": Platform(failing=9)}, WRITE, sleep=no_sleep)
    assert list(written.problems) == ["memory: busy"]
    late = await write_back([compared(verdict("A"))], {"memory": Platform(slow=99)}, WRITE, sleep=no_sleep)
    assert "2 verdicts are not seen" in next(iter(late.problems))
    assert isinstance(compared(verdict("A")), Compared)
