"""How near a claim is in meaning to what the documents say: the shipped encoder, and what it adds to the words."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from enricher.errors import SetupError
from enricher.grounding.engine import ground
from enricher.grounding.meaning import FOLDER, MAX_TOKENS, WEIGHTS, Encoder, closeness, digest_of, shipped_encoder
from enricher.records import item_of
from enricher.steps.segmentation import split_item

CARD = Path(__file__).resolve().parents[2] / "training" / "CARD.md"
SENTENCES = (
    "The company dismissed half of its staff in March.",
    "Bees gather nectar from flowers.",
    "Refunds are paid within 30 days.",
)


def nearness(claim: str, *sentences: str):
    encoded = shipped_encoder().encode([claim, *sentences])
    return closeness(encoded[claim], [encoded[s] for s in sentences])


def probability(answer: str, document: str) -> float:
    row = {"id": "r1", "question": None, "answer": answer, "documents": [{"id": "d1", "text": document}]}
    found = ground(split_item(item_of(row))).faithful_probability
    assert found is not None
    return found


def test_the_shipped_weights_are_those_that_the_card_names():
    assert digest_of(FOLDER / WEIGHTS) in CARD.read_text(encoding="utf-8")


def test_weights_and_tokenizer_stay_within_45_megabytes():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 45_000_000


def test_other_words_for_the_same_are_nearer_than_something_else():
    same = nearness("In spring the firm laid off 50% of its employees.", *SENTENCES)
    other = nearness("The orchestra rehearses on Tuesdays.", *SENTENCES)
    assert same.words > other.words + 0.1
    assert same.whole > other.whole + 0.3


def test_a_sentence_is_nearest_to_itself():
    near = nearness(SENTENCES[1], *SENTENCES)
    assert near.words > 0.99
    assert near.whole > 0.99


def test_without_words_on_either_side_there_is_no_nearness():
    assert nearness("Bees gather nectar.") is None
    assert nearness("", *SENTENCES) is None
    assert nearness("Bees gather nectar.", "") is None


def test_texts_without_end_are_read_as_far_as_the_window_goes():
    encoded = shipped_encoder().encode(["bees gather nectar " * 4000])
    (found,) = encoded.values()
    assert len(found.tokens) == MAX_TOKENS - 2


def test_what_was_read_once_is_remembered_and_memory_is_bounded():
    encoder = Encoder()
    first = encoder.encode([SENTENCES[0]])[SENTENCES[0]]
    assert encoder.encode(SENTENCES)[SENTENCES[0]] is first
    encoder.encode([f"number {i}" for i in range(300)])
    assert encoder.encode([SENTENCES[0]])[SENTENCES[0]] is not first


def test_what_is_read_together_changes_nothing():
    alone = Encoder().encode([SENTENCES[0]])[SENTENCES[0]]
    beside = Encoder().encode(["Whales sing. " * 30, *SENTENCES])[SENTENCES[0]]
    assert np.array_equal(alone.tokens, beside.tokens)
    assert np.array_equal(alone.whole, beside.whole)


def test_threads_share_an_encoder():
    encoder = Encoder()
    texts = [[f"{s} {i % 5}" for s in SENTENCES] for i in range(40)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(encoder.encode, texts))
    for wanted, encoded in zip(texts, found, strict=True):
        assert list(encoded) == wanted or set(encoded) == set(wanted)
        assert all(np.isfinite(e.whole).all() for e in encoded.values())


def test_an_installation_without_weights_says_what_to_do(tmp_path):
    with pytest.raises(SetupError, match=re.escape("reinstall trace-enricher")):
        Encoder(tmp_path).encode(["a"])


def test_an_answer_in_other_words_is_believed_more_than_one_of_something_else():
    document = " ".join(SENTENCES)
    assert probability("The firm laid off 50% of its employees in March.", document) > probability(
        "The orchestra bought 50% of its violins in March.", document
    )


def test_nearness_never_makes_a_contradicted_answer_faithful():
    assert probability("Refunds are paid within 90 days.", " ".join(SENTENCES)) < 0.5


def test_other_languages_are_left_to_the_words():
    german = "Die Kaution beträgt 900 Euro und ist bei Einzug fällig."
    assert probability(german, german) > 0.9


def test_the_encoder_reports_nothing_to_the_maker_of_its_runtime_and_starts_no_threads(tmp_path):
    # What the runtime means to send, and an id of the machine, it first keeps below the home folder.
    program = """if True:
        import os
        from enricher.grounding.meaning import Encoder
        Encoder().encode(["Notice is sixty days."])
        assert len(os.listdir("/proc/self/task")) == 1, os.listdir("/proc/self/task")
    """
    environment = {"HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    subprocess.run([sys.executable, "-c", program], env=environment, cwd=tmp_path, check=True)
    assert list(tmp_path.iterdir()) == []
