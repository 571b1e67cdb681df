"""Stems are the same in whatever thread a text is read: second checks run beside one another."""

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from enricher.grounding.tokens import stem

WORDS = [f"{start}{end}" for start in ("refund", "organis", "national", "relat", "hop") for end in
         ("ing", "edly", "ational", "izations", "fulness", "ousli", "ies", "ably")] * 40  # fmt: skip


@pytest.fixture
def many_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_that_stem_at_once_get_what_one_alone_gets(many_switches):
    alone = [stem(word) for word in WORDS]
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda number: [stem(word) for word in WORDS], range(8)))
    assert at_once == [alone] * 8
