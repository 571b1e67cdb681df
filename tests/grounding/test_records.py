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
CAFE = {
    "name": "Blue Heron Cafe",
    "address": "1400 State St",
    "city": "Santa Barbara",
    "state": "CA",
    "categories": "Cafes, Coffee & Tea, American (New), Restaurants, Food",
    "hours": {
        "Monday": "6:30-17:0",
        "Tuesday": "6:30-17:0",
        "Wednesday": "6:30-17:0",
        "Thursday": "6:30-17:0",
        "Friday": "6:30-17:0",
        "Saturday": "7:0-18:0",
        "Sunday": "7:0-18:0",
    },
    "attributes": {
        "BusinessParking": {"garage": True, "street": True, "validated": False, "lot": True, "valet": False},
        "RestaurantsReservations": False,
        "OutdoorSeating": True,
        "WiFi": "free",
        "RestaurantsTakeOut": True,
        "RestaurantsGoodForGroups": False,
        "Music": None,
        "Ambience": {
            "touristy": False,
            "hipster": False,
            "romantic": False,
            "divey": False,
            "intimate": False,
            "trendy": False,
            "upscale": False,
            "classy": False,
            "casual": True,
        },
    },
    "business_stars": 4.0,
    "review_info": [
        {
            "review_stars": 5.0,
            "review_date": "2021-12-04 20:00:12",
            "review_text": "Love this little spot! The lattes are perfect and the avocado toast is huge. Staff "
            "always greet you with a smile, and the patio is dog friendly.",
        },
        {
            "review_stars": 3.0,
            "review_date": "2021-10-01 01:11:00",
            "review_text": "Decent coffee but the line was long and they got my order wrong. Prices are a bit "
            "steep for what you get. Might try again on a weekday.",
        },
        {
            "review_stars": 4.0,
            "review_date": "2021-09-12 03:44:00",
            "review_text": "Good place to work, plenty of outlets and fast internet. The breakfast burrito was "
            "tasty although a little small.",
        },
    ],
}
OF_THE_CAFE = [
    "Blue Heron Cafe is a popular cafe and restaurant located at 1400 State St in Santa Barbara, California.",
    "The establishment offers a variety of food and drinks, including coffee, tea and new American cuisine.",
    "The cafe has an overall business rating of 4.0 stars.",
    "It operates Monday through Friday from 6:30 AM to 5:00 PM and on weekends from 7:00 AM to 6:00 PM.",
    "The cafe is open from 6:30 AM to 5 PM on weekdays and 7 AM to 6 PM on Saturdays and Sundays.",
    "It is open seven days a week.",
    "Its hours are 6:30am-5pm on weekdays, and 7am-6pm on weekends.",
    "The business provides several amenities such as free WiFi, outdoor seating, and takeout options.",
    "It offers multiple parking options, including a garage, street parking and a lot, but no valet parking.",
    "However, it does not accept reservations and is not suitable for groups.",
    "The ambience is casual, with no touristy, hipster, romantic, divey, intimate, trendy, upscale, or classy vibe.",
    "The ambience is described as casual rather than romantic or upscale.",
    "Customers have praised the lattes, the avocado toast, and the friendly staff.",
    "Some customers complained about long lines, wrong orders, and steep prices.",
    "One customer gave the cafe a 3-star review, citing a long line and an incorrect order.",
    "Another reviewer, who gave 4 stars, found it a good place to work with plenty of outlets and fast internet.",
    "The patio is dog-friendly.",
    "Overall, the cafe receives positive reviews for its coffee and food.",
    "Based on customer reviews, Blue Heron Cafe offers perfect lattes and a huge avocado toast.",
    "Parking is available in a garage, on the street, or in a lot.",
    "There is no valet parking.",
    "Guests can enjoy their coffee on the outdoor patio.",
]
NOT_OF_THE_CAFE = [
    "Blue Heron Cafe is a highly-rated Italian restaurant in Santa Barbara.",
    "The cafe is open until 9 PM on Fridays.",
    "The cafe is closed on Sundays.",
    "It opens at 6:30 AM every day.",
    "The cafe takes reservations and is good for groups.",
    "WiFi is not available.",
    "Valet parking is available for guests.",
    "The ambience is hipster and trendy.",
    "It does not have a parking lot.",
    "Live music is offered on weekends.",
    "Reviewers praised the pizza and the fast service.",
    "The cafe has a 4.5-star rating.",
    "The breakfast burrito was huge according to one reviewer.",
    "It offers delivery and catering services.",
    "Some customers complained about the cold coffee and rude staff.",
    "The business is wheelchair accessible and accepts credit cards.",
]
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


def test_sentences_as_models_write_them_are_mostly_judged_right():
    """A second business, 38 sentences in the words of an overview; balanced accuracy of "fully supported"."""
    document = json.dumps(CAFE)
    held = [statuses(document, answer) == [AlignmentStatus.FULLY_SUPPORTED] for answer in OF_THE_CAFE]
    missed = [statuses(document, answer) == [AlignmentStatus.FULLY_SUPPORTED] for answer in NOT_OF_THE_CAFE]
    assert (sum(held) / len(held) + 1 - sum(missed) / len(missed)) / 2 >= 0.9


def test_an_overview_is_likelier_faithful_than_one_with_a_wrong_sentence():
    document, right = json.dumps(CAFE), " ".join(OF_THE_CAFE[:12])
    assert ground(split(None, [document], right)).faithful_probability > 0.5
    for wrong in NOT_OF_THE_CAFE[1:9]:
        assert ground(split(None, [document], f"{right} {wrong}")).faithful_probability < 0.5
