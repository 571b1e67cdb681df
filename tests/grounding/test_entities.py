"""Roles, names and relations are compared; what only looks crossed is left alone."""

import pytest

from enricher.grounding.entities import crossed_relation, replaced_name, swapped_roles
from enricher.grounding.reading import read
from enricher.grounding.tokens import tokenize


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Borel SA acquired Norvik AG.", "Norvik AG acquired Borel SA."),
        ("The landlord must notify the tenant of any defect.", "The tenant must notify the landlord of any defect."),
        ("Orlen sued Baxter in 2019.", "Orlen was sued by Baxter in 2019."),
        ("The Brio model is heavier than the Alto model.", "The Alto model is heavier than the Brio model."),
    ],
)
def test_exchanged_roles_are_found(claim, evidence):
    assert swapped_roles(read(claim), read(evidence))


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("Norvik AG acquired Borel SA.", "Borel SA was acquired by Norvik AG."),
        ("Baxter sued Orlen.", "Orlen was sued by Baxter."),
        ("The pool was drained on Thursday.", "On Thursday they drained the pool."),
        ("Anna married Paul in Rome.", "Paul married Anna in Rome."),
    ],
)
def test_the_same_roles_in_another_order_are_no_exchange(claim, evidence):
    assert swapped_roles(read(claim), read(evidence)) is None


def test_a_name_in_the_place_of_another_is_found():
    claim, evidence = read("Today Paul Keller leads the team."), read("Today Anna Meier leads the team.")
    assert replaced_name(claim, evidence, claim.names) == ("Paul Keller", "Anna Meier")
    assert replaced_name(claim, read("Anna Meier likes the team."), claim.names) is None


def test_opposite_relations_to_one_thing_are_found():
    before, after = tokenize("File it before the hearing."), tokenize("File it after the hearing.")
    assert crossed_relation(after, before) == ("'after'", "'before'")
    assert crossed_relation(before, before) is None
    assert crossed_relation(tokenize("after the meal"), before) is None
