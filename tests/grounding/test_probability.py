"""A statement carries how likely people call it each of the four labels, and the likelier the surer the engine is."""

import pytest

from enricher.grounding.confidence import doubted
from enricher.grounding.engine import ground
from enricher.grounding.meaning import Closeness
from enricher.grounding.outcome import Decision
from enricher.grounding.probability import label_probabilities
from enricher.records import segment_row
from enricher.verdict import AlignmentStatus, IssueType, Probabilities
from tests.grounding.items import split

DOCUMENT = "The deposit is 900 euros. It is returned within four weeks after the keys were handed over."


def found(answer: str) -> Probabilities:
    (segment,) = (s for s in ground(split("What about the deposit?", [DOCUMENT], answer)).segments if s.generated_text)
    assert segment.probabilities is not None
    assert segment.score == segment.probabilities.supported
    return segment.probabilities


@pytest.mark.parametrize("answer", ["The deposit is 900 euros.", "The deposit is 800 euros.", "The cellar is flooded."])
def test_the_four_probabilities_of_a_statement_add_up(answer):
    assert sum(found(answer).model_dump().values()) == pytest.approx(1.0, abs=2e-4)


def test_each_label_is_likeliest_where_it_is_given():
    copied, clashing, foreign = map(
        found, ("The deposit is 900 euros.", "The deposit is 800 euros.", "The cellar is wet.")
    )
    assert copied.supported > 0.8
    assert clashing.contradicted > 0.3 > max(copied.contradicted, foreign.contradicted)
    assert foreign.unsupported > 0.4 > max(copied.unsupported, clashing.unsupported)


def decision(status: AlignmentStatus, share: float, *, certain: bool = True) -> Decision:
    return Decision(status, IssueType.ADDED, "", [], share, certain)


def test_more_of_the_words_and_a_nearer_meaning_make_support_likelier():
    status = AlignmentStatus.PARTIALLY_SUPPORTED
    few, many = (label_probabilities(decision(status, share)).supported for share in (0.4, 0.7))
    far, near = (
        label_probabilities(decision(status, 0.6), Closeness(words=words, whole=0.7)).supported for words in (0.5, 0.9)
    )
    assert few < many
    assert far < near


def test_doubt_draws_support_to_the_middle_and_keeps_the_sum():
    sure = label_probabilities(decision(AlignmentStatus.FULLY_SUPPORTED, 1.0))
    less = doubted(sure, 0.5)
    assert 0.5 < less.supported < sure.supported
    assert sum(less.model_dump().values()) == pytest.approx(1.0, abs=2e-4)
    assert less.partial / less.unsupported == pytest.approx(sure.partial / sure.unsupported, rel=0.01)


def test_an_omission_has_no_probabilities_and_a_record_shows_those_of_a_statement():
    segments = ground(split("What about the deposit?", [DOCUMENT], "The deposit is 900 euros.")).segments
    said = next(s for s in segments if s.generated_text)
    assert segment_row(said)["probabilities"]["supported"] == segment_row(said)["score"]
    left_out = said.model_copy(update={"generated_text": None, "score": None, "probabilities": None})
    assert "probabilities" not in segment_row(left_out)
