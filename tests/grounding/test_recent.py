"""What the judges of one item share: it is computed once, and only as long as it is among the latest."""

from enricher.grounding.engine import ground
from enricher.grounding.recent import Recent
from enricher.grounding.search import evidence_of
from tests.grounding.items import split


def test_an_object_is_computed_once_and_an_equal_one_again():
    recent, calls = Recent(2), []
    first, equal = ("a", "b"), tuple(["a", "b"])
    for key in (first, equal, first):
        recent.of(key, lambda: calls.append(1) or len(calls))
    assert len(calls) == 2
    recent.of(("c",), lambda: 0)
    assert recent.of(equal, lambda: "new") == 2
    assert recent.of(first, lambda: "new") == "new"


def test_judges_of_one_item_share_its_documents_and_what_was_found_in_it():
    item = split("Rent?", ["The rent is 900 EUR. Pets are allowed."], "The rent is 800 EUR.")
    again = split("Rent?", ["The rent is 900 EUR. Pets are allowed."], "The rent is 800 EUR.")
    assert evidence_of(item) is evidence_of(item)
    assert ground(item) is ground(item)
    assert ground(again) is not ground(item)
    assert ground(again) == ground(item)


def test_the_strict_operating_point_changes_nothing_for_who_asks_next():
    item = split("Rent?", ["The rent is 900 EUR."], "The rent is 900 EUR, and the landlord pays the heating.")
    before = ground(item).faithful_probability
    assert ground(item, is_strict=True).faithful_probability < before
    assert ground(item).faithful_probability == before
