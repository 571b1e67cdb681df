"""Personal data in texts: what is found, how it is known again, and what is left alone."""

import time

import pytest

from enricher.steps.personal import KINDS, find, is_luhn, same_phone


def _found(text: str, kinds=KINDS) -> list[tuple[str, str]]:
    """Return what is found, without what lies inside something found before."""
    taken: list[tuple[int, int, str]] = []
    for hit in find(text, kinds):
        if all(hit.end <= start or hit.start >= end for start, end, _ in taken):
            taken.append((hit.start, hit.end, hit.kind))
    return [(kind, text[start:end]) for start, end, kind in sorted(taken)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Write to Jane.Doe+x@mail.example.co.uk, please.", "email", "jane.doe+x@mail.example.co.uk"),
        ("a@b.co", "email", "a@b.co"),
        ("jane (at) example (dot) com", "email", "jane@example.com"),
        ("jane\u200b.doe@example.com", "email", "jane.doe@example.com"),
        ("jane&#64;example.com", "email", "jane@example.com"),
        ("jürgen.groß@exämple.de", "email", "jürgen.gross@exämple.de"),
        ("Card 4111 1111 1111 1111 12/27", "card", "4111111111111111"),
        ("row 1: 5500-0000-0000-0004", "card", "5500000000000004"),
        ("378282246310005", "card", "378282246310005"),
        ("IBAN DE89 3704 0044 0532 0130 00 and more", "iban", "DE89370400440532013000"),
        ("de89370400440532013000", "iban", "DE89370400440532013000"),
        ("GB82 WEST 1234 5698 7654 32", "iban", "GB82WEST12345698765432"),
        ("SSN 123-45-6789", "national_id", "123456789"),
        ("SSN: 123456789", "national_id", "123456789"),
        ("NINO AB 12 34 56 C", "national_id", "AB123456C"),
        ("Steuer-ID 86095742719", "national_id", "86095742719"),
        ("2 55 08 14 168 025 38", "national_id", "255081416802538"),
        ("DNI 12345678Z", "national_id", "12345678Z"),
        ("NIE X1234567L", "national_id", "X1234567L"),
        ("RSSMRA85T10A562S", "national_id", "RSSMRA85T10A562S"),
        ("PESEL 44051401359", "national_id", "44051401359"),
        ("811218-9876", "national_id", "8112189876"),
        ("CPF 529.982.247-25", "national_id", "52998224725"),
        ("85.07.30-033.28", "national_id", "85073003328"),
        ("756.9217.0769.85", "national_id", "7569217076985"),
        ("11010519491231002X", "national_id", "11010519491231002X"),
        ("Aadhaar 2341 2341 2346", "national_id", "234123412346"),
        ("PAN ABCPE1234F", "national_id", "ABCPE1234F"),
        ("SIN 046-454-286", "national_id", "046454286"),
        ("BSN: 111222333", "national_id", "111222333"),
        ("Passport number C01X00T47", "national_id", "C01X00T47"),
        ("+49 170 1234567", "phone", "+491701234567"),
        ("+49 (0)170 1234567.", "phone", "+491701234567"),
        ("0049 30 901820", "phone", "+4930901820"),
        ("＋49 170 1234567", "phone", "+491701234567"),
        ("(555) 123-4567", "phone", "5551234567"),
        ("1-800-555-0199", "phone", "18005550199"),
        ("030/1234567", "phone", "0301234567"),
        ("020 7946 0018", "phone", "02079460018"),
        ("01 23 45 67 89", "phone", "0123456789"),
        ("tel: 5551234567", "phone", "5551234567"),
        ("call us at 555-1234", "phone", "5551234"),
    ],
)
def test_personal_data_is_found_however_it_is_written(text, kind, value):
    assert value in [hit.value for hit in find(text, (kind,))]


@pytest.mark.parametrize(
    "text",
    [
        "2024-01-15 and 01.02.2024 15:30 and 01-02-2024 10:00",
        "open 0930-1030",
        "pays 1,234,567.89 EUR or 12 345 678 901",
        "version 1.2.3.4567 at 10.0.0.1",
        "order 1700000000000",
        "4111111111111112",
        "ISBN 978-3-16-148410-0",
        "invoice 2024-000123 of section 12.3.4",
        "2024-05-06T17:30:00+00:00",
        "+10.5 percent, +1000000 units",
        "span b7ad6b7169203331",
        "4000123412341234567890",
        "@home, at 5 @ 3",
        "DE88 3704 0044 0532 0130",
    ],
)
def test_ordinary_numbers_stay_readable(text):
    assert _found(text) == []


def test_of_what_overlaps_the_more_certain_kind_counts():
    text = "IBAN DE89 3704 0044 0532 0130 00, card 4111 1111 1111 1111"
    assert _found(text) == [("iban", "DE89 3704 0044 0532 0130 00"), ("card", "4111 1111 1111 1111")]


def test_only_the_kinds_that_are_asked_for_are_found():
    assert _found("jane@example.com, +49 170 1234567", ("phone",)) == [("phone", "+49 170 1234567")]


def test_offsets_are_those_of_the_original_text():
    text = "ﬁrst line\r\n\u200bmail\u00a0jane@example.com\n\nthen +49 170 1234567"
    assert _found(text) == [("email", "jane@example.com"), ("phone", "+49 170 1234567")]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("01701234567", "+491701234567", True),
        ("+15551234567", "5551234567", True),
        ("01701234567", "+491701234568", False),
        ("+4930123456", "+4940123456", False),
        ("030123456", "030123456", True),
    ],
)
def test_a_number_is_known_with_and_without_its_country_code(one, other, expected):
    assert same_phone(one, other) is expected


def test_the_check_digit_of_a_card():
    assert is_luhn("4242424242424242")
    assert not is_luhn("4242424242424241")


@pytest.mark.parametrize("piece", ["a", "1", "1 ", "a@", "+4 ", "0-", "a.b@c.", "DE89 ", "call 1"])
def test_no_text_takes_long(piece):
    started = time.process_time()
    list(find(piece * 20_000, KINDS))
    assert time.process_time() - started < 2.0
