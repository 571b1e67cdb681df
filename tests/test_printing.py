"""Counts have their word: one trace, and any other number of traces."""

import pytest

from enricher.printing import number_of, plural


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 traces"), (1, "1 trace"), (2, "2 traces"), (50_000, "50,000 traces")]
)
def test_a_count_stands_with_its_word(count, said):
    assert number_of(count, "trace") == said


def test_a_word_with_a_plural_of_its_own_and_a_verb_are_given():
    assert number_of(2, "raw reply", "raw replies") == "2 raw replies"
    assert [plural(count, "leaves its", "leave their") for count in (1, 0)] == ["leaves its", "leave their"]
