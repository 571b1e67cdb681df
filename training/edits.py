"""Makes claims from sentences: rewordings that keep the meaning, and minimal errors that break it at known places."""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from spacy.tokens import Doc, Span, Token
from wordnet import WordNet

SUPPORTED, UNSUPPORTED, CONTRADICTED = 0, 1, 2


def _listed(text: str) -> list[str]:
    return text.split()


_NUMBER_WORDS = _listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_ORDINALS = _listed("first second third fourth fifth sixth seventh eighth ninth tenth")
_MONTHS = _listed("January February March April May June July August September October November December")
_DAYS = _listed("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
_COLOURS = _listed("red blue green yellow black white brown orange purple pink grey")
_CYCLES = {w.lower(): cycle for cycle in (_NUMBER_WORDS[1:], _ORDINALS, _MONTHS, _DAYS, _COLOURS) for w in cycle}
_OPPOSITES = """
increase decrease|increased decreased|increases decreases|increasing decreasing|rise fall|rose fell|rises falls
rising falling|rose declined|grew shrank|higher lower|high low|more less|more fewer|most least|before after
above below|over under|up down|inside outside|with without|first last|early late|earlier later|win lose|won lost
wins loses|winning losing|accept reject|accepted rejected|approve reject|approved rejected|allow forbid
allowed banned|allows prohibits|permitted prohibited|include exclude|includes excludes|included excluded
including excluding|open closed|opened closed|start end|started ended|starts ends|begin finish|began finished
success failure|successful unsuccessful|succeeded failed|legal illegal|possible impossible|likely unlikely
able unable|common rare|same different|similar different|positive negative|major minor|large small|larger smaller
largest smallest|big small|bigger smaller|biggest smallest|long short|longer shorter|longest shortest|old young
older younger|oldest youngest|new old|newer older|strong weak|stronger weaker|good bad|better worse|best worst
safe dangerous|hot cold|warm cool|wet dry|hard soft|hard easy|difficult easy|fast slow|faster slower|quickly slowly
public private|male female|man woman|men women|boy girl|brother sister|father mother|son daughter|husband wife
mother father|guilty innocent|convicted acquitted|alive dead|survived died|support oppose|supported opposed
supports opposes|agree disagree|agreed disagreed|confirmed denied|admitted denied|remember forget|arrived left
arrive leave|enter leave|entered left|buy sell|bought sold|buys sells|give take|gave took|north south|northern southern
east west|eastern western|left right|top bottom|maximum minimum|majority minority|always never|often rarely
usually rarely|sometimes never|frequently seldom|everyone nobody|everything nothing|all none|both neither|many few
much little|at least at most|more than less than|fewer than more than|up to at least|cause prevent|causes prevents
caused prevented|help hinder|helps harms|improve worsen|improves worsens|improved worsened|gain loss|profit loss
full empty|free paid|wide narrow|deep shallow|thick thin|heavy light|rich poor|expensive cheap|present absent
internal external|domestic foreign|national international|temporary permanent|optional required|voluntary mandatory
single married|live dead|raw cooked|fresh frozen|hired fired|promoted demoted|praised criticised|praised criticized
love hate|loved hated|likes dislikes|attack defend|attacked defended|true false|daily weekly|weekly monthly
monthly annually|annual monthly|hours minutes|minutes hours|days weeks|weeks months|months years|years months
kilometers miles|meters feet|million billion|billion million|thousand million|percent million|north-east south-west
""".replace("\n", "|")
_SAME = """
about approximately|around about|almost nearly|began started|begin start|big large|buy purchase|bought purchased
car vehicle|child kid|children kids|huge enormous|help assist|helped assisted|show demonstrate|shows demonstrates
showed demonstrated|said stated|says states|use utilize|used utilized|many numerous|enough sufficient
often frequently|get obtain|got obtained|quickly rapidly|fast quick|near close to|because since|while whereas
although though|movie film|film movie|doctor physician|home house|job position|required needed|requires needs
need require|needs requires|important significant|main primary|percent per cent|total overall|allow let|allows lets
keep retain|keeps retains|choose select|chose selected|chosen selected|create make|created made|creates makes
produced made|located situated|famous well-known|died passed away|killed slain|roughly approximately
several multiple|entire whole|mostly mainly|mainly primarily|lives resides|lived resided|worked was employed
released issued|founded established|television TV|each every|until till|toward towards|among amongst|begins starts
ended finished|last final|rapid quick|speak talk
""".replace("\n", "|")
_SAME_PHRASES = {
    "such as": "including", "in order to": "to", "due to": "because of", "prior to": "before",
    "as well as": "and", "a number of": "several", "known as": "called", "according to": "as stated by",
    "the majority of": "most of", "is able to": "can", "are able to": "can", "has to": "must", "have to": "must",
    "for instance": "for example", "for example": "for instance", "United States": "US", "United Kingdom": "UK",
}  # fmt: skip
_QUANTIFIERS = {
    "some": ("all", UNSUPPORTED), "many": ("all", UNSUPPORTED), "most": ("all", UNSUPPORTED),
    "several": ("all", UNSUPPORTED), "all": ("none of the", CONTRADICTED), "every": ("no", CONTRADICTED),
    "few": ("most", CONTRADICTED), "no": ("every", CONTRADICTED), "both": ("neither of the", CONTRADICTED),
}  # fmt: skip
_MODALS = {
    "may": ("must", UNSUPPORTED), "might": ("will", UNSUPPORTED), "could": ("will", UNSUPPORTED),
    "can": ("cannot", CONTRADICTED), "must": ("may", UNSUPPORTED), "should": ("must", UNSUPPORTED),
    "will": ("will not", CONTRADICTED), "would": ("would not", CONTRADICTED),
}  # fmt: skip
_CONTRACTIONS = (
    ("do not", "don't"), ("does not", "doesn't"), ("did not", "didn't"), ("is not", "isn't"), ("are not", "aren't"),
    ("was not", "wasn't"), ("were not", "weren't"), ("cannot", "can't"), ("will not", "won't"), ("it is", "it's"),
    ("has not", "hasn't"), ("have not", "haven't"), ("would not", "wouldn't"), ("could not", "couldn't"),
)  # fmt: skip
_SWAPPABLE = ("PERSON", "ORG", "GPE", "NORP", "LOC", "FAC", "WORK_OF_ART", "EVENT", "PRODUCT", "LANGUAGE")


def _pairs_of(lines: str) -> dict[str, list[str]]:
    """Read 'a b' entries separated by bars; entries of four words are two phrases of two words."""
    found: dict[str, list[str]] = defaultdict(list)
    for entry in filter(None, lines.split("|")):
        cells = entry.split()
        half = 2 if len(cells) == 4 else 1
        found[" ".join(cells[:half])].append(" ".join(cells[half:]))
    return dict(found)


_OPPOSITE = _pairs_of(_OPPOSITES)
for _one, _others in list(_OPPOSITE.items()):
    for _other in _others:
        _OPPOSITE.setdefault(_other, []).append(_one)
_SYNONYM = _pairs_of(_SAME) | {old: [new] for old, new in _SAME_PHRASES.items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A made claim: its text, its label, and the character ranges that break it (empty where it is supported)."""

    text: str
    label: int
    broken: tuple[tuple[int, int], ...] = ()
    kind: str = "copy"


@dataclass(kw_only=True, slots=True)
class Surroundings:
    """What errors are made from: names by type and sentences, of the same document and of others."""

    names: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    foreign_names: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    sentences: list[Doc] = field(default_factory=list)
    foreign_sentences: list[Doc] = field(default_factory=list)


class Editor:
    """Rewords and breaks parsed sentences; every choice comes from the given random generator."""

    def __init__(self, wordnet: WordNet, rng: random.Random) -> None:
        self._wordnet = wordnet
        self._rng = rng
        self._errors: list[tuple[float, Callable[[Doc, Surroundings], Claim | None]]] = [
            (2.2, self.change_number), (3.2, self.swap_name), (0.9, self.negate), (1.8, self.oppose),
            (0.5, self.change_modal), (0.6, self.change_quantifier), (1.4, self.swap_roles), (1.8, self.replace_noun),
            (1.6, self.replace_verb_phrase), (0.6, self.add_clause), (1.2, self.splice), (0.9, self.add_detail),
            (2.6, self.exchange_verb), (2.0, self.exchange_circumstance),
        ]  # fmt: skip

    # ------------------------------------------------------------------ meaning kept
    def reword(self, doc: Doc) -> str:
        """Return a statement that the sentence supports: shortened, cut out or worded differently."""
        rng, text = self._rng, doc.text
        cut = rng.random()
        if cut < 0.22:
            text = self._one_clause(doc) or text
        elif cut < 0.50:
            text = self._shortened(doc) or text
        elif cut < 0.58:
            text = self._apposition(doc) or self._shortened(doc) or text
        elif cut < 0.66:
            text = self._moved_opening(doc) or text
        for change, chance in ((self._synonyms, 0.55), (self._formats, 0.5)):
            if rng.random() < chance:
                text = change(doc, text)
        return tidy(text)

    def _shortened(self, doc: Doc) -> str | None:
        drop: set[int] = set()
        for token in doc:
            if token.i in drop:
                continue
            droppable = (
                (token.dep_ in ("advmod", "amod") and token.n_lefts + token.n_rights == 0 and not _is_critical(token))
                or (
                    token.dep_ in ("relcl", "appos", "advcl")
                    and token.i > token.head.i
                    and len(list(token.subtree)) < 18
                )
                or (token.dep_ == "prep" and token.head.pos_ in ("VERB", "NOUN") and token.i > token.head.i)
            )
            if droppable and self._rng.random() < 0.35:
                drop.update(t.i for t in token.subtree)
        if not drop or len(doc) - len(drop) < 5 or any(t.dep_ == "neg" for t in doc if t.i in drop):
            return None
        return "".join(t.text_with_ws for t in doc if t.i not in drop)

    def _one_clause(self, doc: Doc) -> str | None:
        """Cut out a coordinated clause; one without its own subject borrows the subject of the first."""
        for token in doc:
            if token.dep_ != "conj" or token.pos_ not in ("VERB", "AUX") or token.head.pos_ not in ("VERB", "AUX"):
                continue
            subject = next((t for t in token.children if t.dep_ in ("nsubj", "nsubjpass")), None)
            own = doc[token.left_edge.i : token.right_edge.i + 1].text
            if subject is not None and subject.tag_ in ("WDT", "WP"):
                continue
            if subject is None:
                owner = next((t for t in token.head.children if t.dep_ in ("nsubj", "nsubjpass")), None)
                if owner is None or owner.tag_ in ("WDT", "WP") or any(t.dep_ == "neg" for t in token.head.children):
                    continue
                own = f"{doc[owner.left_edge.i : owner.right_edge.i + 1].text} {own}"
            if len(own.split()) >= 4:
                return own
        return None

    def _apposition(self, doc: Doc) -> str | None:
        for token in doc:
            if token.dep_ == "appos" and token.head.ent_type_ in ("PERSON", "ORG", "GPE") and token.pos_ == "NOUN":
                name = next((e.text for e in doc.ents if e.start <= token.head.i < e.end), token.head.text)
                what = doc[token.left_edge.i : token.right_edge.i + 1].text
                return f"{name} {'was' if self._rng.random() < 0.3 else 'is'} {what}"
        return None

    def _moved_opening(self, doc: Doc) -> str | None:
        root = next((t for t in doc if t.dep_ == "ROOT"), None)
        first = doc[0]
        if root is None or first.dep_ not in ("prep", "advcl", "mark"):
            return None
        head = first if first.dep_ == "prep" else first.head
        span = doc[head.left_edge.i : head.right_edge.i + 1]
        if span.start != 0 or span.end >= root.i or span.end >= len(doc) or doc[span.end].text != ",":
            return None
        rest = doc[span.end + 1 :].text.rstrip(" .")
        return f"{rest[:1].upper()}{rest[1:]} {span.text[:1].lower()}{span.text[1:]}."

    def _synonyms(self, doc: Doc, text: str) -> str:
        changes = 0
        for old, new in self._rng.sample(sorted(_SYNONYM.items()), len(_SYNONYM)):
            if changes < 2 and re.search(rf"\b{re.escape(old)}\b", text) and self._rng.random() < 0.6:
                text = re.sub(rf"\b{re.escape(old)}\b", self._rng.choice(new), text, count=1)
                changes += 1
        candidates = [t for t in doc if t.pos_ in ("NOUN", "VERB", "ADJ") and not t.ent_type_ and t.text.islower()]
        self._rng.shuffle(candidates)
        for token in candidates[:6]:
            part = {"NOUN": "n", "VERB": "v", "ADJ": "a"}[token.pos_]
            options = self._wordnet.synonyms(token.lemma_, part, most_senses=3)
            if part == "n" and self._rng.random() < 0.3:
                options = self._wordnet.hypernyms(token.lemma_, part) or options
            form = self._inflected(token, self._rng.choice(options)) if options else None
            if form and changes < 3:
                text = re.sub(rf"\b{re.escape(token.text)}\b", form, text, count=1)
                changes += 1
        return text

    def _formats(self, doc: Doc, text: str) -> str:
        """Write numbers, dates, per cent and contractions the other way."""
        rng = self._rng
        if match := re.search(r"\b(\d{1,3}),(\d{3})\b(?!,)", text):
            text = text.replace(match.group(), match.group(1) + match.group(2), 1)
        if match := re.search(r"\b([2-9]|1\d|20)\b(?![.,:]?\d|%)", text):
            if rng.random() < 0.5 and not re.search(r"[\d.:$£€-]$", text[: match.start()]):
                text = text[: match.start()] + _NUMBER_WORDS[int(match.group())] + text[match.end() :]
        elif match := re.search(rf"\b({'|'.join(_NUMBER_WORDS[2:])})\b", text):
            text = text[: match.start()] + str(_NUMBER_WORDS.index(match.group())) + text[match.end() :]
        if match := re.search(rf"\b({'|'.join(_MONTHS)}) (\d{{1,2}}), (\d{{4}})\b", text):
            month, day, year = match.groups()
            text = text.replace(match.group(), rng.choice((f"{day} {month} {year}", f"{month} {year}", year)), 1)
        if match := re.search(r"(\d)\s?%", text):
            text = text.replace(match.group(), f"{match.group(1)} percent", 1)
        elif " percent" in text:
            text = text.replace(" percent", "%", 1)
        for full, short in _CONTRACTIONS:
            if full in text and rng.random() < 0.5:
                text = text.replace(full, short, 1)
            elif short in text:
                text = text.replace(short, full, 1)
        return text

    # ------------------------------------------------------------------ meaning broken
    def break_(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Return the sentence with one error, or None when no kind of error fits it."""
        pool = list(self._errors)
        while pool:
            weights = [w for w, _ in pool]
            weight, error = self._rng.choices(pool, weights)[0]
            pool.remove((weight, error))
            claim = error(doc, around)
            if claim and claim.text.strip() != doc.text.strip():
                return claim
        return None

    def change_number(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Change a number, year, ordinal, month or day."""
        options = [t for t in doc if re.fullmatch(r"\d[\d,.]*", t.text) or t.lower_ in _CYCLES]
        if not options:
            return None
        token = self._rng.choice(options)
        new = self._other_number(token.text) if token.text[0].isdigit() else self._other_in_cycle(token.text)
        return _replaced(doc, token.idx, token.idx + len(token.text), new, CONTRADICTED, "number")

    def _other_number(self, text: str) -> str:
        rng, digits = self._rng, text.rstrip(".,")
        plain = digits.replace(",", "")
        try:
            value = float(plain)
        except ValueError:
            return str(rng.randint(2, 99))
        if "." in plain:
            places = len(plain.split(".")[1])
            return f"{value * rng.choice((0.5, 0.7, 1.2, 1.5, 2, 10)) + 10**-places:.{places}f}"
        number = int(value)
        if 1500 < number < 2100 and "," not in digits:
            return str(number + rng.choice((-20, -10, -5, -3, -2, -1, 1, 2, 3, 4, 5, 10, 20)))
        if number < 13:
            return str(rng.choice([n for n in range(1, 16) if n != number]))
        changed = rng.choice((number * 10, number * 2, number // 2 + 1, number + rng.randint(1, 9), max(1, number - 7)))
        changed = changed if changed != number else number + 3
        return f"{changed:,}" if "," in digits else str(changed)

    def _other_in_cycle(self, word: str) -> str:
        cycle = _CYCLES[word.lower()]
        other = self._rng.choice([w for w in cycle if w.lower() != word.lower()])
        return other if word[:1].isupper() == other[:1].isupper() else other.capitalize()

    def swap_name(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Replace a name by another of its type, mostly from the same document."""
        entities = [e for e in doc.ents if e.label_ in _SWAPPABLE and len(e.text) > 2]
        self._rng.shuffle(entities)
        for entity in entities:
            pools = [around.names, around.foreign_names]
            if self._rng.random() < 0.35:
                pools.reverse()
            for pool in pools:
                options = [n for n in pool[entity.label_] if _unrelated(n, entity.text) and n not in doc.text]
                if options:
                    new = self._rng.choice(options)
                    return _replaced(doc, entity.start_char, entity.end_char, new, CONTRADICTED, "name")
        return None

    def negate(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Add or remove a negation at the main verb."""
        negations = [t for t in doc if t.dep_ == "neg" or t.lower_ in ("not", "n't", "never")]
        if negations:
            token = self._rng.choice(negations)
            if token.lower_ == "n't" and token.i and doc[token.i - 1].lower_ in ("ca", "wo", "sha"):
                full = {"ca": "can", "wo": "will", "sha": "shall"}[doc[token.i - 1].lower_]
                before = doc[token.i - 1]
                return _replaced(doc, before.idx, token.idx + 3, full, CONTRADICTED, "negation")
            before = doc[max(0, token.i - 1)]
            return _replaced(doc, before.idx, token.idx + len(token.text), before.text, CONTRADICTED, "negation")
        root = next((t for t in doc if t.dep_ == "ROOT" and t.pos_ in ("VERB", "AUX")), None)
        if root is None:
            return None
        auxiliary = next(
            (t for t in root.children if t.dep_ in ("aux", "auxpass")), root if root.pos_ == "AUX" else None
        )
        if auxiliary is not None and auxiliary.lower_ not in ("to", "'s", "'ve", "'d", "'ll", "'re"):
            end = auxiliary.idx + len(auxiliary.text)
            word = (
                "cannot"
                if auxiliary.lower_ == "can"
                else f"{auxiliary.text} {self._rng.choice(('not', 'not', 'never'))}"
            )
            return _replaced(doc, auxiliary.idx, end, word, CONTRADICTED, "negation")
        helper = {"VBD": "did not", "VBZ": "does not", "VBP": "do not"}.get(root.tag_)
        if helper is None:
            return None
        return _replaced(doc, root.idx, root.idx + len(root.text), f"{helper} {root.lemma_}", CONTRADICTED, "negation")

    def oppose(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Replace a word by its opposite."""
        options: list[tuple[int, int, str]] = []
        for old, others in _OPPOSITE.items():
            for match in re.finditer(rf"\b{re.escape(old)}\b", doc.text):
                options.append((match.start(), match.end(), self._rng.choice(others)))
        for token in doc:
            part = {"ADJ": "a", "VERB": "v", "NOUN": "n"}.get(token.pos_)
            opposites = self._wordnet.antonyms(token.lemma_.lower(), part) if part else []
            form = self._inflected(token, self._rng.choice(opposites)) if opposites else None
            if form:
                options.append((token.idx, token.idx + len(token.text), form))
        if not options:
            return None
        start, end, new = self._rng.choice(options)
        return _replaced(doc, start, end, new, CONTRADICTED, "opposite")

    def change_modal(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Make a possibility a certainty, a duty an option, or the other way."""
        for token in doc:
            if token.lower_ in _MODALS and token.tag_ == "MD":
                new, label = _MODALS[token.lower_]
                after = doc[token.i + 1] if token.i + 1 < len(doc) else token
                if after.dep_ == "neg":
                    return None
                return _replaced(doc, token.idx, token.idx + len(token.text), new, label, "modal")
        return None

    def change_quantifier(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Widen or turn a quantifier, or narrow a plain statement with 'only'."""
        for token in doc:
            if token.lower_ in _QUANTIFIERS and token.dep_ in ("det", "amod", "predet", "nsubj", "dep"):
                new, label = _QUANTIFIERS[token.lower_]
                new = new.capitalize() if token.text[0].isupper() else new
                return _replaced(doc, token.idx, token.idx + len(token.text), new, label, "quantifier")
        subject = next((t for t in doc if t.dep_ == "nsubj" and t.tag_ == "NNS" and t.n_lefts == 0), None)
        if subject is None:
            return None
        word = self._rng.choice(("All", "Only", "No", "Most"))
        label = CONTRADICTED if word == "No" else UNSUPPORTED
        first = word if subject.i == 0 else word.lower()
        noun = subject.text[:1].lower() + subject.text[1:] if not subject.ent_type_ else subject.text
        return _replaced(doc, subject.idx, subject.idx + len(subject.text), f"{first} {noun}", label, "quantifier")

    def swap_roles(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Exchange subject and object, or two names of one type."""
        by_label: dict[str, list[Span]] = defaultdict(list)
        for entity in doc.ents:
            if entity.label_ in ("PERSON", "ORG", "GPE", "DATE", "CARDINAL", "MONEY", "PERCENT", "NORP"):
                by_label[entity.label_].append(entity)
        options = [(a, b) for es in by_label.values() for a in es for b in es
                   if a.end < b.start and _unrelated(a.text, b.text)
                   and doc[a.end].lower_ not in ("and", "or", ",")]  # fmt: skip
        for verb in doc:
            if verb.pos_ == "VERB" and verb.lemma_ not in ("marry", "meet", "be", "become", "have"):
                subject = next((t for t in verb.children if t.dep_ == "nsubj" and t.pos_ in ("NOUN", "PROPN")), None)
                target = next((t for t in verb.children if t.dep_ == "dobj" and t.pos_ in ("NOUN", "PROPN")), None)
                if subject is not None and target is not None and subject.i < target.i:
                    a, b = (doc[t.left_edge.i : t.right_edge.i + 1] for t in (subject, target))
                    if a.end <= b.start and len(a) < 8 and len(b) < 8:
                        options.append((a, b))
        if not options:
            return None
        one, two = self._rng.choice(options)
        text = doc.text
        head, middle = text[: one.start_char], text[one.end_char : two.start_char]
        second = head + two.text + middle
        broken = ((len(head), len(head) + len(two.text)), (len(second), len(second) + len(one.text)))
        new = second + one.text + text[two.end_char :]
        return Claim(text=new, label=CONTRADICTED, broken=broken, kind="roles")

    def replace_noun(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Replace a noun or adjective by another of its kind."""
        options = [t for t in doc if t.pos_ in ("NOUN", "ADJ") and not t.ent_type_ and t.text.islower() and len(t) > 3]
        self._rng.shuffle(options)
        for token in options:
            part = "n" if token.pos_ == "NOUN" else "a"
            others = (
                self._wordnet.siblings(token.lemma_, part)
                if part == "n"
                else self._wordnet.antonyms(token.lemma_, part)
            )
            form = self._inflected(token, self._rng.choice(others)) if others else None
            if form and form not in doc.text:
                return _replaced(doc, token.idx, token.idx + len(token.text), form, UNSUPPORTED, "noun")
        return None

    def replace_verb_phrase(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Replace an object or place phrase by one of another sentence of the document."""
        places = [t for t in doc if t.dep_ in ("dobj", "pobj", "attr") and 1 <= len(list(t.subtree)) <= 7]
        self._rng.shuffle(places)
        for token in places[:4]:
            options = [
                doc2[t.left_edge.i : t.right_edge.i + 1].text
                for doc2 in self._sample(around.sentences, 6)
                for t in doc2
                if t.dep_ == token.dep_
                and t.tag_ == token.tag_
                and len(list(t.subtree)) <= 7
                and t.lemma_ != token.lemma_
            ]
            options = [o for o in options if _unrelated(o, doc.text)]
            if options:
                start, end = token.left_edge.idx, token.right_edge.idx + len(token.right_edge.text)
                return _replaced(doc, start, end, self._rng.choice(options), UNSUPPORTED, "phrase")
        return None

    def exchange_verb(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Replace a verb by another verb of the same form, mostly from the same document."""
        options = [t for t in doc if _is_plain_verb(t)]
        self._rng.shuffle(options)
        for token in options[:3]:
            donors = around.sentences if self._rng.random() < 0.6 else around.foreign_sentences
            others = [t.text for d in self._sample(donors, 10) for t in d
                      if _is_plain_verb(t) and t.tag_ == token.tag_ and t.lemma_ != token.lemma_
                      and t.text not in doc.text and _has_object(t) == _has_object(token)]  # fmt: skip
            others = [o for o in others if not self._wordnet.related(token.lemma_, o)]
            if others:
                new = self._rng.choice(others)
                return _replaced(doc, token.idx, token.idx + len(token.text), new, UNSUPPORTED, "verb")
        return None

    def exchange_circumstance(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Replace when, where or how long by another such phrase of the document."""
        kinds = (
            "DATE",
            "TIME",
            "GPE",
            "LOC",
            "FAC",
            "ORG",
            "EVENT",
            "CARDINAL",
            "QUANTITY",
            "MONEY",
            "PERCENT",
            "ORDINAL",
        )
        options = [t for t in doc if t.dep_ == "prep" and 2 <= len(list(t.subtree)) <= 8 and t.i > 0]
        self._rng.shuffle(options)
        for token in options[:4]:
            mine = {e.label_ for e in doc.ents if token.left_edge.i <= e.start <= token.right_edge.i}
            others = []
            for d in self._sample(around.sentences, 14):
                for t in d:
                    if t.dep_ == "prep" and 2 <= len(list(t.subtree)) <= 8 and (t.lower_ == token.lower_ or mine):
                        theirs = {e.label_ for e in d.ents if t.left_edge.i <= e.start <= t.right_edge.i}
                        text = d[t.left_edge.i : t.right_edge.i + 1].text
                        if (
                            mine & theirs & set(kinds) or (not mine and not theirs and t.lower_ == token.lower_)
                        ) and _unrelated(text, doc.text):
                            others.append(text)
            if others:
                start, end = token.left_edge.idx, token.right_edge.idx + len(token.right_edge.text)
                new = self._rng.choice(others)
                new = new[:1].lower() + new[1:] if start else new[:1].upper() + new[1:]
                return _replaced(doc, start, end, new, UNSUPPORTED, "circumstance")
        return None

    def add_clause(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Append a clause that the context does not hold."""
        donors = [d for d in self._sample(around.foreign_sentences, 8) if 4 <= len(d) <= 18]
        if not donors:
            return None
        donor = self._rng.choice(donors)
        clause = self._one_clause(donor) or donor.text
        link = self._rng.choice((", and ", ", while ", "; ", ". ", ", so ", " because "))
        clause = clause.rstrip(" .!?")
        if not donor[0].ent_type_ and link != ". ":
            clause = clause[:1].lower() + clause[1:]
        base = doc.text.rstrip(" .!?")
        start = len(base) + len(link)
        return Claim(
            text=f"{base}{link}{clause}.", label=UNSUPPORTED, broken=((start, start + len(clause)),), kind="clause"
        )

    def add_detail(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Append a phrase of time, place or reason taken from elsewhere."""
        phrases = [
            d[t.left_edge.i : t.right_edge.i + 1].text
            for d in self._sample(around.sentences, 5) + self._sample(around.foreign_sentences, 5)
            for t in d
            if t.dep_ == "prep" and t.head.pos_ == "VERB" and 2 <= len(list(t.subtree)) <= 7
        ]
        phrases = [p for p in phrases if _unrelated(p, doc.text)]
        if not phrases:
            return None
        base, phrase = doc.text.rstrip(" .!?"), self._rng.choice(phrases)
        start = len(base) + 1
        return Claim(text=f"{base} {phrase}.", label=UNSUPPORTED, broken=((start, start + len(phrase)),), kind="detail")

    def splice(self, doc: Doc, around: Surroundings) -> Claim | None:
        """Give the subject of this sentence the predicate of another sentence of the document."""
        mine = _subject_and_predicate(doc)
        if mine is None or mine[0].root.pos_ == "PRON":
            return None
        for other in self._sample(around.sentences, 8):
            theirs = _subject_and_predicate(other)
            if theirs and theirs[0].root.tag_ == mine[0].root.tag_ and _unrelated(theirs[0].text, mine[0].text):
                predicate = theirs[1].text.rstrip(" .!?")
                subject = mine[0].text
                start = len(subject) + 1
                text = f"{subject} {predicate}."
                return Claim(text=text, label=UNSUPPORTED, broken=((start, start + len(predicate)),), kind="splice")
        return None

    # ------------------------------------------------------------------ small parts
    def _sample(self, values: Sequence[Doc], count: int) -> list[Doc]:
        return self._rng.sample(values, min(count, len(values)))

    def _inflected(self, token: Token, lemma: str) -> str | None:
        """Give a lemma the ending of the token it replaces; None where that needs more than an ending."""
        if not lemma.isalpha() or lemma == token.lemma_:
            return None
        if token.tag_ in ("NN", "JJ", "VB", "VBP"):
            return lemma
        if self._wordnet.is_irregular(lemma):
            return None
        if token.tag_ in ("NNS", "VBZ"):
            if lemma.endswith(("s", "x", "ch", "sh")):
                return lemma + "es"
            return lemma[:-1] + "ies" if lemma.endswith("y") and lemma[-2:-1] not in "aeiou" else lemma + "s"
        if token.tag_ in ("VBD", "VBN"):
            if lemma.endswith("e"):
                return lemma + "d"
            return lemma[:-1] + "ied" if lemma.endswith("y") and lemma[-2:-1] not in "aeiou" else lemma + "ed"
        return lemma.removesuffix("e") + "ing" if token.tag_ == "VBG" else None


def tidy(text: str) -> str:
    """Repair spacing, doubled commas and the first letter after something was cut out."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"(?:\s*,)+\s*([,.;!?])", r"\1", re.sub(r"\(\s*\)", "", text))
    text = re.sub(r"^[\s,;:\-]+", "", text).strip()
    if text and text[-1] not in ".!?\"'”":
        text = text.rstrip(" ,;:-") + "."
    return text[:1].upper() + text[1:]


def _subject_and_predicate(doc: Doc) -> tuple[Span, Span] | None:
    root = next((t for t in doc if t.dep_ == "ROOT" and t.pos_ in ("VERB", "AUX")), None)
    subject = next((t for t in root.children if t.dep_ in ("nsubj", "nsubjpass")), None) if root is not None else None
    if root is None or subject is None or subject.left_edge.i > 3:
        return None
    end = subject.right_edge.i + 1
    if end - subject.left_edge.i > 8 or end >= len(doc) - 2:
        return None
    return doc[subject.left_edge.i : end], doc[end:]


def _replaced(doc: Doc, start: int, end: int, new: str, label: int, kind: str) -> Claim | None:
    text = doc.text
    if text[start:end] == new:
        return None
    broken = ((start, start + len(new)),)
    return Claim(text=text[:start] + new + text[end:], label=label, broken=broken, kind=kind)


def _unrelated(one: str, two: str) -> bool:
    """Tell whether two phrases share no word, so that exchanging them changes what is said."""
    return not set(re.findall(r"\w{3,}", one.lower())) & set(re.findall(r"\w{3,}", two.lower()))


def _is_plain_verb(token: Token) -> bool:
    return token.pos_ == "VERB" and token.text.islower() and len(token) > 3 and token.dep_ not in ("amod", "aux")


def _has_object(token: Token) -> bool:
    return any(child.dep_ == "dobj" for child in token.children)


def _is_critical(token: Token) -> bool:
    """Tell whether dropping a modifier would change the meaning rather than only say less."""
    return token.lower_ in (
        "not", "never", "only", "no", "former", "alleged", "allegedly", "reportedly", "fake", "possible", "almost",
        "nearly", "hardly", "rarely", "seldom", "false", "likely", "probably", "perhaps", "maybe", "least", "most",
        "more", "less", "too",
    )  # fmt: skip
