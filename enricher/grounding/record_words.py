"""The words with which people speak of the fields of records, above all of those that describe businesses."""

from enricher.grounding.lexicon import word_set
from enricher.grounding.tokens import key_of

# Words of keys that don't tell one field from another.
EMPTY = word_set("by for good is has have accepts accept allowed allows offers offer available takes type level the of")
# Other ways to say what a key says: the key's words in the order of the key, then the pattern.
SAID_AS = {
    "outdoor seating": r"outdoor (?:seating|dining|tables|seats|area)|outside seating|patio|terrace|al fresco",
    "take out": r"take-?\s?(?:out|away)s?\b|carry-?\s?out|to-go\b",
    "reservations": r"reservations?\b|book(?:ing)? (?:a |of )?tables?",
    "delivery": r"deliver(?:y|ies|s)?\b",
    "wifi": r"wi-?\s?fi|wireless internet|internet access",
    "tv": r"tvs?\b|televisions?",
    "kids": r"kids?\b|children|famil(?:y|ies)\b",
    "groups": r"(?:large |big )?(?:groups?|parties)\b",
    "credit cards": r"credit cards?|card payments?",
    "dogs": r"dogs?\b|pets?\b|(?:dog|pet)-friendly",
    "wheelchair accessible": r"wheelchairs?|accessible",
    "caters": r"cater(?:s|ing)?\b",
    "table service": r"table service|waiter service",
    "happy hour": r"happy hours?",
    "music": r"(?:live )?music\b",
    "alcohol": r"alcohol(?:ic)?\b|liquor|full bar",
    "garage": r"garages?\b",
    "lot": r"(?:parking |private |own |dedicated )?lots?\b",
    "street": r"(?:on-?)?street(?= parking)|(?:on|along|in) the street|street\b",
    "valet": r"valets?\b",
    "validated": r"validat(?:ed|ion)\b",
}
# What must be spoken of before one of several yes-or-no fields under one key is meant.
SETTINGS = {
    "parking": r"\bpark",
    "ambience": r"\b(?:ambi[ea]nce|atmosphere|vibe|setting|environment|feel|mood|d[eé]cor)\b"
    r"|\b(?:restaurant|place|spot|business|establishment|diner|bar|caf[eé]|it)\b[^.]*\bis\b",
    "meal": r"\b(?:meals?|good for)\b",
}
# Words of the names of states, with how records write them.
_STATE_TABLE = """
alabama al|alaska ak|arizona az|arkansas ar|california ca|colorado co|connecticut ct|delaware de|florida fl|georgia ga
|hawaii hi|idaho id|illinois il|indiana in|iowa ia|kansas ks|kentucky ky|louisiana la|maine me|maryland md
|massachusetts ma|michigan mi|minnesota mn|mississippi ms|missouri mo|montana mt|nebraska ne|nevada nv|hampshire nh
|jersey nj|mexico nm|york ny|carolina nc sc|dakota nd sd|ohio oh|oklahoma ok|oregon or|pennsylvania pa|rhode ri
|island ri|tennessee tn|texas tx|utah ut|vermont vt|virginia va wv|washington wa|wisconsin wi|wyoming wy|alberta ab
"""
STATES = {key_of(entry.split()[0]): tuple(entry.split()[1:]) for entry in _STATE_TABLE.split("|")}
# Words with which anybody describes any business; records have no word for them.
GENERIC = frozenset(
    map(
        key_of,
        word_set(
            """
            business restaurant establishment place venue eatery spot shop store company location customer customers
            guest guests visitor visitors patron patrons diner diners reviewer reviewers people offer offers provide
            provides available feature features include includes option options amenity amenities service services
            accept accepts allow operate operates operating open opens hours daily weekdays weekends schedule rating
            ratings rated star stars average overall receive received review reviews mention mentioned mentions note
            noted praise praised highlight highlighted mix mixed positive negative experience feedback enjoy located
            situated serve serves serving cuisine dining variety various including also well additionally furthermore
            addition atmosphere ambience setting choice popular known overview local found describe described
            specialize specializes category categories express expressed opinion complain complained appreciate
            appreciated recommend recommended another one some several despite record data
            information give gives given suitable ideal vibe environment
            """
        ),
    )
)
