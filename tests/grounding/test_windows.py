"""The sentences that the model reads are those that cover the claim, in the order of the documents."""

from enricher.grounding.windows import MAX_SENTENCES, MAX_WORDS, choose, index, overlap_features, pieces, terms, window

SENTENCES = [
    "The museum opens at nine on weekdays.",
    "Tickets cost 12 euros for adults.",
    "Children under six get in free.",
    "The café closes at five.",
]


def test_the_sentence_that_holds_the_claims_words_is_chosen():
    assert choose(index(SENTENCES), "An adult ticket costs 12 euros.") == [1]


def test_a_claim_over_two_sentences_gets_both_in_document_order():
    chosen = choose(index(SENTENCES), "Children get in free, and the museum opens at nine.")
    assert chosen[:1] == [0]
    assert 2 in chosen


def test_a_hidden_sentence_is_never_chosen():
    assert 1 not in choose(index(SENTENCES), "Tickets cost 12 euros.", without=frozenset({1}))


def test_a_claim_that_shares_no_word_still_gets_something_to_be_read_beside():
    assert choose(index(SENTENCES), "Zebras gallop.") == [0]
    assert choose(index([]), "Zebras gallop.") == []


def test_a_window_stays_within_its_limits():
    context = index([f"number {n} " + "word " * 40 for n in range(30)])
    chosen = choose(context, "number 3 number 7 number 11 number 20 number 25 word")
    assert len(chosen) <= MAX_SENTENCES
    assert len(window(context, chosen).split()) <= MAX_WORDS


def test_a_copy_is_covered_and_an_unknown_number_is_counted():
    context = index(SENTENCES)
    copy, changed = "Tickets cost 12 euros for adults.", "Tickets cost 15 euros for adults."
    assert overlap_features(context, copy, choose(context, copy))[:6] == [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]
    assert overlap_features(context, changed, choose(context, changed))[5] > 0


def test_scripts_without_spaces_are_read_by_character():
    assert terms("門票十二歐元") == list("門票十二歐元")


def test_a_long_sentence_is_cut_into_equal_parts_without_losing_a_word():
    sentence = " ".join(f"w{n}" for n in range(100))
    parts = pieces(sentence)
    assert [len(part.split()) for part in parts] == [34, 34, 32]
    assert " ".join(parts) == sentence
    assert pieces("Short enough.") == ["Short enough."]
