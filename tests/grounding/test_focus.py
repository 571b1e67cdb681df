"""The place of a clash is named, from the values, names and function words of both sides."""

import pytest

from enricher.grounding.engine import assess
from enricher.grounding.focus import FOCUS_SITES, clashing_sites, compare_claims, sites_in
from enricher.verdict import Quote
from tests.grounding.items import split


@pytest.mark.parametrize(
    ("claim", "passage", "sites"),
    [
        ("The deposit is 2,700 EUR.", "Clause 5: The deposit is 1,800 EUR.", ("amounts",)),
        ("The notice period is 90 days.", "The notice period is sixty (60) days.", ("dates",)),
        ("The lease ends on 31 May 2024.", "The lease ends on 31 March 2024.", ("dates",)),
        ("The tenant may sublet the flat.", "The tenant must not sublet the flat.", ("modals",)),
        ("The tenant must insure the flat.", "The tenant may insure the flat.", ("modals",)),
        ("All employees get a bonus.", "Some employees get a bonus.", ("quantifiers",)),
        ("The contract does not renew automatically.", "The contract renews automatically.", ("negation",)),
        ("Acme pays Beta 5,000 USD.", "Beta pays Acme 5,000 USD.", ("names",)),
        ("Termination is governed by section 12.", "Termination is governed by section 14.", ("clause_numbers",)),
        ("Die Kündigungsfrist beträgt 3 Monate.", "Die Kündigungsfrist beträgt 6 Monate.", ("dates",)),
        ("Der Mieter darf Haustiere halten.", "Der Mieter darf keine Haustiere halten.", ("modals",)),
        ("解約は3か月前に通知が必要です。", "解約は6か月前に通知が必要です。", ("dates",)),
        ("The rent is 900 EUR.", "The rent is 900 EUR.", ()),
        ("Pets are allowed.", "The rent is 900 EUR.", ()),
    ],
)
def test_the_place_of_a_clash_is_named(claim, passage, sites):
    made = split(None, [passage], claim)
    assert clashing_sites(claim, assess(claim, made)) == sites


def test_only_chosen_places_count_and_a_lost_negation_always_does():
    made = split(None, ["The deposit is 1,800 EUR. The contract renews automatically."], "x")
    claims = ["The deposit is 2,700 EUR.", "The contract does not renew automatically."]
    chosen = [sites for sites, _ in compare_claims(claims, [(), ()], made, ("dates",))]
    assert chosen == [(), ("negation",)]
    assert compare_claims(claims, [(), ()], made, FOCUS_SITES)[0][0] == ("amounts",)


def test_a_clash_with_another_sentence_says_nothing_against_the_named_one():
    made = split(None, ["The deposit is 1,800 EUR.", "A deposit of 2,700 EUR was agreed in writing."], "x")
    elsewhere = Quote(document_id="d2", text="A deposit of 2,700 EUR was agreed in writing.", start=0, end=45)
    right_there = Quote(document_id="d1", text="The deposit is 1,800 EUR.", start=0, end=25)
    only_first = split(None, ["The deposit is 1,800 EUR."], "x")
    claim = ["The deposit is 2,700 EUR."]
    assert compare_claims(claim, [(elsewhere,)], only_first, FOCUS_SITES)[0][0] == ()
    assert compare_claims(claim, [(right_there,)], only_first, FOCUS_SITES)[0][0] == ("amounts",)
    assert compare_claims(claim, [(elsewhere,)], made, FOCUS_SITES)[0][0] == ()


def test_the_sensitive_places_of_a_text_are_found():
    assert sites_in("Acme must pay 5,000 EUR by 5 May 2024.") == ("amounts", "dates", "modals")
    assert sites_in("All fees under section 4 are due.") == ("clause_numbers", "quantifiers")
    assert sites_in("It rains.") == ()


@pytest.mark.parametrize("text", ["", "…", "!!!", "( ) ; —"])
def test_marks_alone_have_no_sensitive_place(text):
    assert sites_in(text) == ()
