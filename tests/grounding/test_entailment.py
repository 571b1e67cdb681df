"""The shipped model is the one its card names, reads pairs of any length, and tells a copy from a changed value."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from enricher.errors import SetupError
from enricher.grounding.entailment import FOLDER, EntailmentModel, SupportHead, recorded_digest
from enricher.grounding.windows import FEATURES, choose, index, overlap_features, window

CARD = Path(__file__).resolve().parents[2] / "training" / "CARD.md"
EVIDENCE = "The Harbour Bridge opened on 19 March 1932 after eight years of work. It cost 6.25 million pounds."
SUPPORTED = "The Harbour Bridge opened on 19 March 1932."
BROKEN = (
    "The Harbour Bridge opened on 19 March 1947.",
    "The Harbour Bridge did not open on 19 March 1932.",
    "The Opera House opened on 19 March 1932.",
)


@pytest.fixture(scope="module")
def model() -> EntailmentModel:
    return EntailmentModel()


def test_the_shipped_weights_are_the_ones_that_the_card_and_the_hash_file_name(model):
    assert recorded_digest().startswith(model.version)
    assert recorded_digest() in CARD.read_text(encoding="utf-8")


def test_the_model_folder_stays_small_enough_for_a_wheel():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 45_000_000


def test_no_pairs_give_no_scores(model):
    assert model.scores([]).shape == (0, 3)


def test_each_row_of_scores_is_a_distribution(model):
    scores = model.scores([(EVIDENCE, claim) for claim in (SUPPORTED, *BROKEN)])
    assert scores.shape == (4, 3)
    assert np.allclose(scores.sum(axis=1), 1.0, atol=1e-5)


def test_a_copied_statement_is_believed_more_than_the_same_with_one_thing_changed(model):
    scores = model.scores([(EVIDENCE, SUPPORTED), *((EVIDENCE, claim) for claim in BROKEN)])
    assert (scores[0, 0] > scores[1:, 0]).all()


def test_results_keep_the_order_of_the_pairs_whatever_their_lengths(model):
    pairs = [(EVIDENCE * n, claim) for n in (3, 1, 2) for claim in (SUPPORTED, BROKEN[0])]
    together = model.scores(pairs)
    alone = np.concatenate([model.scores([pair]) for pair in pairs])
    # int8 activations are scaled per batch, so equality is not exact
    assert np.abs(together - alone).max() < 0.12


def test_texts_beyond_the_limits_and_empty_evidence_are_read(model):
    scores = model.scores([("word " * 5000, "claim " * 500), ("", SUPPORTED)])
    assert np.isfinite(scores).all()


def test_every_word_of_a_short_claim_gets_its_place(model):
    claim = BROKEN[0]
    [reading] = model.read([(EVIDENCE, claim)])
    assert "".join(claim[start:end] for start, end, _ in reading.words) == claim.replace(" ", "")
    assert all(a[1] <= b[0] for a, b in pairwise(reading.words))
    assert 0.0 <= reading.peak <= 1.0


def test_the_changed_value_is_the_least_supported_word(model):
    claim = BROKEN[0]
    [reading] = model.read([(EVIDENCE, claim)])
    start, end, _ = max(reading.words, key=lambda word: word[2])
    assert claim[start:end] in "1947"


def test_the_head_reads_the_model_and_the_overlap(model):
    context = index([EVIDENCE, "The weather was fine."])
    head = SupportHead()
    values = []
    for claim in (SUPPORTED, BROKEN[0]):
        chosen = choose(context, claim)
        [reading] = model.read([(window(context, chosen), claim)])
        values.append(head.probability(reading, overlap_features(context, claim, chosen)))
    assert 0.0 < values[1] < values[0] < 1.0
    with pytest.raises(ValueError, match="zip"):
        head.probability(reading, [0.0] * (len(FEATURES) - 1))


def test_a_missing_model_is_the_operators_to_fix(tmp_path):
    with pytest.raises(SetupError, match="reinstall"):
        EntailmentModel(tmp_path).scores([(EVIDENCE, SUPPORTED)])
