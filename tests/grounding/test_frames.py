"""Words that only name a source are not held against the documents."""

import pytest

from enricher.grounding.frames import without_frames


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("Based on the given passages, bees make honey.", "bees make honey."),
        ("According to passage 1, bees (passages 2 and 3) make honey.", "bees make honey."),
        ("Bees make honey (see source 2).", "Bees make honey ."),
        ("Passage 2 also states that bees make honey.", "bees make honey."),
        ("In summary, bees make honey.", "bees make honey."),
        ("According to Section 5, rent is due.", "According to Section 5, rent is due."),
        ("Passage 2 denies that bees make honey.", "Passage 2 denies that bees make honey."),
        ("(Passage 1)", "(Passage 1)"),
    ],
)
def test_frames_become_blanks_of_the_same_length(text, rest):
    found = without_frames(text)
    assert " ".join(found.split()) == rest
    assert len(found) == len(text)
