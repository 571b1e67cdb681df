"""Compound sentences become the statements they make, with exact offsets; what words alone don't tell stays whole."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enricher.grounding.splitting import split_statements


def texts(sentence):
    return [statement.text for statement in split_statements(sentence)]


@pytest.mark.parametrize(
    ("sentence", "statements"),
    [
        (
            "The monthly rent is 900 EUR and the deposit is 2,700 EUR.",
            ["The monthly rent is 900 EUR", "the deposit is 2,700 EUR."],
        ),
        (
            "Anna founded the company in 1999 and sold it in 2005.",
            ["Anna founded the company in 1999", "Anna sold it in 2005."],
        ),
        (
            "The laptop weighs 1.2 kg and has a battery life of 12 hours.",
            ["The laptop weighs 1.2 kg", "The laptop has a battery life of 12 hours."],
        ),
        (
            "The tenant must pay the rent monthly and return the keys at the end.",
            ["The tenant must pay the rent monthly", "The tenant must return the keys at the end."],
        ),
        (
            "The data is stored in Frankfurt and deleted after 30 days.",
            ["The data is stored in Frankfurt", "The data is deleted after 30 days."],
        ),
        (
            "The company was founded in 1990 and acquired Beta in 2005.",
            ["The company was founded in 1990", "The company acquired Beta in 2005."],
        ),
        (
            "She was born in Oslo in 1977 and moved to Rome in 1990.",
            ["She was born in Oslo in 1977", "She moved to Rome in 1990."],
        ),
        (
            "He was born in Frankfurt, Germany, and moved to Chicago in 1929.",
            ["He was born in Frankfurt, Germany", "He moved to Chicago in 1929."],
        ),
        (
            "The insurance does not cover theft and requires a police report.",
            ["The insurance does not cover theft", "The insurance requires a police report."],
        ),
        (
            "The fee is 5 EUR per month, while the setup costs 20 EUR.",
            ["The fee is 5 EUR per month", "the setup costs 20 EUR."],
        ),
        (
            "The app runs on phones; it requires iOS 15.",
            ["The app runs on phones", "it requires iOS 15."],
        ),
        (
            "The documents do not mention a fee, but the rent is 950 EUR.",
            ["The documents do not mention a fee", "the rent is 950 EUR."],
        ),
    ],
)
def test_joined_statements_are_taken_apart(sentence, statements):
    assert texts(sentence) == statements


@pytest.mark.parametrize(
    ("sentence", "statements"),
    [
        (
            "In 2019, Anna founded Acme and Ben founded Beta.",
            ["In 2019, Anna founded Acme", "In 2019, Ben founded Beta."],
        ),
        (
            "If you cancel late, a fee applies and the deposit is kept.",
            ["If you cancel late, a fee applies", "If you cancel late, the deposit is kept."],
        ),
        (
            "In 2013, he signed for Inter and he has since become the captain.",
            ["In 2013, he signed for Inter", "he has since become the captain."],
        ),
    ],
)
def test_what_opens_a_sentence_holds_for_all_of_it(sentence, statements):
    assert texts(sentence) == statements


@pytest.mark.parametrize(
    ("sentence", "statements"),
    [
        (
            "The contract, which was signed in 2019, expires in 2024.",
            ["The contract expires in 2024.", "The contract was signed in 2019"],
        ),
        ("She joined Acme, which was founded in 1990.", ["She joined Acme", "Acme was founded in 1990."]),
        (
            "The policy covers theft, fire and flood.",
            ["The policy covers theft", "The policy covers fire", "The policy covers flood"],
        ),
        (
            "The kit includes a charger, a cable, and a manual.",
            ["The kit includes a charger", "The kit includes a cable", "The kit includes a manual"],
        ),
    ],
)
def test_asides_and_lists_are_statements_too(sentence, statements):
    assert texts(sentence) == statements


@pytest.mark.parametrize(
    ("sentence", "statements"),
    [
        (
            "Die Miete beträgt 900 Euro und die Kaution beträgt 2.700 Euro.",
            ["Die Miete beträgt 900 Euro", "die Kaution beträgt 2.700 Euro."],
        ),
        (
            "Le loyer est de 900 euros et la caution est de 2 700 euros.",
            ["Le loyer est de 900 euros", "la caution est de 2 700 euros."],
        ),
        (
            "El alquiler es de 900 euros y la fianza es de 2.700 euros.",
            ["El alquiler es de 900 euros", "la fianza es de 2.700 euros."],
        ),
        ("賃料は月額9万円で、敷金は27万円です。", ["賃料は月額9万円で", "敷金は27万円です。"]),
        ("月租金为900欧元，押金为2700欧元。", ["月租金为900欧元", "押金为2700欧元。"]),
    ],
)
def test_full_clauses_of_other_languages_are_taken_apart(sentence, statements):
    assert texts(sentence) == statements


@pytest.mark.parametrize(
    "sentence",
    [
        "The offices in Berlin and Paris are closed.",
        "She said the offices in Berlin and Madrid are closed.",
        "Rent and deposit are due on 1 May.",
        "He denied that the rent is 900 EUR and the deposit is 2,700 EUR.",
        "The tenant must not smoke and keep pets in the flat.",
        "The tenant named in the lease and the landlord are liable.",
        "Employees may work remotely and contractors may work on site if the manager agrees.",
        "The price is between 5 and 10 EUR.",
        "Terms and conditions apply.",
        "Prices rose by 5%, which led to protests.",
        "White recorded and produced the album.",
        "Simulink uses solvers to compute the inputs, outputs, and states of a model.",
        "Paul Kruger was the president of the republic and a leader who fought in the war.",
        "Southwest charges no fees, while others do.",
        'He wrote "the rent is low and the deposit is high" in a letter.',
        "Wenn der Mieter kündigt, endet der Vertrag und die Kaution wird erstattet.",
        "Der Vermieter sagt, dass die Miete 900 Euro beträgt und die Kaution entfällt.",
        "解約する場合は、3か月前までに通知し、違約金を支払います。",
        "如果提前解约，押金为2700欧元，租金为900欧元。",
        "Chen was born and raised in New York.",
        "Kang acted in the films Rough Cut and My Girlfriend Is an Agent.",
        "Include vegetables like peppers, beans and broccoli.",
        "She supports several charities, including the Schoolyard Project and the Defense Council.",
        "It was announced Castro had been cast as Marco and that Monáe had been cast as Peg.",
        "Hello!",
        "",
    ],
)
def test_what_is_not_plainly_two_statements_stays_whole(sentence):
    (statement,) = split_statements(sentence)
    assert statement == (0, len(sentence), sentence)


WORDS = """the a rent deposit is are was covers and , ; but which who Anna Acme 900 EUR in 2019 not may must theft fire
it und die Miete beträgt et le loyer est 、 は 为 ， ( ) " If unless sold includes"""


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(WORDS.split()), max_size=25).map(" ".join) | st.text(max_size=60))
def test_whatever_the_words_offsets_stay_within_the_text_and_hold_the_end_of_each_statement(text):
    statements = split_statements(text)
    assert statements
    for statement in statements:
        assert 0 <= statement.start <= statement.end <= len(text)
        own = text[statement.start : statement.end].strip(" .;,")
        assert statement.text.strip(" .;,").split()[-1:] == own.split()[-1:]
