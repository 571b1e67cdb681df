"""Dates and versions of documents: from metadata, or from what the documents say of themselves."""

import pytest

from enricher.grounding.versions import dates_of_itself, is_older, version_of
from enricher.trace import Document


def document(text="Some text.", **metadata):
    return Document(id="d", text=text, metadata=metadata)


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"date": "2019-05-01"}, "2019-05-01"),
        ({"updated_at": "2024-01-02T10:00:00Z"}, "2024-01-02"),
        ({"effective_date": "1 March 2024", "created_at": "2020-01-01"}, "1 March 2024"),
        ({"Last-Modified": "2023-06-30"}, "2023-06-30"),
        ({"version": "2.1"}, "2.1"),
        ({"date": "2024-01-01", "version": 3}, "2024-01-01, 3"),
        ({"doc.year": 2021}, "2021"),
    ],
)
def test_metadata_tell_the_version(metadata, text):
    assert version_of(document(**metadata)).text == text


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("Policy 2024, replaces all earlier versions: returns within 14 days.", "2024"),
        ("Version 2.1 of the manual.", "Version 2.1"),
        ("Effective from 1 March 2024: returns within 14 days.", "1 March 2024"),
        ("Stand: 5. Mai 2023. Die Frist beträgt 14 Tage.", "5. Mai 2023"),
        ("2023 price list: 90 EUR.", "2023"),
    ],
)
def test_a_document_tells_its_own_version(text, stated):
    assert version_of(document(text)).text == stated


@pytest.mark.parametrize(
    "text",
    ["Revenue in 2022 was 10 million EUR.", "The contract ends on 5 May 2024.", "The bridge opened in 1932.", ""],
)
def test_a_date_of_which_a_document_speaks_is_not_its_own(text):
    assert version_of(document(text)) is None
    assert not dates_of_itself(document(text), 0, len(text))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (document(date="2019-05-01"), document(date="2024-02-01")),
        (document(version="1.9"), document(version="1.10")),
        (document("Policy 2019: x."), document("Policy 2024: x.")),
        (document(), document("This policy replaces all earlier versions.")),
        (document("Superseded. Returns within 30 days."), document()),
        (document(status="archived", date="2024-02-01"), document(date="2019-05-01")),
    ],
)
def test_the_older_of_two_is_known(left, right):
    assert is_older(version_of(left), version_of(right))
    assert not is_older(version_of(right), version_of(left))


@pytest.mark.parametrize(
    ("left", "right"),
    [(document(), document()), (document(year="2024"), document(date="2024-02-01")), (document(), document(year=2024))],
)
def test_where_too_little_is_known_neither_is_older(left, right):
    assert not is_older(version_of(left), version_of(right))
    assert not is_older(version_of(right), version_of(left))
