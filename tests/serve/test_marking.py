"""Texts are cut at their statements, and nothing of them is lost or invented."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from enricher.serve.marking import Span, pieces
from enricher.verdict import Standing, Stretch

TEXT = "Notice is 90 days."
SPANS = st.lists(
    st.builds(
        lambda start, length, key, standing: Span(start=start, end=start + length, key=key, standing=standing),
        st.integers(-3, 40), st.integers(0, 20), st.sampled_from("abc"), st.sampled_from(list(Standing)),
    ),
    max_size=6,
)  # fmt: skip


def span(start, end, key="s1", standing=Standing.SUPPORTED):
    return Span(start=start, end=end, key=key, standing=standing)


@given(text=st.text(max_size=40), spans=SPANS)
def test_the_pieces_are_the_text_and_each_is_marked_by_what_covers_it(text, spans):
    found = pieces(text, spans)
    assert "".join(piece.text for piece in found) == text
    at = 0
    for piece in found:
        covering = {s.key for s in spans if 0 <= s.start <= at and at < s.end <= len(text)}
        assert set(piece.keys) == covering
        at += len(piece.text)


def test_the_worst_standing_names_a_stretch_that_statements_share():
    found = pieces(TEXT, [span(0, 18), span(10, 17, "s2", Standing.CONTRADICTED), span(10, 12, "s3", Standing.PARTIAL)])
    assert [(piece.text, piece.keys, piece.standing) for piece in found] == [
        ("Notice is ", ("s1",), Standing.SUPPORTED),
        ("90", ("s1", "s2", "s3"), Standing.CONTRADICTED),
        (" days", ("s1", "s2"), Standing.CONTRADICTED),
        (".", ("s1",), Standing.SUPPORTED),
    ]
    assert [piece.begins for piece in found] == [("s1",), ("s2", "s3"), (), ()]


def test_of_a_long_text_the_beginning_and_the_surroundings_of_marks_are_kept():
    text = "x" * 100_000
    found = pieces(text, [span(50_000, 50_010)])
    assert [(len(piece.text), piece.omitted) for piece in found] == [
        (1_500, 0),
        (0, 47_000),
        (1_500, 0),
        (10, 0),
        (1_500, 0),
        (0, 48_490),
    ]


def test_the_words_that_a_finding_is_about_are_parted_from_the_rest_of_its_mark():
    about = Span(start=0, end=18, key="s1", standing=Standing.PARTIAL, lacking=(Stretch(start=10, end=17),))
    (piece,) = pieces(TEXT, [about])
    assert piece.bits == (("Notice is ", False), ("90 days", True), (".", False))
    assert piece.text == TEXT


@given(
    text=st.text(max_size=40),
    ends=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=3),
    spans=SPANS,
)
def test_the_bits_of_a_piece_are_its_text(text, ends, spans):
    lacking = tuple(Stretch(start=start, end=end) for start, end in ends)
    for piece in pieces(text, [replace(found, lacking=lacking) for found in spans]):
        assert "".join(bit.text for bit in piece.bits) == piece.text
