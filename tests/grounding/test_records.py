"""Documents that are JSON, Python literals, tables or key-value lines: read as statements, quoted as they stand."""

import json

import pytest

from enricher.grounding.engine import ground
from enricher.grounding.hours import read_told
from enricher.grounding.statements import statements
from enricher.grounding.structure import read_structure
from enricher.verdict import AlignmentStatus
from tests.grounding.items import split

DINER = {
    "name": "Copper Kettle Diner",
    "address": "812 Alder Street, Suite 4",
    "city": "Goleta",
    "state": "CA",
    "categories": "Diners, Breakfast & Brunch, Restaurants",
    "hours": {
        "Monday": "0:0-0:0",
        "Tuesday": "7:0-15:0",
        "Wednesday": "7:0-15:0",
        "Friday": "7:0-21:30",
        "Saturday": "8:0-21:30",
        "Sunday": "8:0-14:0",
    },
    "attributes": {
        "BusinessParking": {"garage": False, "street": True, "validated": False, "lot": True, "valet": False},
        "RestaurantsReservations": False,
        "OutdoorSeating": True,
        "WiFi": "no",
        "RestaurantsTakeOut": True,
        "RestaurantsGoodForGroups": True,
        "HasTV": None,
        "Music": {"live": True, "dj": False, "no_music": None},
        "Ambience": {"romantic": False, "upscale": False, "classy": None, "casual": True},
    },
    "business_stars": 3.5,
    "review_info": [
        {
            "review_stars": 5.0,
            "review_date": "2021-05-04 18:22:01",
            "review_text": "Best pancakes in town! The staff remembered our names.\nWe waited ten minutes on a Sunday.",
        },
        {
            "review_stars": 2.0,
            "review_date": "2020-11-12 02:10:44",
            "review_text": "Coffee was cold and the waiter didn't apologize. I \"won't\" be back at this place, ever.",
        },
    ],
}
TRUE = [
    "Copper Kettle Diner is a breakfast and brunch diner at 812 Alder Street, Suite 4 in Goleta, CA.",
    "It is open on Tuesday and Wednesday from 7:00 AM to 3:00 PM and on Friday until 9:30 PM.",
    "On Saturday it opens at 8 AM.",
    "The diner is closed on Mondays.",
    "The diner is closed on Thursdays.",
    "It offers outdoor seating, takeout and is good for groups, but does not accept reservations or offer WiFi.",
    "Street and lot parking are available, while there is no garage or valet parking.",
    "The ambience is casual.",
    "There is no WiFi.",
    "Reservations are not accepted.",
    "Guests can enjoy live music.",
    "It has a rating of 3.5 stars.",
    "The reviews range from 2 to 5 stars.",
    "One reviewer praised the pancakes and gave 5 stars, while another complained about cold coffee.",
    "The record gives no information about a TV.",
]
FALSE = [
    "It is open on Friday from 7 AM to 8 PM.",
    "It is open daily from 7:00 AM to 3:00 PM.",
    "It closes at 4 PM on Sundays.",
    "The diner is closed on Saturdays.",
    "The diner offers free WiFi.",
    "Customers can enjoy WiFi and outdoor seating.",
    "Reservations are accepted.",
    "There is no outdoor seating.",
    "The diner does not offer takeout.",
    "Guests can use the valet parking or the garage.",
    "The ambience is romantic and upscale.",
    "The restaurant is not good for groups.",
    "A DJ performs there.",
    "It has 4.5 stars.",
    "The waiter apologized to the customer.",
]
NOT_GIVEN = [
    "The diner has a TV.",
    "The diner does not have a TV.",
    "The ambience is classy.",
    "It is open seven days a week.",
    "It is open on Thursday from 7 AM to 3 PM.",
    "The diner offers delivery and catering.",
    "Customers loved the ramen.",
]
FORMS = {
    "json": json.dumps(DINER),
    "python": str(DINER),
    "indented, behind a heading": "Structured data:\n" + json.dumps(DINER, indent=2),
}
FEES = "| Group | Fee |\n|---|---|\n| Adults | 8 EUR |\n| Seniors | 5 EUR |"


def statuses(document, answer):
    return [s.alignment_status for s in ground(split(None, [document], answer)).segments if not s.is_omission]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("answer", TRUE)
def test_what_the_record_says_is_supported(form, answer):
    assert statuses(FORMS[form], answer) == [AlignmentStatus.FULLY_SUPPORTED]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("answer", FALSE)
def test_what_the_record_denies_is_contradicted(form, answer):
    assert statuses(FORMS[form], answer) == [AlignmentStatus.CONTRADICTED]


@pytest.mark.parametrize("answer", NOT_GIVEN)
def test_what_the_record_leaves_open_is_neither(answer):
    [status] = statuses(FORMS["json"], answer)
    assert status in (AlignmentStatus.UNSUPPORTED, AlignmentStatus.PARTIALLY_SUPPORTED)


@pytest.mark.parametrize("form", FORMS)
def test_evidence_of_a_record_is_verbatim(form):
    item = split(None, [FORMS[form]], " ".join(TRUE + FALSE))
    quotes = [quote for segment in ground(item).segments for quote in segment.evidence]
    assert len(quotes) > len(TRUE)
    assert all(FORMS[form][quote.start : quote.end] == quote.text for quote in quotes)


def test_the_field_that_decides_is_quoted_and_named():
    [segment] = ground(split(None, [FORMS["json"]], "The diner offers free WiFi.")).segments
    assert segment.evidence[0].text == '"WiFi": "no"'
    assert segment.explanation == 'answer says \'The diner offers free WiFi\', d1 says "WiFi": "no"'


def test_one_wrong_field_makes_a_right_answer_unlikely():
    right = ground(split(None, [FORMS["json"]], " ".join(TRUE[:8]))).faithful_probability
    wrong = ground(split(None, [FORMS["json"]], " ".join([*TRUE[:8], FALSE[4]]))).faithful_probability
    assert right > 0.5 > wrong


@pytest.mark.parametrize(
    ("document", "answer", "status"),
    [
        (FEES, "Seniors pay 5 EUR.", "FULLY_SUPPORTED"),
        (FEES, "Seniors pay 8 EUR.", "CONTRADICTED"),
        ("Plan,Price,Seats\nBasic,9 EUR,1\nTeam,29 EUR,5", "The Team plan costs 29 EUR.", "FULLY_SUPPORTED"),
        ("Plan,Price,Seats\nBasic,9 EUR,1\nTeam,29 EUR,5", "The Team plan costs 39 EUR.", "CONTRADICTED"),
        ("Name: Hotel Lindt\nWiFi: no\nOutdoor pool: yes\nStars: 4", "The hotel has no WiFi.", "FULLY_SUPPORTED"),
        ("Name: Hotel Lindt\nWiFi: no\nOutdoor pool: yes\nStars: 4", "The hotel offers WiFi.", "CONTRADICTED"),
        ("Name: Hotel Lindt\nWiFi: no\nOutdoor pool: yes\nStars: 4", "There is no outdoor pool.", "CONTRADICTED"),
        ('{"sku": "A7", "in_stock": true, "price": 12.5}', "The price is 12.5.", "FULLY_SUPPORTED"),
        ('{"sku": "A7", "refundable": false, "price": 12.5}', "It is refundable.", "CONTRADICTED"),
    ],
)  # fmt: skip
def test_tables_and_lines_are_read_like_records(document, answer, status):
    assert statuses(document, answer) == [AlignmentStatus(status)]


@pytest.mark.parametrize(
    "text",
    [
        "The fee is 8 EUR. Seniors pay less.",
        "He said: {laughs} nothing.",
        "Note: closed today.\nThe museum reopens on Monday, and tickets stay valid until the end of the year.",
        "",
        "[1] See the annex.",
    ],
)
def test_prose_is_no_structure(text):
    assert read_structure(text) is None


@pytest.mark.parametrize("cut", range(20, len(FORMS["json"]), 97))
def test_a_record_that_was_cut_off_is_read_as_far_as_it_goes(cut):
    text = FORMS["json"][:cut]
    structure = read_structure(text)
    for field in structure.fields if structure else ():
        assert json.dumps(field.path[-1]) in text[field.start : field.end]


def test_fields_keep_path_value_and_place():
    text = "{'a': {'b': [1, 'it\\'s', None]}, \"c\": \"x\\ny\"}"
    fields = read_structure(text).fields
    assert [(f.path, f.value) for f in fields] == [
        (("a", "b"), 1.0),
        (("a", "b"), "it's"),
        (("a", "b"), None),
        (("c",), "x\ny"),
    ]
    assert [text[f.value_start : f.value_end] for f in fields] == ["1", "it\\'s", "None", "x\\ny"]


def test_deep_nesting_ends_quietly():
    assert read_structure("[" * 5000 + '"a"' + "]" * 5000) is None


def test_a_field_is_said_in_words_and_a_long_text_in_sentences():
    said = [s.text for s in statements(FORMS["json"], read_structure(FORMS["json"]))]
    assert "parking street: yes" in said
    assert "no parking garage" in said
    assert "hours tuesday: 7:00-15:00" in said
    assert "The staff remembered our names." in said
    assert 'I "won\'t" be back at this place, ever.' in said
    assert not any("tv" in text for text in said)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "Open Monday to Wednesday from 11 AM to 9:30 PM, Friday and Saturday 11am-10pm, Sunday from 11 to 9 PM.",
            [([0, 1, 2], (660, 1290)), ([4, 5], (660, 1320)), ([6], (660, 1260))],
        ),
        ("Open every day from 7:00 AM to 3:00 PM except Monday.", [([1, 2, 3, 4, 5, 6], (420, 900))]),
        ("Every day except Monday from 9:00 to 17:00.", [([1, 2, 3, 4, 5, 6], (540, 1020))]),
        ("It opens at 7am on weekdays and 8am on weekends.", [([0, 1, 2, 3, 4], (420, None))]),
        ("7 AM to 3 PM Tuesday through Thursday, and noon to 9 PM on Saturday.",
         [([1, 2, 3], (420, 900)), ([5], (720, 1260))]),
        ("Open daily from 11:00 to 21:00, except on Sunday when it closes at 20:00.",
         [([0, 1, 2, 3, 4, 5], (660, 1260)), ([6], (None, 1200))]),
        ("Open from Tuesday to Sunday, with hours varying between 7 AM and 9 PM.", []),
        ("She arrived on Monday.", []),
    ],
)  # fmt: skip
def test_opening_hours_are_read_with_their_days(text, told):
    assert [(sorted(one.days), *one.spans) for one in read_told(text)] == told
