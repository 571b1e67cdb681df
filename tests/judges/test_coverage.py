"""Every part of an answer that states something needs a claim, and a claim counts only if the answer makes it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.judges.claims import ClaimsReading, read_claims, read_given
from enricher.judges.coverage import is_made, located, uncovered_parts
from enricher.judges.material import lay_out
from enricher.judges.reply import Unusable
from enricher.trace import Sentence
from enricher.verdict import Claim, ClaimVerdict
from tests.judges.test_diff import item


@pytest.mark.parametrize(
    ("sentence", "claims", "missing"),
    [
        (
            "The rent is 900 EUR and the deposit is 2,700 EUR.",
            ["The rent is 900 EUR."],
            ["the deposit is 2,700 EUR"],
        ),
        ("The lease runs for 24 months.", ["The lease runs for some months."], ["The lease runs for 24 months"]),
        (
            "Employees may work remotely and contractors may not work remotely.",
            ["Employees may work remotely."],
            ["contractors may not work remotely"],
        ),
        (
            "Die Miete beträgt 900 Euro, die Kaution 2.700 Euro.",
            ["Die Miete beträgt 900 Euro."],
            ["die Kaution 2.700 Euro"],
        ),
        ("賃料は月額9万円で、敷金は27万円です。", ["賃料は月額9万円です。"], ["敷金は27万円です"]),
        ("The rent is 900 EUR.", [], ["The rent is 900 EUR"]),
    ],
)
def test_a_part_that_no_claim_is_about_is_named(sentence, claims, missing):
    assert uncovered_parts(sentence, claims) == missing


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        ("The rent is 900 EUR.", ["The rent is 900 EUR."]),
        (
            "The lease requires three months of notice, and tenants pay the heating costs.",
            ["Three months notice is required by the lease.", "Tenants pay heating costs."],
        ),
        ("According to the contract, the rent is 900 EUR.", ["The rent is 900 EUR."]),
        ("In summary, the rent is 2,700 EUR.", ["The rent is 2700 EUR."]),
        ("It comes with cars, trucks and bikes.", ["It comes with cars, trucks and bikes."]),
        ("Der Mieter zahlt die Miete, zum Beispiel monatlich.", ["Der Mieter zahlt die Miete monatlich."]),
        ("Yes.", []),
    ],
)
def test_what_is_said_in_other_words_or_states_nothing_is_covered(sentence, claims):
    assert uncovered_parts(sentence, claims) == []


LEASE = item(
    "The notice period is ninety days. It ends in May.",
    "The notice period is 90 days.",
    question="When can the tenant of the Berlin flat leave?",
)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("The notice period is ninety days.", True),
        ("The notice period is 90 days.", True),
        ("The notice period for the tenant of the Berlin flat is ninety days.", True),
        ("The notice period is 60 days.", False),
        ("Notice must be sent by registered mail.", False),
        ("Die Kündigungsfrist beträgt neunzig Tage.", False),
    ],
)
def test_a_claim_counts_only_if_the_answer_makes_it(claim, expected):
    assert is_made(claim, LEASE) is expected


def test_a_claim_is_located_at_its_own_words():
    text = "Anna founded the company in 1999 and sold it in 2005."
    sentence = Sentence(id="s1", start=10, end=10 + len(text), text=text)

    def words(claim):
        start, end = located(claim, sentence)
        return text[start - 10 : end - 10]

    assert words("Anna sold it in 2005.") == "sold it in 2005."
    assert words("Anna founded the company in 1999") == "Anna founded the company in 1999"
    assert words("Somebody did something.") == text


MATERIAL = lay_out(LEASE, LEASE.documents, LEASE.sentences, fence="ab12", is_numbered=True)
GIVEN = tuple(Claim(claim_id=f"c{n}", text=f"Claim {n}.", verdict=ClaimVerdict.UNSUPPORTED) for n in (1, 2))
TEXTS = ("The notice period is ninety days.", "It ends in May.", "", "Pets.", "d1.s1", "s1", "c1", "c2", "dates")
LEAVES = st.sampled_from([None, True, 1, 0.5, [], {}, ["d1.s1"], ["d9.s1"], [1], "SUPPORTED", "PARTIAL", "N/A", *TEXTS])
ENTRIES = st.dictionaries(st.sampled_from(["claim", "sentence", "id", "verdict", "evidence", "note", "site"]), LEAVES)
OBJECTS = st.fixed_dictionaries(
    {"claims": st.lists(ENTRIES, max_size=4) | LEAVES},
    optional={"faithfulness_score": LEAVES, "verdict": LEAVES, "most_dangerous_error": LEAVES},
)


@settings(max_examples=400, deadline=None)
@given(OBJECTS, OBJECTS)
def test_no_object_makes_a_reader_raise(value, second):
    wanted = LEASE.sentences
    reading = read_claims(value, LEASE, MATERIAL, wanted)
    if isinstance(reading, ClaimsReading):
        again = read_claims(second, LEASE, MATERIAL, wanted, earlier=reading.claims)
        for one in (reading, again):
            assert isinstance(one, ClaimsReading | Unusable)
            if isinstance(one, ClaimsReading):
                assert [claim.claim_id for claim in one.claims] == [f"c{n}" for n in range(1, len(one.claims) + 1)]
                for claim in one.claims:
                    assert claim.start is None or LEASE.answer[claim.start : claim.end].strip()
    judged = read_given(value, MATERIAL, GIVEN)
    if isinstance(judged, ClaimsReading):
        assert {*judged.missing, *(claim.claim_id for claim in judged.claims)} == {"c1", "c2"}
        assert isinstance(read_given(second, MATERIAL, GIVEN, earlier=judged.claims), ClaimsReading | Unusable)
