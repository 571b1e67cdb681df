"""Cutting answers and documents into sentences: the segmentation cases, offsets of any text, and what is checkable."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.steps import boilerplate
from enricher.steps.boilerplate import is_boilerplate
from enricher.steps.segmentation import split_item, split_text
from enricher.trace import Document, Item, SpanId, TraceId

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "segmentation.jsonl").read_text(encoding="utf-8").splitlines()
]
# SE-07 also names verdicts; those are asserted with the engine's cases.


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_segmentation_case_is_cut_as_expected(case):
    answer, expected = case["input"]["answer"], case["expected"]
    sentences = split_text(answer)
    texts = [sentence.text for sentence in sentences]
    _assert_must_not(expected.get("must_not", []), answer, sentences)
    _assert_offsets(answer, sentences)
    if "n_segments" in expected:
        assert len(texts) == expected["n_segments"]
    if "segments" in expected and isinstance(expected["segments"][0], str):
        assert texts == expected["segments"]
    if "checkable" in expected:
        assert [s.text for s in sentences if s.is_checkable] == expected["checkable"]
        assert [s.text for s in sentences if not s.is_checkable] == expected["not_checkable"]


def _assert_must_not(rules, answer, sentences):
    for rule in rules:
        match rule:
            case "0 segments":
                assert sentences
            case "1 blob" | "one segment for the whole list":
                assert len(sentences) > 1
            case "bullets dropped for lack of a period":
                assert sum(sentence.is_checkable for sentence in sentences) == answer.count("\n- ")
            case "lost characters":
                assert "".join(s.text for s in sentences).replace(" ", "") == answer.replace(" ", "")
            case _:
                raise AssertionError(f"no assertion for {rule!r}")


def _assert_offsets(text, sentences):
    end = 0
    for sentence in sentences:
        assert text[sentence.start : sentence.end] == sentence.text
        assert sentence.text == sentence.text.strip() != ""
        assert sentence.start >= end
        end = sentence.end


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_nothing_but_white_space_and_list_marks_lies_between_the_sentences(case):
    answer = case["input"]["answer"]
    end = 0
    for sentence in split_text(answer):
        assert answer[end : sentence.start].strip(" \n-") == ""
        end = sentence.end
    assert answer[end:].strip() == ""


PIECES = st.sampled_from(
    [
        "Dr. Ma",
        "e.g. ",
        "z. B. ",
        ". ",
        "! ",
        "?",
        "\n",
        "\n\n",
        "\r\n",
        "- ",
        "1. ",
        "| a | b |",
        "|---|",
        "```",
        "# H",
        "[1]",
        "。",
        "保証",
        "यह है।",
        "نعم؟",
        "👍🏽",
        "é",
        "\u200b",
        "\u2028",
        "\x0b",
        "\x85",
        "> ",
        "No. 3",
        "Jan. 5",
        "…",
        '"',
        "”",
        "(",
        ")",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=30).map("".join)))
def test_the_sentences_of_any_text_are_exact_slices_in_order(text):
    _assert_offsets(text, split_text(text))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=30).map("".join))
def test_no_letter_of_any_text_is_lost(text):
    covered = set()
    for sentence in split_text(text):
        covered.update(range(sentence.start, sentence.end))
    lost = [c for index, c in enumerate(text) if index not in covered and c.isalpha()]
    # Only the letter of a list mark such as "a)" stands outside of a sentence.
    assert all(c.isascii() for c in lost)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Am 3. Mai 2020 begann es. Der 2. Senat tagt.", ["Am 3. Mai 2020 begann es.", "Der 2. Senat tagt."]),
        ("Gem. § 5 Abs. 2 BGB ist es zulässig. Das gilt.", ["Gem. § 5 Abs. 2 BGB ist es zulässig.", "Das gilt."]),
        ("The fee is approx. 5 EUR (excl. VAT). Pay now.", ["The fee is approx. 5 EUR (excl. VAT).", "Pay now."]),
        ("They met at 5 p.m. on Monday. It rained.", ["They met at 5 p.m. on Monday.", "It rained."]),
        ("See Smith v. Jones (9th Cir. 2001). It held.", ["See Smith v. Jones (9th Cir. 2001).", "It held."]),
        ("J. R. R. Tolkien wrote it.", ["J. R. R. Tolkien wrote it."]),
        ("यह पहला वाक्य है। यह दूसरा है।", ["यह पहला वाक्य है।", "यह दूसरा है।"]),
        ("هذه جملة أولى. هذه جملة ثانية.", ["هذه جملة أولى.", "هذه جملة ثانية."]),
        ("这是第一句。这是第二句！", ["这是第一句。", "这是第二句！"]),
    ],
)
def test_abbreviations_and_other_scripts_are_cut_at_sentence_ends_only(text, expected):
    assert [sentence.text for sentence in split_text(text)] == expected


def test_a_citation_belongs_to_the_sentence_before_it():
    texts = [s.text for s in split_text("Entry costs 8 EUR. [1] Lockers cost 2 EUR.[2][3] Closed on Monday.")]
    assert texts == ["Entry costs 8 EUR. [1]", "Lockers cost 2 EUR.[2][3]", "Closed on Monday."]


def test_a_line_wrapped_by_its_writer_goes_on_in_the_next():
    text = "The supplier shall deliver the goods to the agreed place of\ndelivery within ten days.\nReturns are free."
    assert [s.text for s in split_text(text)] == [
        "The supplier shall deliver the goods to the agreed place of\ndelivery within ten days.",
        "Returns are free.",
    ]


def test_numbered_steps_are_sentences_without_their_numbers():
    assert [s.text for s in split_text("1. Open the lid.\n2. Press Start")] == ["Open the lid.", "Press Start"]


@pytest.mark.parametrize(
    "text",
    [
        "Is it open?",
        "¿Está abierto?",
        "営業していますか？",
        "## Opening hours",
        "**Opening hours**",
        "```\nx = 1\n```",
        "Hello Sam!",
        "Thank you for your question.",
        "Let me know if you need anything else!",
        "I hope this helps.",
        "I don't know.",
        "I'm sorry, but I cannot answer that.",
        "The provided context does not contain this information.",
        "Sure!",
        "Sources: https://example.com/a [1]",
        "👍",
    ],
)
def test_what_states_nothing_is_not_checkable(text):
    assert [sentence.is_checkable for sentence in split_text(text)] == [False]


@pytest.mark.parametrize(
    "text",
    [
        "Yes.",
        "Paris",
        "30 days",
        "Hello World was printed by the first version of the program.",
        "The documents do not mention any fee.",
        "I paid 30 EUR.",
        "Thanks to the new engine, fuel use fell by 10 percent.",
        "Dear customers pay 5 EUR.",
    ],
)
def test_what_states_something_is_checkable(text):
    assert [sentence.is_checkable for sentence in split_text(text)] == [True]


def test_an_item_gets_sentences_for_its_answer_and_each_document():
    item = Item(
        trace_id=TraceId("t"),
        question=None,
        documents=(Document(id="a", text="One. Two."), Document(id="b", text="Three.")),
        answer="Four. Five.",
        annotate_span_id=SpanId("s"),
    )
    split = split_item(item)
    assert [s.id for s in split.sentences] == ["s1", "s2"]
    assert [[s.id for s in d.sentences] for d in split.documents] == [["a.s1", "a.s2"], ["b.s1"]]
    assert split.documents[0].sentences[1].text == "Two."


@pytest.mark.parametrize("unit", ["word ", "a. ", ". ", "Mr. ", "[1] ", '"', "- x\n", "|a|\n", "1) "])
def test_no_pattern_takes_more_than_linear_time(unit):
    sentences = split_text(unit * 20_000)
    assert all(s.text for s in sentences)


def test_links_that_follow_one_another_without_a_blank_take_no_longer_than_others():
    assert is_boilerplate("http://a" * 10_000)
    assert not is_boilerplate("http://a" * 10_000 + " says so")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Unable to answer based on the given passages.", False),
        ("Unable to find a cure, doctors gave up.", True),
        ("(Passages 1 & 2)", False),
        ("Here's a summary of the news in 49 words:", False),
        ("Based on the passages, here are the steps to fry chicken:", False),
        ("To soothe a sore, you can try the following remedies:", False),
        ("Therefore, the answer to the question is:", False),
        ("Refunds are impossible in the following cases, which no manager can change:", True),
        ("Here is the fee of 49 EUR: it is due in May.", True),
        ("Sure, I can help you with that!", False),
        ("That's it!", False),
    ],
)
def test_announcements_refusals_and_names_of_sources_state_nothing(sentence, expected):
    # Asked of the sentence alone: at the end of a block, one with a colon is the label of a list in any case.
    assert is_boilerplate(sentence) is not expected


# One for each way in which they begin: a new way needs its beginning in `boilerplate` too.
_NOTHING_STATED = """
Absolutely! | According to the documents: | Afraid I don't know. | Alright. | Answer: | Apologies, I don't know.
As an AI language model, I try. | Based on the context, I don't know. | Be aware: | Bei Fragen gern.
Below are the steps: | Best regards, Ann | Bom dia! | Bonjour! | Bonsoir! | Buenas tardes | Buongiorno! | Certainly!
Cheers | Cher Paul, | Ciao! | Contact us if it fails. | Cordialement | Danke! | Das weiss ich nicht. | Dear Ann,
Documents 1 and 2 | Do not hesitate. | Don't hesitate to ask. | Enjoy! | Estimada Ana, | Excellent question
Excerpt 3 | Feel free to ask. | Following are the fees: | From passages 1 and 2 | Get in touch with us for help.
Given these facts: | Gladly! | Good morning! | Got it. | Gracias | Grazie | Great! | Greetings! | Guten Tag!
Hallo Paul! | Have a nice day! | Hello! | Here are the fees: | Hey! | Hi Ann! | Hola! | Hope this helps.
Hopefully this helps. | https://example.org | I don't know. | I hope that helps. | I apologize.
Ich weiß das leider nicht. | If you have any questions, ask. | I'm not sure. | In summary: | Insufficient data.
Interesting question | Is there anything else? | Je ne sais pas. | Kind regards
Lassen Sie mich wissen, ob es hilft. | Let me know. | Liebe Ana, | Links: https://example.org | Many thanks
Melden Sie sich. | Merci | Mit freundlichen Grüßen | My apologies. | My pleasure. | N'hésitez pas. | N/A | NA
No problem. | No puedo. | Non lo so. | Not specified. | Note: | Não sei. | Obrigado | Of course! | Oi! | OK. | Okay!
Olá! | Our apologies. | Passage 2 | Per the guide: | Please note: | Please let me know. | Quellen:
Reach out any time. | Really sorry, I can't help. | References: | Saludos | Salut! | See passage 3.
Sehr geehrte Frau Kraus, | Sincerely, Ann | So sorry, I don't know. | Sorry. | Sources 1, 2 | Summary: | Sure!
Thank you. | Thanks! | That is all. | That's a good question. | There is no information to answer. | Thx
To summarize: | Unable to answer. | Unclear. | Understood. | Unfortunately, I can't help. | Unknown.
Using the guide: | Very sorry, I can't say. | Vielen Dank! | Warm wishes | Was there anything else? | We apologise.
We're sorry, we can't help. | Weiß ich leider nicht. | Welcome! | What a great question | You are welcome.
Yours sincerely | よろしくお願いします。 | 我不知道。 | - Thanks!
"""


@pytest.mark.parametrize("sentence", [s.strip() for line in _NOTHING_STATED.split("\n") for s in line.split("|") if s])
def test_courtesies_admissions_and_sources_state_nothing(sentence):
    assert is_boilerplate(sentence)


@settings(max_examples=100, deadline=None)
@given(st.from_regex(boilerplate._ANNOUNCEMENTS, fullmatch=True))
def test_what_the_pattern_of_announcements_takes_is_held_against_it(text):
    assert boilerplate._is_announcement(text)
