"""Which answers belong together."""

from enricher.compare.matching import Candidate, match
from tests.compare.samples import item


def candidates(*items, keys=None):
    return [Candidate(item=one, key=keys[n] if keys else None) for n, one in enumerate(items)]


def ids(matching):
    return [(m.pair.a.trace_id, m.pair.b.trace_id) for m in matching.matched]


def test_answers_are_matched_by_question_and_context_whatever_order_case_and_spaces():
    left = candidates(item(trace="a1"), item(question="Where?", trace="a2"))
    right = candidates(item(question=" WHERE? ", trace="b2"), item(trace="b1"))
    found = match(left, right)
    assert ids(found) == [("a1", "b1"), ("a2", "b2")]
    assert (found.unmatched, found.differing) == ((), ())


def test_the_example_wins_over_the_question():
    left = candidates(item(question="One way?", trace="a1"), keys=["e1"])
    right = candidates(item(question="Another?", trace="b1"), item(question="One way?", trace="b2"), keys=["e1", "e2"])
    found = match(left, right)
    assert ids(found) == [("a1", "b1")]
    assert found.matched[0].pair.id == "e1"
    assert [(left_over.side, left_over.where) for left_over in found.unmatched] == [("challenger", "e2")]


def test_examples_that_only_one_side_knows_do_not_count():
    found = match(candidates(item(trace="a1"), keys=["e1"]), candidates(item(trace="b1")))
    assert ids(found) == [("a1", "b1")]


def test_other_documents_are_listed_and_not_compared():
    found = match(candidates(item(texts=("x", "y"), trace="a1")), candidates(item(texts=("y", "z"), trace="b1")))
    (one,) = found.differing
    assert (found.matched, found.unmatched, one.reason) == ((), (), "contexts_differ")
    assert one.detail == "documents: 1 in common, 1 only the champion's, 1 only the challenger's"
    assert one.where == "a1 / b1"


def test_the_same_documents_in_another_order_are_the_same_context():
    found = match(candidates(item(texts=("x", "y"))), candidates(item(texts=("y", "x", "x"))))
    assert len(found.matched) == 1


def test_repeated_runs_are_matched_in_their_order_and_each_once():
    left = candidates(*(item(trace=f"a{n}") for n in range(3)), keys=["e"] * 3)
    right = candidates(*(item(trace=f"b{n}") for n in range(2)), keys=["e"] * 2)
    found = match(left, right)
    assert ids(found) == [("a0", "b0"), ("a1", "b1")]
    assert [m.pair.id for m in found.matched] == ["e", "e#2"]
    assert len(found.unmatched) == 1


def test_the_id_of_a_pair_does_not_depend_on_what_else_is_compared():
    alone = match(candidates(item()), candidates(item())).matched[0].pair.id
    left = candidates(item(question="Other?"), item(texts=("z",)), item())
    among = match(left, candidates(item(texts=("z",)), item()))
    assert alone in {m.pair.id for m in among.matched}
    assert len({m.pair.id for m in among.matched}) == 2


def test_answers_without_a_question_match_nothing():
    found = match(candidates(item(question=None, trace="a")), candidates(item(question=None, trace="b")))
    assert found.matched == ()
    assert len(found.unmatched) == 2
