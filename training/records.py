"""Makes claims about structured records: a record as statements (path: value) and prose that fits it or does not."""

import random
from collections.abc import Iterator

from edits import CONTRADICTED, SUPPORTED, UNSUPPORTED, Claim


def _listed(text: str, mark: str = ",") -> list[str]:
    return text.split(mark)


_NAMES = _listed(
    "Golden Fork,Blue Lagoon,The Old Mill,Casa Verde,Sunrise Inn,Harbor View,Pine Street,Red Lantern,"
    "Northgate,Olive Branch,Maple House,Silver Spoon,Lakeside,Corner Stone,La Paloma,Urban Leaf"
)
_KINDS = {
    "restaurant": _listed(
        "Italian,Mexican,Thai,Seafood,Pizza,Sushi Bars,Burgers,Vegetarian,Breakfast & Brunch,Barbeque,Indian,French"
    ),
    "bar": _listed("Cocktail Bars,Wine Bars,Sports Bars,Pubs,Nightlife,Breweries,Lounges"),
    "cafe": _listed("Coffee & Tea,Bakeries,Sandwiches,Desserts,Ice Cream,Juice Bars"),
    "hotel": _listed("Hotels,Bed & Breakfast,Resorts,Event Planning,Spas"),
    "salon": _listed("Hair Salons,Nail Salons,Day Spas,Barbers,Skin Care"),
    "shop": _listed("Books,Sporting Goods,Electronics,Flowers & Gifts,Bikes,Furniture"),
}  # fmt: skip
_CITIES = _listed(
    "Santa Barbara,Goleta,Portland,Austin,Denver,Tampa,Nashville,Boise,Reno,Tucson,Leeds,Bristol,Toronto,Cork"
)
_STREETS = _listed("Main St,State St,Oak Ave,5th Avenue,Chapala St,Hollister Ave,King Road,Market Square,Station Road")
_DAYS = _listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday", " ")
_FLAGS = {
    "OutdoorSeating": ("has outdoor seating", "does not have outdoor seating", "outdoor seating is available"),
    "RestaurantsTakeOut": ("offers takeout", "does not offer takeout", "customers can order takeout"),
    "RestaurantsDelivery": ("delivers", "does not deliver", "delivery is available"),
    "RestaurantsReservations": ("takes reservations", "does not take reservations", "guests can make reservations"),
    "RestaurantsGoodForGroups": ("is good for groups", "is not suited to groups", "it is suitable for groups"),
    "GoodForKids": ("is good for kids", "is not good for kids", "it is family-friendly and suitable for children"),
    "WheelchairAccessible": ("is wheelchair accessible", "is not wheelchair accessible", "wheelchair users can get in"),
    "BusinessAcceptsCreditCards": ("accepts credit cards", "does not accept credit cards", "you can pay by card"),
    "BikeParking": ("has bike parking", "has no bike parking", "bike parking is provided"),
    "HasTV": ("has a TV", "has no TV", "there is a TV"),
    "DogsAllowed": ("allows dogs", "does not allow dogs", "dogs are welcome"),
    "HappyHour": ("has a happy hour", "has no happy hour", "there is a happy hour"),
    "ByAppointmentOnly": ("works by appointment only", "does not require an appointment", "an appointment is needed"),
    "Caters": ("offers catering", "does not offer catering", "catering is available"),
}  # fmt: skip
_GROUPS = {
    "BusinessParking": (_listed("garage street validated lot valet", " "), "{} parking", "offers {} parking"),
    "Ambience": (
        _listed("romantic intimate classy hipster trendy upscale casual touristy", " "),
        "{} ambience",
        "has a {} atmosphere",
    ),
    "GoodForMeal": (_listed("breakfast brunch lunch dinner latenight", " "), "good for {}", "is a good place for {}"),
    "Music": (_listed("dj live jukebox karaoke background_music", " "), "{} music", "plays {} music"),
}  # fmt: skip
_CHOICES = {
    "WiFi": {"free": "offers free WiFi", "paid": "offers WiFi for a fee", "no": "has no WiFi"},
    "NoiseLevel": {"quiet": "is quiet", "average": "has an average noise level", "loud": "is loud"},
    "RestaurantsPriceRange": {"1": "is inexpensive", "2": "is moderately priced", "4": "is very expensive"},
    "Alcohol": {"full_bar": "has a full bar", "beer_and_wine": "serves beer and wine", "none": "serves no alcohol"},
    "RestaurantsAttire": {"casual": "has a casual dress code", "formal": "asks for formal attire"},
    "Smoking": {"no": "does not allow smoking", "outdoor": "allows smoking outdoors"},
}  # fmt: skip


class Record:
    """One random business with the statements that describe it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kind = rng.choice(sorted(_KINDS))
        self.name = (
            f"{rng.choice(_NAMES)} {self.kind.title() if rng.random() < 0.5 else rng.choice(('Co.', 'Place', 'House'))}"
        )
        self.categories = rng.sample(_KINDS[self.kind], 3)
        self.address = f"{rng.randint(1, 990)} {rng.choice(_STREETS)}"
        self.city = rng.choice(_CITIES)
        self.stars = rng.choice((1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0))
        self.flags = {f: rng.choice(("True", "False", "None")) for f in rng.sample(sorted(_FLAGS), 6)}
        self.choices = {c: rng.choice(sorted(_CHOICES[c])) for c in rng.sample(sorted(_CHOICES), 3)}
        self.groups = {
            g: {o: rng.random() < 0.4 for o in options} for g, (options, _, _) in _GROUPS.items() if rng.random() < 0.6
        }
        self.hours = self._make_hours()

    def _make_hours(self) -> dict[str, tuple[int, int]]:
        usual = (self.rng.randint(6, 12), self.rng.randint(15, 23))
        odd = {d: (usual[0] + self.rng.choice((0, 1, 2)), usual[1] - self.rng.choice((0, 1, 2, 3))) for d in _DAYS[4:]}
        hours = dict.fromkeys(_DAYS[:4], usual) | odd
        for day in self.rng.sample(_DAYS, self.rng.choice((0, 0, 1, 2))):
            hours.pop(day, None)
        return hours

    def statements(self) -> list[str]:
        """Write the record as the lines that a reader of JSON would see."""
        lines = [f"name: {self.name}", f"address: {self.address}", f"city: {self.city}"]
        lines += [f"categories: {', '.join(self.categories)}", f"business_stars: {self.stars}"]
        colon = self.rng.random() < 0.7
        lines += [
            f"hours, {d}: {a}:{0 if colon else '00'}-{b}:{0 if colon else '00'}" for d, (a, b) in self.hours.items()
        ]
        lines += [f"attributes, {k}: {v}" for k, v in (self.flags | self.choices).items()]
        lines += [f"attributes, {g}, {o}: {v}" for g, options in self.groups.items() for o, v in options.items()]
        return lines

    def claims(self) -> Iterator[Claim]:
        """Yield claims in prose about every part of the record, right and wrong."""
        yield from self._flag_claims()
        yield from self._choice_claims()
        yield from self._group_claims()
        yield from self._hour_claims()
        yield from self._plain_claims()

    def _claim(self, before: str, fact: str, label: int, kind: str) -> Claim:
        text = f"{before}{fact}."
        broken = () if label == SUPPORTED else ((len(before), len(before) + len(fact)),)
        return Claim(text=text, label=label, broken=broken, kind=f"record_{kind}")

    def _subject(self) -> str:
        return self.rng.choice((self.name, f"The {self.kind}", "It", f"{self.name}, located in {self.city},")) + " "

    def _flag_claims(self) -> Iterator[Claim]:
        for flag, value in self.flags.items():
            yes, no, other = _FLAGS[flag]
            if value == "None":
                yield self._claim(self._subject(), self.rng.choice((yes, no)), UNSUPPORTED, "flag")
                continue
            says_yes = self.rng.random() < 0.6
            label = SUPPORTED if says_yes == (value == "True") else CONTRADICTED
            if says_yes and self.rng.random() < 0.35:
                yield self._claim("", other[:1].upper() + other[1:], label, "flag")
            else:
                yield self._claim(self._subject(), yes if says_yes else no, label, "flag")
        missing = self.rng.choice([f for f in sorted(_FLAGS) if f not in self.flags])
        yield self._claim(self._subject(), self.rng.choice(_FLAGS[missing][:2]), UNSUPPORTED, "flag")

    def _choice_claims(self) -> Iterator[Claim]:
        for name, value in self.choices.items():
            said = value if self.rng.random() < 0.5 else self.rng.choice(sorted(_CHOICES[name]))
            yield self._claim(
                self._subject(), _CHOICES[name][said], SUPPORTED if said == value else CONTRADICTED, "choice"
            )

    def _group_claims(self) -> Iterator[Claim]:
        for group, options in self.groups.items():
            _, _, template = _GROUPS[group]
            option = self.rng.choice(sorted(options))
            label = SUPPORTED if options[option] else CONTRADICTED
            yield self._claim(self._subject(), template.format(option.replace("_", " ")), label, "group")
            if any(options.values()) and len(on := [o for o, v in options.items() if v]) == 2:
                yield self._claim(
                    self._subject(), template.format(" and ".join(on).replace("_", " ")), SUPPORTED, "group"
                )

    def _hour_claims(self) -> Iterator[Claim]:
        day = self.rng.choice(_DAYS)
        if day not in self.hours:
            label = SUPPORTED if self.rng.random() < 0.5 else CONTRADICTED
            word = "closed" if label == SUPPORTED else f"open from {_clock(9)} to {_clock(17)}"
            yield self._claim(self._subject() + "is ", f"{word} on {day}", label, "hours")
            return
        opens, closes = self.hours[day]
        label = self.rng.choice((SUPPORTED, CONTRADICTED))
        if label == CONTRADICTED:
            opens, closes = self.rng.choice(((opens + 1, closes), (opens, closes - 2), (opens - 1, closes - 1)))
        span = self.rng.choice(
            (
                f"from {_clock(opens)} to {_clock(closes)}",
                f"{_clock(opens)} - {_clock(closes)}",
                f"until {_clock(closes)}",
            )
        )
        if span.startswith("until") and closes == self.hours[day][1]:
            label = SUPPORTED
        yield self._claim(
            f"On {day}s it is open " if self.rng.random() < 0.4 else f"{self._subject()}is open on {day} ",
            span,
            label,
            "hours",
        )
        same = len(self.hours) == 7 and len(set(self.hours.values())) == 1
        everyday = SUPPORTED if same else CONTRADICTED
        span = f"every day from {_clock(self.hours[day][0])} to {_clock(self.hours[day][1])}"
        yield self._claim(self._subject() + "is open ", span, everyday, "hours")

    def _plain_claims(self) -> Iterator[Claim]:
        right = self.rng.random() < 0.5
        city = self.city if right else self.rng.choice([c for c in _CITIES if c != self.city])
        yield self._claim(f"{self.name} is located in ", city, SUPPORTED if right else CONTRADICTED, "place")
        right = self.rng.random() < 0.5
        stars = self.stars if right else self.rng.choice([s for s in (2.0, 3.0, 3.5, 4.0, 4.5, 5.0) if s != self.stars])
        said = f"{stars:g} stars" if self.rng.random() < 0.6 else f"{stars} out of 5 stars"
        yield self._claim(f"{self.name} has a rating of ", said, SUPPORTED if right else CONTRADICTED, "stars")
        right = self.rng.random() < 0.5
        pool = self.categories if right else [c for c in _KINDS[self.kind] if c not in self.categories]
        category = self.rng.choice(pool).lower()
        yield self._claim(f"{self.name} is known for ", category, SUPPORTED if right else UNSUPPORTED, "category")


def _clock(hour: int) -> str:
    return f"{hour - 12 if hour > 12 else hour} {'PM' if hour >= 12 else 'AM'}"
