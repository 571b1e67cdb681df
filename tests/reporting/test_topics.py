"""Questions are grouped by a word that they share, and what shares none is said to be other."""

from enricher.reporting.topics import OTHER, topics_of


def test_questions_that_share_a_word_make_a_topic_whatever_its_form():
    questions = ["What is the refund period?", "Are refunds paid to cards?", "How do I get refunded?", "Opening hours?"]
    topics = topics_of(questions)
    assert topics[0] == topics[1] == topics[2]
    assert topics[0].startswith("refund")
    assert topics[3] == OTHER


def test_a_word_of_nearly_all_questions_tells_nothing_apart():
    questions = [f"Does Acme ship {thing}?" for thing in "abcdefghijklmnopqrst"]
    assert topics_of(questions) == [OTHER] * 20


def test_small_runs_and_missing_questions_have_no_topics():
    assert topics_of([]) == []
    assert topics_of([None, "", "Why?"]) == [OTHER] * 3


def test_scripts_without_spaces_can_share_a_word():
    questions = ["退款期限是多久", "退款需要多久", "如何申请退款", "营业时间"]
    topics = topics_of(questions)
    assert topics[0] == topics[1] == topics[2] == "退款"
    assert topics[3] == OTHER
