"""German, French, Spanish, Portuguese, Japanese, Chinese, Arabic, Hindi: sentences, values, negation, evidence."""

import pytest

from enricher.grounding.engine import ground
from enricher.grounding.reading import read
from enricher.steps.segmentation import split_text
from tests.grounding.items import split

YES, NO, ELSE = "FULLY_SUPPORTED", "CONTRADICTED", "neither"
CASES = {
    "de": (
        "Die Kaution beträgt 2.700 Euro. "
        "Der Vertrag beginnt am 5. "
        "März 2024. "
        "Die Kündigungsfrist beträgt drei Monate. "
        "Haustiere sind nicht erlaubt. "
        "Das Paket wiegt 3,1 kg.",
        [
            ("Die Kaution beträgt 2700 EUR.", YES),
            ("Die Kaution beträgt 2.500 Euro.", NO),
            ("Der Vertrag beginnt am 05.03.2024.", YES),
            ("Der Vertrag beginnt am 6. März 2024.", NO),
            ("Die Kündigungsfrist beträgt 3 Monate.", YES),
            ("Die Kündigungsfrist beträgt einen Monat.", NO),
            ("Haustiere sind erlaubt.", NO),
            ("Das Paket wiegt 3,5 kg.", NO),
            ("Das Paket wiegt 3100 g.", YES),
            ("Der Aufzug ist kaputt.", ELSE),
        ],
    ),
    "fr": (
        "Le dépôt de garantie est de 2 700 euros. "
        "Le contrat commence le 5 mars 2024. "
        "Le préavis est de trois mois. "
        "Les animaux ne sont pas autorisés. "
        "Le colis pèse 3,1 kg.",
        [
            ("Le dépôt de garantie est de 2700 €.", YES),
            ("Le dépôt de garantie est de 2 500 euros.", NO),
            ("Le contrat commence le 05/03/2024.", YES),
            ("Le contrat commence le 6 mars 2024.", NO),
            ("Le préavis est de 3 mois.", YES),
            ("Le préavis est d'un mois.", NO),
            ("Les animaux sont autorisés.", NO),
            ("Le colis pèse 3,5 kg.", NO),
            ("Le colis pèse 3100 g.", YES),
            ("L'ascenseur est en panne.", ELSE),
        ],
    ),
    "es": (
        "La fianza es de 2.700 euros. "
        "El contrato empieza el 5 de marzo de 2024. "
        "El preaviso es de tres meses. "
        "No se permiten mascotas. "
        "El paquete pesa 3,1 kg.",
        [
            ("La fianza es de 2700 €.", YES),
            ("La fianza es de 2.500 euros.", NO),
            ("El contrato empieza el 05/03/2024.", YES),
            ("El contrato empieza el 6 de marzo de 2024.", NO),
            ("El preaviso es de 3 meses.", YES),
            ("El preaviso es de un mes.", NO),
            ("Se permiten mascotas.", NO),
            ("El paquete pesa 3,5 kg.", NO),
            ("El paquete pesa 3100 g.", YES),
            ("El ascensor está averiado.", ELSE),
        ],
    ),
    "pt": (
        "A caução é de 2.700 euros. "
        "O contrato começa em 5 de março de 2024. "
        "O aviso prévio é de três meses. "
        "Não são permitidos animais. "
        "A encomenda pesa 3,1 kg.",
        [
            ("A caução é de 2700 €.", YES),
            ("A caução é de 2.500 euros.", NO),
            ("O contrato começa em 05/03/2024.", YES),
            ("O contrato começa em 6 de março de 2024.", NO),
            ("O aviso prévio é de 3 meses.", YES),
            ("O aviso prévio é de um mês.", NO),
            ("São permitidos animais.", NO),
            ("A encomenda pesa 3,5 kg.", NO),
            ("A encomenda pesa 3100 g.", YES),
            ("O elevador está avariado.", ELSE),
        ],
    ),
    "ja": (
        "敷金は27万円です。契約は2024年3月5日に始まります。解約予告期間は三か月です。ペットは飼えません。荷物の重さは3.1kgです。",
        [
            ("敷金は270,000円です。", YES),
            ("敷金は30万円です。", NO),
            ("契約は2024年3月5日に始まります。", YES),
            ("契約は2024年3月6日に始まります。", NO),
            ("解約予告期間は3か月です。", YES),
            ("解約予告期間は1か月です。", NO),
            ("ペットは飼えます。", NO),
            ("荷物の重さは3.5kgです。", NO),
            ("荷物の重さは3100gです。", YES),
            ("エレベーターは故障中です。", ELSE),
        ],
    ),
    "zh": (
        "押金为2700欧元。合同从2024年3月5日开始。通知期为三个月。不允许养宠物。包裹重3.1公斤。",
        [
            ("押金为2,700欧元。", YES),
            ("押金为2500欧元。", NO),
            ("合同从2024-03-05开始。", YES),
            ("合同从2024年3月6日开始。", NO),
            ("通知期为3个月。", YES),
            ("通知期为一个月。", NO),
            ("允许养宠物。", NO),
            ("包裹重3.5公斤。", NO),
            ("包裹重3.1kg。", YES),
            ("电梯坏了。", ELSE),
        ],
    ),
    "ar": (
        "مبلغ التأمين 2700 يورو. "
        "يبدأ العقد في 5 مارس 2024. "
        "مدة الإشعار ثلاثة أشهر. "
        "لا يسمح بالحيوانات الأليفة. "
        "وزن الطرد 3.1 كجم.",
        [
            ("مبلغ التأمين ٢٧٠٠ يورو.", YES),
            ("مبلغ التأمين 2500 يورو.", NO),
            ("يبدأ العقد في ٥ مارس ٢٠٢٤.", YES),
            ("يبدأ العقد في 6 مارس 2024.", NO),
            ("مدة الإشعار 3 أشهر.", YES),
            ("مدة الإشعار شهر واحد.", NO),
            ("يسمح بالحيوانات الأليفة.", NO),
            ("وزن الطرد 3.5 كجم.", NO),
            ("المصعد معطل.", ELSE),
        ],
    ),
    "hi": (
        "जमा राशि 2700 यूरो है। "
        "अनुबंध 5 मार्च 2024 से शुरू होता है। "
        "सूचना अवधि तीन महीने है। "
        "पालतू जानवरों की अनुमति नहीं है। "
        "पैकेज का वजन 3.1 किलो है।",
        [
            ("जमा राशि २७०० यूरो है।", YES),
            ("जमा राशि 2500 यूरो है।", NO),
            ("अनुबंध 5 मार्च 2024 से शुरू होता है।", YES),
            ("अनुबंध 6 मार्च 2024 से शुरू होता है।", NO),
            ("सूचना अवधि 3 महीने है।", YES),
            ("सूचना अवधि एक महीने है।", NO),
            ("पालतू जानवरों की अनुमति है।", NO),
            ("पैकेज का वजन 3.5 किलो है।", NO),
            ("लिफ्ट खराब है।", ELSE),
        ],
    ),
}


def judged(document, answer, question=None):
    [segment] = [s for s in ground(split(question, [document], answer)).segments if not s.is_omission]
    return segment


@pytest.mark.parametrize("language", CASES)
def test_sentences_end_where_the_language_ends_them(language):
    assert len(split_text(CASES[language][0])) == 5


@pytest.mark.parametrize("language", CASES)
def test_the_language_is_told_by_its_script_or_function_words(language):
    told = [read(sentence.text).language for sentence in split_text(CASES[language][0])]
    assert told.count(language) >= 3


@pytest.mark.parametrize(
    ("language", "answer", "status"),
    [(language, *case) for language, (_, cases) in CASES.items() for case in cases],
)
def test_a_statement_is_judged_in_its_language(language, answer, status):
    segment = judged(CASES[language][0], answer)
    found = str(segment.alignment_status)
    assert found == status if status != ELSE else found in ("UNSUPPORTED", "PARTIALLY_SUPPORTED")
    text = CASES[language][0]
    assert all(text[quote.start : quote.end] == quote.text for quote in segment.evidence)


@pytest.mark.parametrize(
    ("text", "dimension", "values"),
    [
        ("敷金は27万円です。", "money:JPY", (270_000.0,)),
        ("人口は1億2千万人です。", "count", (120_000_000.0,)),
        ("荷物の重さは3.1kgです。", "mass", (3.1,)),
        ("押金为2700欧元。", "money:EUR", (2700.0,)),
        ("价格是30美元。", "money:USD", (30.0,)),
        ("Le délai est d'un mois.", "months", (1.0,)),
        ("O prazo é de duas semanas.", "duration", (14.0,)),
        ("المدة ثلاثة أشهر.", "months", (3.0,)),
        ("المدة شهر واحد.", "months", (1.0,)),
        ("السعر ٢٥٠٠ دولار.", "money:$", (2500.0,)),
        ("家賃は3万5千円です。", "money:JPY", (35_000.0,)),
        ("अवधि तीन महीने है।", "months", (3.0,)),
        ("दूरी 12 किलोमीटर है।", "length", (12_000.0,)),
        ("Clause 12.3 applies.", "label:clause", (12.0,)),
        ("Section 4.2.1(b) applies.", "label:section", (4.0,)),
    ],
)
def test_values_are_read_in_their_script(text, dimension, values):
    [quantity, *_] = read(text).quantities
    assert quantity.dimension == dimension
    assert quantity.values == pytest.approx(values)


@pytest.mark.parametrize(
    ("document", "answer", "status"),
    [
        ("Termination is governed by clause 12.3.", "Termination is governed by clause 12.4.", NO),
        ("Termination is governed by clause 12.10.", "Termination is governed by clause 12.1.", NO),
        ("Termination is governed by section 4.2.1.", "Termination is governed by section 4.2.2.", NO),
        ("Termination is governed by section 4.2.1.", "Termination is governed by section 4.2.1.", YES),
        ("Termination is governed by section 4.2(b).", "Termination is governed by section 4.2.", YES),
        ("Clause 12.3 governs termination. Clause 12.4 governs renewal.", "Clause 12.4 governs termination.", NO),
        ("Clause 12.3 governs termination. Clause 12.4 governs renewal.", "Clause 12.4 governs renewal.", YES),
        ("The rate rose to 12.4 percent.", "The rate rose to 12 percent.", YES),
    ],
)
def test_numbers_of_clauses_are_names_and_never_rounded(document, answer, status):
    assert str(judged(document, answer).alignment_status) == status


def test_what_may_be_done_is_not_another_thing_that_may_be_done():
    document = "Tenants may insure their pets. Pets are not allowed in the flat."
    assert str(judged(document, "Tenants may keep pets.").alignment_status) != YES
    assert str(judged(document, "Tenants may insure their pets.").alignment_status) == YES


RENT = "The rent is 900 EUR."


@pytest.mark.parametrize(
    ("document", "answer", "status"),
    [
        (RENT, "The documents do not mention a deposit, but the rent is 950 EUR.", NO),
        (RENT, "The documents do not mention a deposit, but the rent is 900 EUR.", YES),
        (RENT, "There is no information about a deposit; however, the rent is 950 EUR.", NO),
        (RENT, "Although the documents do not mention a deposit, the rent is 950 EUR.", NO),
        (RENT, "The rent is 950 EUR, but the documents do not mention a deposit.", NO),
        (RENT, "The documents do not mention a deposit, but the flat has a sauna.", "PARTIALLY_SUPPORTED"),
        (
            "Die Miete beträgt 900 Euro.",
            "Die Dokumente nennen keine Kaution, aber die Miete beträgt 950 Euro.",
            NO,
        ),
        ("The deposit is 900 EUR.", "The documents do not mention a deposit, but the rent is low.", NO),
    ],
)
def test_what_stands_beside_a_statement_of_absence_is_judged_too(document, answer, status):
    segment = judged(document, answer)
    assert str(segment.alignment_status) == status


ACROSS = [
    ("Die Kündigungsfrist beträgt drei Monate.", "The notice period is three months.", YES),
    ("Die Kündigungsfrist beträgt drei Monate.", "The notice period is one month.", NO),
    ("押金为2700欧元。", "The deposit is 2,700 euros.", YES),
    ("押金为2700欧元。", "The deposit is 2,500 euros.", NO),
    ("契約は2024年3月5日に始まります。", "The contract starts on 5 March 2024.", YES),
    ("مدة الإشعار ثلاثة أشهر.", "The notice period is 3 months.", YES),
    ("सूचना अवधि तीन महीने है।", "The notice period is one month.", NO),
    ("The deposit is 2,700 euros.", "La fianza es de 2.500 euros.", NO),
    ("押金为2700欧元。", "The lift is out of order.", ELSE),
]


@pytest.mark.parametrize(("document", "answer", "status"), ACROSS)
def test_across_languages_values_decide_and_the_probability_keeps_to_the_middle(document, answer, status):
    grounding = ground(split(None, [document], answer))
    [segment] = grounding.segments
    found = str(segment.alignment_status)
    assert found == status if status != ELSE else found in ("UNSUPPORTED", "PARTIALLY_SUPPORTED")
    assert {"cross_lingual", "low_confidence"} <= set(segment.flags)
    assert 0.25 < segment.score < 0.75
    assert 0.25 < grounding.faithful_probability < 0.75
    assert (grounding.faithful_probability > 0.5) == (status == YES)


@pytest.mark.parametrize(
    ("language", "is_weak"), [("de", False), ("fr", False), ("ja", True), ("ar", True), ("hi", True)]
)
def test_a_language_that_the_engine_knows_little_of_is_named_and_lowers_its_confidence(language, is_weak):
    document, cases = CASES[language]
    right, wrong = (
        judged(document, next(answer for answer, status in cases if status == wanted)) for wanted in (YES, NO)
    )
    assert ("weak_language" in right.flags) is is_weak
    assert (right.score < 0.82) is is_weak
    assert (wrong.score > 0.27) is is_weak
    assert right.score > 0.5 > wrong.score


def test_an_address_on_the_web_is_written_in_no_language():
    document = "[1] https://www.example.com/guilds\n[2] https://www.example.org/trade-e-history.htm"
    [segment] = ground(split(None, [document], "Guilds set the prices of bread.")).segments
    assert "cross_lingual" not in segment.flags
    assert str(segment.alignment_status) == "UNSUPPORTED"
